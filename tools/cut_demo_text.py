"""Cuts the text that `recipes/lm_demo.yaml` learns from: English pages of LibreOffice's help, as documents.

    python tools/cut_demo_text.py DOCS src/trimtab/demo/data

DOCS holds {train,dev}.jsonl.xz, a run of sentences a line, `{"pkg": PACKAGE, "src": [SENTENCE, ...]}`. A document is
such a run of `LEAST_SENTENCES` or more, a sentence a line, with a blank line behind it. No page of dev is in train.
Same input, same bytes.
"""

import json
import lzma
import sys
from pathlib import Path

PACKAGE = "libreoffice-help"
LEAST_SENTENCES = 5
MOST_BYTES = {"train": 1_600_000, "valid": 60_000}
"""Of text; documents are taken evenly from the whole."""


def main(docs: Path, out: Path) -> None:
    """Writes both files."""
    for name, source in (("train", "train"), ("valid", "dev")):
        documents = spread(documents_of(docs / f"{source}.jsonl.xz"), MOST_BYTES[name])
        text = "\n\n".join(documents).encode() + b"\n"
        (out / f"english_{name}.txt.xz").write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
        sys.stdout.write(f"{name}: {len(documents)} documents, {len(text)} bytes\n")


def documents_of(path: Path) -> list[str]:
    """The English side of each run that is long enough, once each."""
    found: dict[str, None] = {}
    for line in lzma.decompress(path.read_bytes()).decode().splitlines():
        run = json.loads(line)
        if run["pkg"] == PACKAGE and len(run["src"]) >= LEAST_SENTENCES:
            found["\n".join(sentence for sentence in run["src"] if sentence.strip())] = None
    return list(found)


def spread(documents: list[str], most: int) -> list[str]:
    """So many of them, at even distances, that they are no longer together than `most` bytes."""
    share = min(1.0, most / sum(len(document.encode()) + 2 for document in documents))
    count = int(share * len(documents))
    return [documents[number * len(documents) // count] for number in range(count)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
