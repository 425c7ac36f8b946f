#!/usr/bin/env bash
# From a fresh Debian 12 machine to a classified sentence and an attention map: installs what is missing, builds, starts
# the server with the default model, classifies two sentences (or those given as arguments) over gRPC,
# draws how the model attends to the first, and stops the server. Safe to run again: the second time takes seconds.
#
#   deploy/quickstart.sh ["a sentence" …]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$HEED_ROOT"

if [ $# -eq 0 ]; then
  set -- "A warm, funny film with a wonderful cast: I loved every minute of it." \
    "Two hours of my life that I will never get back; dull, lazy and badly acted."
fi

deploy/install-deps.sh
say "building (the first time takes some minutes)"
cmake --preset release >/dev/null
cmake --build --preset release --target heed-server heed
model="$(deploy/fetch-model.sh)"

log="$(mktemp)"
build/release/bin/heed-server --model "sentiment=$model" --listen 127.0.0.1:0 \
  --metrics-listen 127.0.0.1:0 >"$log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -f "$log"' EXIT

address=""
for _ in $(seq 300); do
  address="$(sed -n 's/^listening on //p' "$log")"
  [ -n "$address" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$log" >&2; die "the server did not start"; }
  sleep 0.1
done
[ -n "$address" ] || { cat "$log" >&2; die "the server did not start within 30 s"; }
heed=(build/release/bin/heed --server "$address")
"${heed[@]}" health --wait 30 >/dev/null || { cat "$log" >&2; die "the server is not ready"; }

"${heed[@]}" models
"${heed[@]}" classify "$@"
"${heed[@]}" attend "$1"

cat >&2 <<EOF

To keep a server running:
  build/release/bin/heed-server --model sentiment=$model
and, in another shell:
  build/release/bin/heed classify "your text"
  build/release/bin/heed attend "your text"
EOF
