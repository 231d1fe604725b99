"""A small run on documents: sentences of the language of `small_run`, several in a row."""

import json
from pathlib import Path

from tests.small_run import small_pairs, small_recipe

CONTEXT = {"kind": "context", "sentences": 2}


def documents(count, *, seed=1, longest=5):
    """So many documents of 1 to `longest` sentence pairs."""
    pairs = small_pairs(count * longest, seed=seed)
    sizes = [1 + (7 * number) % longest for number in range(count)]
    return [pairs[number * longest : number * longest + size] for number, size in enumerate(sizes)]


def write_documents(path: Path, found):
    """A document a line, with the lists src and tgt."""
    lines = [
        json.dumps({"doc": number, "src": [pair[0] for pair in each], "tgt": [pair[1] for pair in each]})
        for number, each in enumerate(found)
    ]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def document_recipe(folder: Path, **changes):
    """As `small_recipe`, with `train.jsonl` and `dev.jsonl` and a context on both sides."""
    folder.mkdir(parents=True, exist_ok=True)
    write_documents(folder / "train.jsonl", documents(60))
    write_documents(folder / "dev.jsonl", documents(8, seed=2))
    changed = {
        "data.train": [{"documents": "train.jsonl", "source": "src", "target": "tgt"}],
        "data.valid": {"documents": "dev.jsonl", "source": "src", "target": "tgt"},
        "data.tokenizer.vocabulary_size": 67,
        "data.transforms": [CONTEXT],
    }
    return small_recipe(folder, **{**changed, **changes})
