#!/usr/bin/env python3
"""Copies the reference tensors that the tests of positional encodings read, byte for byte.
Usage: pe_subset.py FULL_FOLDER tests/golden/pe. Only the standard library is needed."""
import json
import pathlib
import re
import struct
import sys

KEEP = {
    'sinusoidal': r'.*',
    'rope': r'(extra\.)?(positions|[qk])$|extra\.\w+\.(half|interleaved)\.q$|partial32|'
            r'base10000\.none\.half\.k$|base10000\.\w+\.(half|interleaved)\.q$|'
            r'base500000\.\w+\.half\.q$',
    'alibi': r'slopes|extra|bias\.symmetric\.heads_(1|3|8|12)$',
    'relative_buckets': r't5\.(relative|bidirectional|matrix)|deberta_v2|extra',
    'shaw': r'.*',
    'xpos': r'(positions|[qk]|qk|zeta)$|extra',
}


def read(path):
  data = path.read_bytes()
  (size,) = struct.unpack('<Q', data[:8])
  header = json.loads(data[8:8 + size])
  header.pop('__metadata__', None)
  return {name: (entry, data[8 + size + entry['data_offsets'][0]:8 + size + entry['data_offsets'][1]])
          for name, entry in header.items()}


def write(path, tensors):
  header, body = {}, b''
  for name, (entry, data) in tensors.items():
    header[name] = {'dtype': entry['dtype'], 'shape': entry['shape'],
                    'data_offsets': [len(body), len(body) + len(data)]}
    body += data
  text = json.dumps(header, separators=(',', ':')).encode()
  text += b' ' * (-len(text) % 8)
  path.write_bytes(struct.pack('<Q', len(text)) + text + body)


def main():
  source, target = (pathlib.Path(argument) for argument in sys.argv[1:])
  description = json.loads((source / 'pe.json').read_text())
  files = []
  for file in description['files']:
    name = file['file'].removesuffix('.safetensors')
    if name not in KEEP:
      continue
    kept = {key: value for key, value in read(source / file['file']).items()
            if re.match(KEEP[name], key)}
    write(target / file['file'], kept)
    file['tensors'] = [tensor for tensor in file['tensors'] if tensor['name'] in kept]
    file.pop('bytes', None)
    files.append(file)
  description['files'] = files
  lines = json.dumps(description, indent=1)
  (target / 'pe.json').write_text(re.sub(r'\[\s+([\d,\s]+?)\s+\]',
                                         lambda m: '[' + re.sub(r'\s+', ' ', m[1]) + ']', lines) + '\n')


if __name__ == '__main__':
  main()
