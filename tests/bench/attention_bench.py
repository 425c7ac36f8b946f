#!/usr/bin/env python3
"""What attention costs: Heed over gRPC on loopback against Hugging Face in this process, on the same
weights and as many threads, in turn. Prints ratios.

Needs torch, transformers and numpy, which the project itself does not, and the release build:
  attention_bench.py [--model models/sentiment] [--threads N] [--tokens 128] [--rounds 5] [--build build/release]
"""
import argparse
import contextlib
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import transformers

WORDS = ('the quick reader never liked a broken river but every honest teacher said that this film was good and '
         'not very long while nobody expected such a warm and careful end of the story').split()


def text_of(tokenizer, tokens, seed):
  """A text of exactly `tokens` tokens, special ones included."""
  words = []
  step = 0
  while True:
    words.append(WORDS[(seed * 7 + step * 5) % len(WORDS)])
    step += 1
    count = len(tokenizer(' '.join(words))['input_ids'])
    if count == tokens:
      return ' '.join(words)
    if count > tokens:
      words = words[:-2]
      seed += 1


@contextlib.contextmanager
def server(build, model, precision, threads, *flags):
  process = subprocess.Popen(
      [f'{build}/bin/heed-server', '--model', f'bench={model}', '--listen', '127.0.0.1:0', '--metrics-listen', 'off',
       '--precision', precision, '--threads', str(threads), '--log-level', 'error', *flags],
      stdout=subprocess.PIPE, text=True)
  try:
    line = process.stdout.readline()
    found = re.match(r'listening on (\S+)', line)
    if not found:
      sys.exit('heed-server did not start')
    yield process, found.group(1)
  finally:
    process.terminate()
    process.wait()


def heed(build, address, text_file, rounds, raw_bytes):
  output = subprocess.run(
      [f'{build}/bin/heed-bench-attention', '--server', address, '--model', 'bench', '--text-file', text_file,
       '--rounds', str(rounds), '--raw-bytes', str(raw_bytes)], check=True, capture_output=True, text=True).stdout
  return json.loads(output)


def eager(model, tokenizer, texts, rounds):
  """Median seconds from texts to logits and attention, all in memory."""
  times = []
  with torch.inference_mode():
    for _ in range(rounds + 1):
      start = time.perf_counter()
      result = model(**tokenizer(texts, return_tensors='pt', padding=True), output_attentions=True)
      assert len(result.attentions) > 0
      times.append(time.perf_counter() - start)
  return statistics.median(times[1:])


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--model', default='models/sentiment')
  parser.add_argument('--build', default='build/release')
  parser.add_argument('--threads', type=int, default=torch.get_num_threads())
  parser.add_argument('--tokens', type=int, default=128)
  parser.add_argument('--rounds', type=int, default=5)
  parser.add_argument('--calls', type=int, default=12, help='of each kind in a round')
  parser.add_argument('--precision', default='fp32,bf16')
  options = parser.parse_args()
  torch.set_num_threads(options.threads)
  tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
  model = transformers.AutoModelForSequenceClassification.from_pretrained(options.model, attn_implementation='eager')
  model.eval()
  texts = [text_of(tokenizer, options.tokens, seed) for seed in range(32)]
  long_text = text_of(tokenizer, min(512, tokenizer.model_max_length), 1)
  with tempfile.NamedTemporaryFile('w', suffix='.txt') as file:
    file.write('\n'.join([*texts, long_text]))
    file.flush()
    for precision in options.precision.split(','):
      ours, peer_one, peer_many = [], [], []
      with server(options.build, options.model, precision, options.threads) as (_, address):
        for _ in range(options.rounds):
          ours.append(heed(options.build, address, file.name, options.calls, 64 << 20))
          peer_one.append(eager(model, tokenizer, texts[:1], options.calls))
          peer_many.append(eager(model, tokenizer, texts, 2))
      report(precision, options, ours, statistics.median(peer_one), statistics.median(peer_many))


def report(precision, options, ours, peer_one, peer_many):
  def seconds(name):
    return statistics.median(result[name]['seconds'] for result in ours)

  print(f'\n{options.model}, {options.tokens} tokens, {options.threads} threads, {precision}')
  print(f'{"":44}{"ms":>9}{"ratio":>8}')

  def line(name, value, ratio):
    print(f'{name:44}{value * 1e3:9.2f}{ratio:8.2f}')

  line('everything, Hugging Face eager', peer_one, 1)
  line('everything, Heed: times faster', seconds('everything'), peer_one / seconds('everything'))
  line('32 texts, Hugging Face eager', peer_many, 1)
  line('32 texts, Heed: times faster', seconds('everything_parallel'), peer_many / seconds('everything_parallel'))
  plain = seconds('classify')
  line('plain classification', plain, 1)
  for name in ('one_head', 'mean_heads_of_one_row', 'rollout', 'entropy', 'importance_last_layer',
               'importance_rollout'):
    line(f'{name}: cost over plain', seconds(name), seconds(name) / plain)
  raw = statistics.median(result['raw_stream']['bytes'] / result['raw_stream']['seconds'] for result in ours)
  ours_stream = statistics.median(result['stream']['bytes'] / result['stream']['seconds'] for result in ours)
  print(f'raw stream {raw / 1e6:.0f} MB/s, stream of attention {ours_stream / 1e6:.0f} MB/s: {ours_stream / raw:.2f}')


if __name__ == '__main__':
  main()
