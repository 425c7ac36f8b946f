"""Joins the parts of the attention page into one C++ string. The content security policy names the
hashes of its script and its style, so that nothing else can run.
Usage: embed.py OUTPUT.cc page.html page.css SCRIPT.js…"""
import base64
import hashlib
import pathlib
import sys


def source_of(content):
  digest = hashlib.sha256(content.encode()).digest()
  return f"'sha256-{base64.b64encode(digest).decode()}'"


def main():
  output, *parts = map(pathlib.Path, sys.argv[1:])
  html, css, *scripts = [part.read_text(encoding='utf-8') for part in parts]
  script = '"use strict";\n' + ''.join(scripts)
  for content, end in ((css, '</style'), (script, '</script')):
    if end in content or '{{' in content:
      sys.exit(f'a part of the page holds {end} or {{{{, which would break it')
  policy = (f"default-src 'none'; script-src {source_of(script)}; style-src {source_of(css)}; "
            "base-uri 'none'; form-action 'none'")
  for name, value in (('policy', policy), ('css', css), ('script', script)):
    html = html.replace('{{' + name + '}}', value)
  if ')page"' in html:
    sys.exit('the page holds the end of its C++ literal')
  # Pieces, because some compilers limit the length of one literal.
  pieces = [html[i:i + 8000] for i in range(0, len(html), 8000)]
  literals = '\n'.join(f'R"page({piece})page"' for piece in pieces)
  output.write_text('// Made by client/render/html/embed.py.\n'
                    'namespace heed::cli {\n'
                    f'extern const char kAttentionPageTemplate[];\n'
                    f'const char kAttentionPageTemplate[] =\n{literals};\n'
                    '}  // namespace heed::cli\n', encoding='utf-8')


if __name__ == '__main__':
  main()
