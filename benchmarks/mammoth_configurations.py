"""Three configurations that Mammoth's repository publishes: converted, trained for 50 steps, and translated with.

    python benchmarks/mammoth_configurations.py --configs DIR --corpora DIR --out benchmarks/mammoth_configurations.json

DIR of --configs holds the files under the names of FILES. Each is converted by `trimtab convert`, trained by `trimtab
train` and translated with by `trimtab translate`, as a user types them. Components, directions, tags, tied matrices,
optimizer and clipping stay as they are. `changes` of the result has what is changed: shorter runs, smaller steps, a
smaller vocabulary and narrower layers, so that a CPU takes minutes. Their corpora are not available, so other text
takes their place: real sentences for translation (LANGUAGES has of which language), and for the synthetic tasks lines
made by the rules of their names. Configurations that FILE has already are not repeated.
"""

import argparse
import gzip
import json
import lzma
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import Record

from trimtab.checkpoint.journal import read_journal
from trimtab.inference.load import load_modular

FILES = {
    "multi30k": "examples__config_config_output__multi30k.yaml",
    "synthdata": "examples__config_config_output__synthdata.yaml",
    "wmt 12 pairs": "test_communication__config__wmt_12pairs.yml",
}
LANGUAGES = {
    "multi30k": {"en": "en", "de": "de", "fr": "pt", "cs": "ja"},
    "wmt 12 pairs": {"de": "de", "zh": "zh", "cs": "ja", "et": "pt", "fi": "de", "ru": "pt"},
}
"""Of which language the text is that stands for one of a configuration. For the second, other lines where one stands
for two."""
LINES, DEV = 2000, 20
CHANGES = {
    "length": "50 steps",
    "model.dim": "128",
    "model.heads": "4",
    "model.feed_forward": "256",
    "step.tokens_per_step": "256",
    "step.tokens_per_micro_batch": "256",
    "evaluate": "{every: 50 steps, metrics: [chrf], lines: 4}",
    "checkpoint.every": "50 steps",
}
OF_ONE = {
    "multi30k": {"step.schedule.warmup": "10 steps", "data.tokenizer.vocabulary_size": "2000"},
    "synthdata": {"step.schedule.warmup": "10 steps", "data.tokenizer": "{kind: sentencepiece}"},
    "wmt 12 pairs": {"data.tokenizer.vocabulary_size": "8000", "step.optimizer.learning_rate": "1e-3"},
}
"""Warm-ups of 3,000 steps are longer than the run. The synthetic tasks have few different pieces, so their vocabulary
is as large as it can be. The third configuration runs for 4 steps at a learning rate of 3 without a schedule, which
tests communication; trained for longer, it diverges at the sixteenth step, and trimtab ends the run."""
MOST_DIRECTIONS = 3
"""So many are translated, and one that was not trained."""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--configs", type=Path, required=True)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", choices=FILES)
    args = parser.parse_args()
    record = Record(
        args.out, question="whether Mammoth's configurations convert, train and translate", device="cpu"
    )
    if args.out.exists():
        record.arms.update(json.loads(args.out.read_text(encoding="utf-8"))["arms"])
    for name in [each for each in FILES if each not in record.arms and args.only in (None, each)]:
        with tempfile.TemporaryDirectory() as folder:
            record.arm(name, lambda name=name, folder=folder: tried(name, args, Path(folder)))


def tried(name, args, place):
    config = place / "mammoth.yaml"
    text = (args.configs / FILES[name]).read_text(encoding="utf-8")
    config.write_text(text.replace("/home/local/", "home/local/"), encoding="utf-8")
    converted = trimtab("convert", config)
    recipe = place / "recipe.yaml"
    recipe.write_text(converted.stdout, encoding="utf-8")
    write_corpora(name, converted.stdout, args.corpora, place)
    changes = CHANGES | OF_ONE[name] | valid_sets(name)
    begun = time.perf_counter()
    trimtab("train", recipe, "--out", place / "run", *(f"{key}={value}" for key, value in changes.items()))
    seconds = time.perf_counter() - begun
    steps = [*read_journal(place / "run/metrics.jsonl")]
    whole = load_modular(f"{place / 'run'}@last", device="cpu")
    return {
        "directions": len(whole.recipe.model.directions),
        "components": len(whole.model.components),
        "parameters": whole.model.num_parameters(),
        "without_counterpart": [line.split()[1] for line in converted.stderr.splitlines() if "no counterpart" in line],
        "changes": changes,
        "steps": steps[-1]["step"],
        "first_loss": round(steps[0]["loss"], 3),
        "last_loss": round(steps[-1]["loss"], 3),
        "skipped": sum(line["skipped"] for line in steps),
        "training_seconds": round(seconds, 1),
        "translated": translations(name, whole.recipe, place),
    }  # fmt: skip


def write_corpora(name, recipe, corpora, place):
    """Text for every file that the recipe names."""
    if name == "wmt 12 pairs":
        pairs = {}
        for number, (language, stand_in) in enumerate(LANGUAGES[name].items()):
            kind = "ui" if number > 3 else "prose"
            sides = [read(corpora / f"en-{stand_in}/{kind}/train.{side}.xz") for side in ("en", stand_in)]
            pairs[language] = [each[: LINES + DEV] for each in sides]
        for language, (english, other) in pairs.items():
            for one, two, lines in (("en", language, english), (language, "en", other)):
                folder = place / f"home/local/scaleUpMNMT-data/wmt/train/{one}-{two}"
                folder.mkdir(parents=True)
                both = {one: lines, two: other if one == "en" else english}
                for side, text in both.items():
                    write(folder / f"wmt.{one}-{two}.train.BPE.{side}", text[:LINES])
                    write(place / f"dev.{one}-{two}.{side}", text[LINES:])
        return
    if name == "multi30k":
        for language, lines in four_ways(corpora).items():
            write(place / f"data/multi30k/train.{language}.gz", lines[DEV:])
            write(place / f"data/multi30k/val.{language}.gz", lines[:DEV])
        return
    for task in {name for name in recipe.split() if name.startswith("data/synthdata/train.")}:
        task_name = (
            task.rstrip(",").removeprefix("data/synthdata/train.").rpartition(".")[0].partition("-")[0]
        )
        pairs = [
            synthetic(task_name, random.Random(f"{task_name} {number}")) for number in range(LINES + DEV)
        ]
        for part, few in (("train", pairs[DEV:]), ("test", pairs[:DEV])):
            for number, side in enumerate(("src", "tgt")):
                file = place / f"data/synthdata/{part}.{task_name}-{task_name}.{side}"
                write(file, [pair[number] for pair in few])


def four_ways(corpora):
    """Sentences that three corpora translate from the same English."""
    found = {}
    for language in ("de", "pt", "ja"):
        english, other = (read(corpora / f"en-{language}/prose/train.{side}.xz") for side in ("en", language))
        found[language] = dict(zip(english, other, strict=True))
    shared = [line for line in found["de"] if line in found["pt"] and line in found["ja"]][: LINES + DEV]
    texts = {"en": shared} | {language: [each[line] for line in shared] for language, each in found.items()}
    return {language: texts[stand_in] for language, stand_in in LANGUAGES["multi30k"].items()}


def synthetic(task, draw):
    """A line of a synthetic task and its answer."""
    if "counting" in task:
        most = draw.randint(2, 12)
        numbers = [str(each) for each in range(1, most + 1)]
        return str(most), " ".join(numbers[::-1] if task.startswith("reverse") else numbers)
    if task.startswith("multi_query"):
        count, asked = (int(part[2:] if part[:2] == "kv" else part[1:]) for part in task.split("_")[-2:])
        keys, values = draw.sample(range(100, 200), count), [draw.randint(200, 299) for _ in range(count)]
        chosen = draw.sample(range(count), min(count, asked))
        pairs = " ".join(f"{key} {value}" for key, value in zip(keys, values, strict=True))
        return f"{pairs} ? {' '.join(str(keys[each]) for each in chosen)}", " ".join(
            str(values[each]) for each in chosen
        )
    words = [draw.randint(10, 99) for _ in range(draw.randint(3, 12))]
    answer = {"reverse_source": words[::-1], "sort_source": sorted(words)}.get(task, words)
    before = (
        f"{' '.join(str(draw.randint(10, 99)) for _ in range(6))} | " if task.startswith("distractor") else ""
    )
    return before + " ".join(map(str, words)), " ".join(map(str, answer))  # fmt: skip


def valid_sets(name):
    """The third configuration names none."""
    if name != "wmt 12 pairs":
        return {}
    return {"data.valid": "{en-de: {source: dev.en-de.en, target: dev.en-de.de}}"}


def translations(name, recipe, place):
    """Lines in and out, by direction."""
    trained = list(recipe.model.directions)[:MOST_DIRECTIONS]
    languages = recipe.model.all_languages
    new = [
        f"{one}-{two}"
        for one in languages
        for two in languages
        if one != two and f"{one}-{two}" not in recipe.model.directions
    ]
    found = {}
    for direction in [*trained, *(new[:1] if name == "wmt 12 pairs" else [])]:
        valid = recipe.data.valid.get(direction)
        lines = read(place / valid.source)[:DEV] if valid else ["A short line ."] * 3
        given = place / "in.txt"
        write(given, lines)
        out = place / f"out.{direction}"
        trimtab(
            "translate", f"{place / 'run'}@last", "--direction", direction, "--input", given, "--output", out
        )
        found[direction] = {
            "lines": len(lines),
            "translated": len(read(out)),
            "trained": direction in trained,
        }
    return found  # fmt: skip


def read(path):
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes()).decode().split("\n")[:-1]
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(f"{line}\n" for line in lines).encode()
    if path.suffix == ".gz":
        content = gzip.compress(content)
    path.write_bytes(content)


def trimtab(*told):
    done = subprocess.run([sys.executable, "-m", "trimtab", *map(str, told)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{told[0]} ended with {done.returncode}: {done.stderr[-1500:]}")
    return done


if __name__ == "__main__":
    main()
