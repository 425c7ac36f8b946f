"""Writes tests/golden/entities.json: the entities that transformers' own token-classification
pipeline makes of given token scores, with words as the tokenizer splits them. transformers guesses
words from spelling instead; `guessed_words_differ` counts the cases where that changes FIRST.

Run from the root of the repository with transformers==5.5.4 (PyTorch is not needed):
    python3 tests/golden/recipes/entities.py
"""

import json
import pathlib
import types

import numpy as np
from transformers import AutoTokenizer, __version__
from transformers.pipelines.token_classification import (AggregationStrategy,
                                                         TokenClassificationPipeline)

OUT = pathlib.Path("tests/golden/entities.json")
TOKENIZERS = ["bert_token_cls", "t5_token_cls", "modernbert_token_cls"]
LABELS = [
    ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"],
    ["O", "PER", "LOC"],
    ["B-PER", "I-PER", "E-PER", "O", "S-O"],
]
TEXTS = [
    "the winter token",
    "don't stop in the na\u00efve caf\u00e9, \u00dcberpr\u00fcfung!",
    "\u6771\u4eac and \u4eac, snake_case \U0001f642\U0001f468\u200d\U0001f469 end",
    " ",
]


def pipeline(tokenizer, labels):
  """A pipeline without a model: only what turns scores into entities."""
  result = TokenClassificationPipeline.__new__(TokenClassificationPipeline)
  result.tokenizer = tokenizer
  config = types.SimpleNamespace(id2label=dict(enumerate(labels)))
  result.model = types.SimpleNamespace(config=config)
  return result


def entities(pipe, text, encoding, scores, strategy, words):
  before = pipe.gather_pre_entities(text, np.array(encoding["input_ids"]), scores,
                                    [tuple(map(np.int64, o)) for o in encoding["offset_mapping"]],
                                    np.array(encoding["special_tokens_mask"]), strategy)
  if words is not None:
    for last, entity in zip([None] + before, before):
      entity["is_subword"] = last is not None and words[last["index"]] == words[entity["index"]]
  found = pipe.aggregate(before, strategy)
  # As postprocess() ends, with the pipeline's default ignore_labels.
  found = [e for e in found if e.get("entity") != "O" and e.get("entity_group") != "O"]
  return [[e.get("entity") or e["entity_group"], float(e["score"]), e["start"], e["end"]]
          for e in found]


def main():
  random = np.random.default_rng(1)
  cases, differ = [], 0
  for name in TOKENIZERS:
    tokenizer = AutoTokenizer.from_pretrained(f"tests/golden/{name}")
    for text in TEXTS:
      for labels in LABELS:
        encoding = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
        words = encoding.word_ids()
        logits = random.normal(size=(len(words), len(labels))) * 2
        scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        scores = np.round(scores, 4).astype(np.float32)
        pipe = pipeline(tokenizer, labels)
        case = {
            "tokenizer": name,
            "text": text,
            "labels": labels,
            "scores": [round(float(s), 4) for s in scores.flatten()],
            "offsets": [o for pair in encoding["offset_mapping"] for o in pair],
            "special": encoding["special_tokens_mask"],
            "words": [-1 if w is None else w for w in words],
        }
        for strategy in ("none", "simple", "first"):
          case[strategy] = entities(pipe, text, encoding, scores, AggregationStrategy(strategy),
                                    words)
        differ += case["first"] != entities(pipe, text, encoding, scores,
                                            AggregationStrategy.FIRST, None)
        cases.append(case)
  golden = {"transformers": __version__, "guessed_words_differ": differ, "cases": cases}
  lines = json.dumps(golden, ensure_ascii=True).replace('{"tokenizer"', '\n{"tokenizer"')
  OUT.write_text(lines + "\n", encoding="utf-8")
  print(len(cases), "cases,", differ, "with other words than transformers guesses")


main()
