"""What `finetune_real.py` needs on another machine: pairs and general text cut from real corpora, and the weights in
parts that travel one by one."""

import json
import lzma
import random
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

SITE, DATA, JOINED = "site", "data", "smollm2.gguf"
TRAIN, HELD_OUT, GENERAL_BYTES = 4096, 400, 200_000
SUM_UP, TRANSLATE = "Sum up this package in one line.\n\n{}", "Translate into German.\n\n{}"
PROSE = ("the lord", "said", "she ", "king")
"""Words of novels and of the Bible, of which the general text is made."""


def prepare(args):
    """Writes the texts and the parts of the weights."""
    for number in range(args.parts):
        (args.out.parent / f"{args.out.name}_{number}").mkdir(parents=True, exist_ok=True)
    first = args.out.parent / f"{args.out.name}_0"
    (first / DATA).mkdir(exist_ok=True)
    made = pairs(args.corpora)
    random.Random(1).shuffle(made)
    for name, rows in (("train", made[HELD_OUT : HELD_OUT + TRAIN]), ("learned", made[:HELD_OUT])):
        lines = "".join(
            json.dumps(dict(zip(("prompt", "completion"), row, strict=True)), ensure_ascii=False) + "\n"
            for row in rows
        )
        (first / DATA / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        print(f"{name}: {len(rows):,} pairs, {len(lines):,} characters")
    text = general(args.corpora)
    (first / DATA / "general.txt").write_text(text, encoding="utf-8")
    print(f"general: {len(text):,} characters")
    if (found := find_spec("gguf")) is not None:
        shutil.copytree(
            Path(found.origin).parent,
            first / SITE / "gguf",
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        for info in Path(found.origin).parents[1].glob("gguf-*.dist-info"):
            shutil.copytree(info, first / SITE / info.name, dirs_exist_ok=True)
    content = args.gguf.read_bytes()
    size = -(-len(content) // args.parts)
    for number in range(args.parts):
        part = args.out.parent / f"{args.out.name}_{number}" / f"part-{number}"
        part.write_bytes(content[number * size : (number + 1) * size])
    print(f"weights: {args.parts} parts of {size / 2**20:.1f} MiB")


def pairs(corpora):
    """Instructions and answers, half of each kind."""
    text = lzma.decompress((corpora / "mono/en/train.txt.xz").read_bytes()).decode()
    found = []
    for document in text.split("\n\n"):
        title, _, body = document.strip().partition("\n")
        if 20 <= len(title) <= 80 and 80 <= len(body) <= 500 and not title.endswith((".", ":")):
            found.append((SUM_UP.format(body), title))
    sides = [
        lzma.decompress((corpora / f"en-de/prose/train.{side}.xz").read_bytes()).decode().splitlines()
        for side in ("en", "de")
    ]
    both = [
        (TRANSLATE.format(one), other)
        for one, other in zip(*sides, strict=True)
        if 30 <= len(one) <= 160 and len(other) <= 200
    ]
    draw = random.Random(7)
    half = (TRAIN + HELD_OUT) // 2
    return draw.sample(found, half) + draw.sample(both, half)


def general(corpora):
    """Prose that no pair is of: documents of novels and the Bible, in their order."""
    text = "\n\n".join(
        lzma.decompress((corpora / f"mono/en/{name}.txt.xz").read_bytes()).decode()
        for name in ("dev", "train")
    )
    kept, size = [], 0
    for document in text.split("\n\n"):
        lowered = document.lower()
        if len(document) > 800 and sum(lowered.count(word) for word in PROSE) * 300 > len(document):
            kept.append(document.strip()[:8000])
            size += len(kept[-1])
            if size > GENERAL_BYTES:
                break
    return "\n\n".join(kept) + "\n"


def joined(folders, place):
    """The weights from their parts; and the library that reads them, where it is not installed."""
    parts = sorted(
        (path for folder in folders for path in folder.glob("part-*")),
        key=lambda path: int(path.name.split("-")[1]),
    )
    numbers = [int(path.name.split("-")[1]) for path in parts]
    if numbers != [*range(len(folders))]:
        raise SystemExit(f"--weights: need one part in each folder, found parts {numbers}")
    with place.open("wb") as file:
        for path in parts:
            file.write(path.read_bytes())
    return place


def use_site(folders):
    """Lets Python find what travelled beside the weights."""
    if find_spec("gguf") is None:
        for folder in folders:
            if (folder / SITE).is_dir():
                sys.path.insert(0, str((folder / SITE).absolute()))
