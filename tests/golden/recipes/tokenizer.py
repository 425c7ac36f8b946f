"""Writes tests/golden/tokenizer/: what Hugging Face's own wheel makes of texts that are truncated,
and of texts in a byte-level vocabulary.

Run from the root of the repository with tokenizers==0.22.2:
    python3 tests/golden/recipes/tokenizer.py
"""

import itertools
import json
import pathlib

import tokenizers
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

VERSION = "0.22.2"
OUT = pathlib.Path("tests/golden/tokenizer")
TEXTS = [
    ("rivers and mountains of the quiet north", None),
    ("Caf\u00e9 na\u00efve \U0001f600 r\u00e9sum\u00e9, twice over!", None),
    ("one", "the second text is much longer than the first one is"),
    ("the first text is much longer than the second one is", "two"),
    ("both of them are of some length", "and n\u00e9ither \U0001f680 is short at all"),
]
AWKWARD = [
    "",
    " ",
    "plain words",
    "  two  spaces ",
    "emoji \U0001f600\U0001f680 and \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "caf\u00e9 \u4f60\u597d \u0440\u0435\u043a\u0430",
    "nul \x00 inside",
    "tab\tnew\nline\r\n",
    "<s> spelled out </s>",
    "\u00a0no-break\u3000space",
]


def result(encoding):
    return {
        "ids": encoding.ids,
        "type_ids": encoding.type_ids,
        "tokens": encoding.tokens,
        "offsets": encoding.offsets,
        "special_tokens_mask": encoding.special_tokens_mask,
    }


def truncation_cases(tokenizer):
    cases = []
    strategies = ["longest_first", "only_first", "only_second"]
    for (text, pair), strategy, side, limit in itertools.product(
        TEXTS, strategies, ["right", "left"], [3, 4, 7, 8, 16]
    ):
        tokenizer.no_truncation()
        case = {
            "text": text,
            "pair": pair,
            "strategy": strategy,
            "side": side,
            "limit": limit,
            "original_count": len(tokenizer.encode(text, pair).ids),
        }
        tokenizer.enable_truncation(limit, strategy=strategy, direction=side)
        try:
            case["result"] = result(tokenizer.encode(text, pair))
        except Exception as error:  # the wheel raises a plain Exception
            case["error"] = str(error)
        cases.append(case)
    return cases


def byte_level():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<s>", "<pad>", "</s>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text for pair in TEXTS for text in pair if text], trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    # Both are to be ignored by whoever loads the file.
    tokenizer.enable_truncation(6)
    tokenizer.enable_padding(length=12, pad_id=1, pad_token="<pad>")
    return tokenizer


def write(path, value):
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    path.write_text(text + "\n", encoding="utf-8")


def main():
    assert tokenizers.__version__ == VERSION, tokenizers.__version__
    (OUT / "byte_level").mkdir(parents=True, exist_ok=True)
    made_by = f"tokenizers {VERSION}"
    bert = Tokenizer.from_file("tests/golden/bert/tokenizer.json")
    write(OUT / "truncation.json", {"made_by": made_by, "cases": truncation_cases(bert)})
    tokenizer = byte_level()
    tokenizer.save(str(OUT / "byte_level/tokenizer.json"), pretty=False)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    inputs = [(text, None) for text in AWKWARD] + TEXTS
    cases = [
        {"text": text, "pair": pair, **result(tokenizer.encode(text, pair))}
        for text, pair in inputs
    ]
    write(OUT / "byte_level/cases.json", {"made_by": made_by, "tokenizer_cases": cases})


if __name__ == "__main__":
    main()
