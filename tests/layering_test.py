#!/usr/bin/env python3
"""Enforces who may include whom. Each part of the tree has the list of what it may include; any
other #include fails. Usage: layering_test.py [REPOSITORY_ROOT | --self-test]"""
import pathlib
import re
import sys

ABSL = r'absl/'
OWN_STD = r'<std>'  # stands for every standard or system header
PROTO = r'(google/protobuf|google/rpc|heed/v1|grpc/health)/'
GRPC = r'(grpc|grpcpp)/'
JSON = r'nlohmann/'
TORCH = r'(ATen|c10|caffe2)/'
API = r'model/api/'

# The first rule whose path pattern matches a file counts.
CORE_FILES = (r'batch_policy|byte_budget|cancel_token|clock|cpu_count|entities|layer_profile|lifecycle|logging|metrics|option_table|'
              r'options|probe_texts|scheduler|served_model|thread_pool|timer_queue')
CORE = rf'server/({CORE_FILES})\.h$'
SERVICE_FILES = (r'service_\w+|convert\w*|metrics_endpoint|attention_\w+|position_override|'
                 r'probe_task|probe_waves|tensor_encoding')
SERVICE = rf'server/({SERVICE_FILES})\.h$'
RULES = [
    (r'model/api/', [OWN_STD, ABSL, API]),
    (r'model/checkpoint/', [OWN_STD, ABSL, JSON, r'xxhash\.h$', API, r'model/checkpoint/']),
    (r'model/tokenizer/', [OWN_STD, ABSL, JSON, API, r'model/tokenizer/']),
    (r'model/positional/', [OWN_STD, ABSL, TORCH, API, r'model/(checkpoint|positional)/']),
    (r'model/attention/', [OWN_STD, ABSL, TORCH, API,
                           r'model/(checkpoint|positional|attention)/']),
    (r'model/encoder/', [OWN_STD, ABSL, TORCH, API,
                         r'model/(checkpoint|positional|attention|encoder)/']),
    (r'model/heads/', [OWN_STD, ABSL, TORCH, API,
                       r'model/(checkpoint|positional|attention|encoder|heads)/']),
    (r'model/inspect/', [OWN_STD, ABSL, JSON, r'CLI/', r'model/(api|checkpoint|inspect)/',
                         r'model/engine\.h$']),
    (r'model/(train|study)/', [OWN_STD, ABSL, TORCH, JSON, r'torch/', r'CLI/', r'spdlog/',
                               r'model/']),
    (r'model/', [OWN_STD, ABSL, TORCH, JSON, r'torch/version\.h$', r'model/']),
    (r'server/main\.cc$', [r'.*']),
    (rf'server/({CORE_FILES})\.(h|cc)$',
     [OWN_STD, ABSL, r'prometheus/(?!exposer)', r'spdlog/', r'CLI/', JSON, API, CORE]),
    (rf'server/({SERVICE_FILES})\.(h|cc)$',
     [OWN_STD, ABSL, r'prometheus/', r'spdlog/', GRPC, PROTO, API, CORE, SERVICE]),
    (r'client/render/png\w*\.(h|cc)$', [OWN_STD, ABSL, PROTO, r'cairo\.h$', r'pango/pangocairo\.h$',
                                      r'client/']),
    (r'client/', [OWN_STD, ABSL, GRPC, PROTO, JSON, r'CLI/', r'client/', r'zip\.h$']),
]
SOURCES = {'.h', '.cc', '.inc'}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
# Header names of C++ itself have neither folder nor suffix; those of the system are listed.
SYSTEM = re.compile(r'[a-z_0-9]+$|(sys|linux)/\w+\.h$|'
                    r'(unistd|stddef|stdint|fcntl|locale|wchar|langinfo|sched|dlfcn|errno|signal|pthread|poll|termios)\.h$')


def allowed(path, header, rules=RULES):
  """Whether the file at `path` may include `header`; None where no rule covers the file."""
  for pattern, headers in rules:
    if not re.match(pattern, path):
      continue
    return any(
        bool(SYSTEM.match(header)) if entry == OWN_STD else bool(re.match(entry, header))
        for entry in headers)
  return None


def violations(root):
  found = []
  count = 0
  for part in ('model', 'server', 'client'):
    for file in sorted((root / part).rglob('*')):
      path = file.relative_to(root).as_posix()
      if file.suffix not in SOURCES or '/target/' in path:
        continue
      count += 1
      text = file.read_text()
      if allowed(path, 'vector') is None:
        found.append(f'{path}: belongs to no part; add it to the rules')
      for _, header in INCLUDE.findall(text):
        if allowed(path, header) is False:
          found.append(f'{path}: may not include {header}')
  return count, found


def self_test():
  """The rules must refuse what they exist to refuse."""
  refused = [
      ('model/api/runner.h', 'ATen/ATen.h'), ('model/api/runner.h', 'nlohmann/json.hpp'),
      ('model/attention/a.cc', 'model/encoder/layer.h'),
      ('model/attention/patterns/a.cc', 'model/encoder/layer.h'),
      ('model/checkpoint/a.cc', 'ATen/ATen.h'),
      ('model/checkpoint/architectures/a.cc', 'model/positional/encoding.h'),
      ('model/encoder/a.cc', 'model/heads/classifier_head.h'),
      ('model/encoder/a.cc', 'nlohmann/json.hpp'), ('model/encoder/a.cc', 'model/engine.h'),
      ('model/heads/a.cc', 'model/pretrained.h'),
      ('model/positional/a.cc', 'model/attention/attention.h'),
      ('model/engine.cc', 'google/protobuf/message.h'), ('model/engine.cc', 'grpcpp/grpcpp.h'),
      ('model/engine.cc', 'server/clock.h'), ('server/scheduler.cc', 'grpcpp/grpcpp.h'),
      ('server/scheduler.cc', 'heed/v1/common.pb.h'), ('server/scheduler.h', 'ATen/ATen.h'),
      ('server/scheduler.h', 'model/engine.h'), ('server/metrics.cc', 'prometheus/exposer.h'),
      ('server/options.cc', 'server/convert.h'), ('server/service_model.cc', 'model/engine.h'),
      ('server/service_model.cc', 'ATen/ATen.h'), ('client/client.cc', 'server/clock.h'),
      ('client/render/html.cc', 'cairo.h'), ('client/render/png.cc', 'grpcpp/grpcpp.h'),
      ('client/client.cc', 'model/api/error.h'), ('server/clock.h', 'boost/asio.hpp'),
  ]
  for path, header in refused:
    assert allowed(path, header) is False, f'{path} may include {header}'
  assert allowed('server/unheard_of.cc', 'vector') is None
  assert allowed('server/main.cc', 'model/engine.h')
  assert allowed('server/scheduler.cc', 'absl/status/status.h')


def main():
  self_test()
  if sys.argv[1:] == ['--self-test']:
    return 0
  root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
  count, found = violations(pathlib.Path(root))
  for line in found:
    print(line)
  if count == 0:
    print('no source found')
  return 1 if found or count == 0 else 0


if __name__ == '__main__':
  sys.exit(main())
