#!/usr/bin/env bash
# Installs what is missing, builds and runs all tests.
#
#   tests/run.sh             release build, every test
#   tests/run.sh --sanitize  the same under ASan+UBSan and under TSan
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../deploy/lib.sh"
cd "$HEED_ROOT"

presets=(release)
case "${1:-}" in
  "") ;;
  --sanitize) presets=(asan tsan) ;;
  *) die "usage: tests/run.sh [--sanitize]" ;;
esac

deploy/install-deps.sh --tests
deploy/fetch-model.sh >/dev/null
say "linting the protos"
(cd proto && "$THIRD_PARTY/tools/buf" lint --path heed)
for preset in "${presets[@]}"; do
  say "building ($preset)"
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset"
  say "testing ($preset)"
  ctest --preset "$preset" --output-on-failure
done
