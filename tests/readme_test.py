"""Fails when the README's table of flags and `heed-server --help` differ, or a link leads nowhere.
Usage: readme_test.py REPOSITORY_ROOT HEED_SERVER"""
import pathlib
import re
import subprocess
import sys


def main():
  root, server = pathlib.Path(sys.argv[1]), sys.argv[2]
  readme = (root / 'README.md').read_text(encoding='utf-8')
  text = subprocess.run([server, '--help'], check=True, capture_output=True, text=True).stdout
  told = {m[0]: m[1] for m in re.findall(r'^\| `(--[\w-]+)[^`]*` \| (?:`([^`]*)`)? *\|', readme,
                                         re.MULTILINE)}
  known = {m[0]: m[1] for m in re.findall(r'^ +(?:-h,)?(--[\w-]+)(?: (?:\[NAME=\])?[^ =\n]+(?:=(\S+))?)?', text,
                                          re.MULTILINE)}
  for flag in ('--help', '--version'):
    known.pop(flag)
  errors = [f'{flag}: README says {told.get(flag)!r}, --help says {known.get(flag)!r}'
            for flag in sorted(told.keys() | known.keys()) if told.get(flag) != known.get(flag)]
  for link in re.findall(r'\]\(([^)#:]+)\)', readme):
    if not (root / link).exists():
      errors.append(f'README links to {link}, which is not there')
  print('\n'.join(errors) or f'{len(told)} flags agree')
  sys.exit(1 if errors or not told else 0)


if __name__ == '__main__':
  main()
