#!/usr/bin/env bash
# Fetches the human-rated snippets that the default model's head is trained on into
# third_party/snippets: tab-separated files of id, mean rating in [-4, 4] and text.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v python3 >/dev/null || die "run deploy/install-deps.sh first"
folder="$THIRD_PARTY/snippets"
if ! up_to_date "$folder" vadersentiment; then
  mkdir -p "$THIRD_PARTY"
  new_work "$THIRD_PARTY/.snippets"
  fetch_pin vadersentiment "$work" sdist
  tar -xzf "$work"/vader*.tar.gz -C "$work" --strip-components=1
  mkdir "$work/snippets"
  tar -xzf "$work/additional_resources/hutto_ICWSM_2014.tar.gz" -C "$work/snippets" \
    --strip-components=1 --wildcards '*_GroundTruth.txt'
  cp "$work/LICENSE.txt" "$work/snippets/"
  stamp "$work/snippets" vadersentiment
  rm -rf "$folder"
  mv "$work/snippets" "$folder"
fi
printf '%s\n' "$folder"
