"""Fails when a program and libtorch_cpu.so share a protobuf symbol: libtorch carries protobuf code of
another version for its own messages, and the dynamic linker would give one program's calls to the
other's code. Usage: protobuf_symbols_test.py PROGRAM"""
import re
import subprocess
import sys

NAMESPACE = '6google8protobuf'


def run(*command):
  return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(path, defined):
  """Dynamic protobuf symbols of a file: those it defines, or those it defines or wants."""
  flags = ['--defined-only'] if defined else []
  names = (line.split()[-1].split('@')[0] for line in run('nm', '-D', *flags, path).splitlines())
  # Only protobuf's own names: a message of libtorch's that merely mentions protobuf is no clash.
  return {n for n in names if re.match(r'_ZN?[A-Z]*K?' + NAMESPACE, n)}


def main():
  program = sys.argv[1]
  libraries = dict(re.findall(r'^\s*(\S+) => (\S+)', run('ldd', program), re.MULTILINE))
  torch = symbols(libraries['libtorch_cpu.so'], defined=True)
  protobuf = next(path for name, path in libraries.items() if name.startswith('libprotobuf.so'))
  wanted = symbols(program, defined=False)
  if not wanted or not symbols(protobuf, defined=True) & wanted:
    sys.exit('the program wants no symbol of protobuf: this test looks at the wrong thing')
  shared = sorted(torch & (wanted | symbols(protobuf, defined=True)))
  for name in shared:
    print(name)
  print(f'{len(torch)} protobuf symbols in libtorch_cpu, {len(wanted)} in the program, '
        f'{len(shared)} shared')
  sys.exit(1 if shared else 0)


if __name__ == '__main__':
  main()
