"""The page of `heed attend --html` in Chromium against the numbers of the RPC that it shows.

Usage: served_page_test.py HEED_SERVER HEED PAGE_TEST
PAGE_TEST: tests/client/page/page_test.py, which says what is checked and needed."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TEXT = 'The quick queue hardly forgets every teacher'


def flat(values):
  return [number for part in values for number in flat(part)] if isinstance(values, list) else [values]


def main():
  server_program, heed, page_test = sys.argv[1:]
  server = subprocess.Popen([server_program, '--model=tests/golden/bert', '--listen=127.0.0.1:0', '--metrics-listen=off'],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
  try:
    address = re.match(r'listening on (\S+)', server.stdout.readline()).group(1)

    def ask(*arguments):
      run = subprocess.run([heed, '--server', address, *arguments, '--json', TEXT], check=True, capture_output=True,
                           text=True)
      return json.loads(run.stdout)

    with tempfile.TemporaryDirectory() as folder:
      html, numbers = f'{folder}/page.html', f'{folder}/numbers.json'
      raw = ask('attend', '--html', html)
      pathlib.Path(numbers).write_text(json.dumps({
          'text': TEXT,
          'tokens': [token['piece'] for token in raw['tokens']],
          'shape': raw['shape'],
          'raw': flat(raw['weights']),
          'rollout': flat(ask('attend', '--reduction', 'rollout')['weights']),
          'entropy': flat(ask('attend', '--reduction', 'entropy')['weights']),
          'importance': ask('classify', '--importance', 'rollout_cls')['token_importance'],
      }), encoding='utf-8')
      subprocess.run([sys.executable, page_test, html, numbers], check=True)
  finally:
    server.kill()
    server.wait()


if __name__ == '__main__':
  main()
