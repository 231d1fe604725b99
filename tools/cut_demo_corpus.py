"""Cuts the demo's sample from a larger corpus: LibreOffice lines of at most 15 words a side.

    python tools/cut_demo_corpus.py CORPUS src/trimtab/demo/data

CORPUS holds {prose,ui}/{train,dev}.{en,de,meta}.xz, line by line the same; a meta line begins with the source package.
Training lines go to train.tsv.xz; dev lines, whose documents and strings are in no training file, to heldout.tsv.xz,
the first fifty of each kind to valid.tsv.xz. Same input, same bytes.
"""

import lzma
import sys
from pathlib import Path

MOST_WORDS = 15
VALID_LINES = 50


def main(corpus: Path, out: Path) -> None:
    """Writes the three files."""
    parts: dict[str, list[str]] = {"train": [], "valid": [], "heldout": []}
    for kind in ("prose", "ui"):
        parts["train"] += cut(corpus / kind, "train")
        dev = cut(corpus / kind, "dev")
        parts["valid"] += dev[:VALID_LINES]
        parts["heldout"] += dev[VALID_LINES:]
    for name, lines in parts.items():
        text = "".join(line + "\n" for line in lines).encode()
        (out / f"{name}.tsv.xz").write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
        sys.stdout.write(f"{name}: {len(lines)} pairs, {len(text)} bytes\n")


def cut(folder: Path, split: str) -> list[str]:
    """`source TAB target` of the LibreOffice lines that are short enough, in order."""
    columns = [read(folder / f"{split}.{side}.xz") for side in ("en", "de", "meta")]
    return [
        f"{source}\t{target}"
        for source, target, meta in zip(*columns, strict=True)
        if meta.startswith("libreoffice")
        and "\t" not in source + target
        and max(len(source.split()), len(target.split())) <= MOST_WORDS
    ]


def read(path: Path) -> list[str]:
    """Lines of a compressed file."""
    return lzma.decompress(path.read_bytes()).decode().split("\n")[:-1]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
