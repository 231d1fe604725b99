"""What trimming and extending the vocabulary of a translator does to its quality, size and speed.

    python benchmarks/vocabulary_surgery.py RUN --out DIR [--lines 200] [--add 4000] [--steps 150]

RUN translates English to German. Texts are the training pairs of the demo's sample, scores those of its held-out lines
(greedy, one thread). Measured are the run, the run trimmed to these texts, and the run extended by pieces of them with
each start of new rows; then the run, the trimmed and the extended one after the same few steps on the same pairs, since
new pieces have to be trained. Writes `vocabulary_surgery.json` into DIR.
"""

import argparse
import json
import lzma
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch

from trimtab.decode.search import Search
from trimtab.inference import load_model
from trimtab.launch import train
from trimtab.metrics.bleu import bleu
from trimtab.metrics.chrf import chrf
from trimtab.vocabulary.surgery import extend_vocabulary, trim_vocabulary

RECIPE = """
task: translation
data:
  train: [{{source: {en}, target: {de}}}]
  valid: {{source: {dev_en}, target: {dev_de}}}
  max_tokens: 40
model: {{warm_start: {run}, dropout: 0.0}}
loss: {{kind: cross_entropy, label_smoothing: 0.1}}
step:
  tokens_per_step: 512
  optimizer: {{kind: adamw, learning_rate: 1.0e-3, betas: [0.9, 0.98]}}
  schedule: {{kind: linear_warmup, warmup: 20 steps}}
length: {steps} steps
evaluate: {{every: {steps} steps, metrics: [chrf], lines: 20}}
seed: 1
"""


def sample(name: str) -> list[tuple[str, str]]:
    """Pairs of the demo's sample."""
    text = lzma.decompress((files("trimtab.demo") / "data" / name).read_bytes()).decode()
    return [(line.split("\t")[0], line.split("\t")[1]) for line in text.splitlines()]


def write(folder: Path, name: str, pairs: list[tuple[str, str]]) -> tuple[Path, Path]:
    """Two files of lines."""
    places = folder / f"{name}.en", folder / f"{name}.de"
    for place, side in zip(places, zip(*pairs, strict=True), strict=True):
        place.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    return places


def measured(run: Path | str, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Quality, size and speed of a run."""
    model = load_model(run, device="cpu")
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    translator = model.translator(search=Search(beam=1))
    translator.translate(sources[:8])
    begun = time.perf_counter(), time.process_time()
    found = translator.translate(sources)
    wall, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
    tokens = sum(map(len, model.tokenizer.encode(found)))
    return {
        "pieces": model.tokenizer.num_ids,
        "parameters": model.model.num_parameters(),
        "bleu": round(bleu(found, references).value, 2),
        "chrf": round(chrf(found, references).value, 2),
        "cpu_seconds": cpu,
        "wall_seconds": wall,
        "target_tokens": tokens,
    }


def main() -> None:
    """Runs everything, and prints as it goes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--add", type=int, default=4000)
    parser.add_argument("--steps", type=int, default=150)
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.out.mkdir(parents=True)
    en, de = write(given.out, "train", sample("train.tsv.xz"))
    dev_en, dev_de = write(given.out, "dev", sample("valid.tsv.xz")[:20])
    held_out = sample("heldout.tsv.xz")[: given.lines]
    arms: dict[str, Path | str] = {"as it was": given.run}
    reports: dict[str, Any] = {}
    reports["trimmed"] = trim_vocabulary(given.run, keep_text=[en, de], out=given.out / "trimmed")
    for init in ("norm_matched", "mean"):
        reports[f"extended, {init}"] = extend_vocabulary(
            given.run, text=[en, de], add=given.add, out=given.out / f"extended-{init}", init=init
        )
    arms |= {name: Path(report.out) for name, report in reports.items()}
    result: dict[str, Any] = {"reports": {name: each.to_dict() for name, each in reports.items()}, "arms": {}}
    for name, run in arms.items():
        result["arms"][name] = measured(run, held_out)
        print(name, json.dumps(result["arms"][name]), flush=True)
    for number, (name, run) in enumerate(arms.items()):
        recipe = given.out / f"more-{number}.yaml"
        paths = {"en": en.name, "de": de.name, "dev_en": dev_en.name, "dev_de": dev_de.name}
        recipe.write_text(
            RECIPE.format(**paths, run=Path(run).absolute(), steps=given.steps), encoding="utf-8"
        )
        trained = train(recipe, out=given.out / f"more-{number}").run
        label = f"{name}, {given.steps} steps more"
        result["arms"][label] = measured(f"{trained}@last", held_out)
        print(label, json.dumps(result["arms"][label]), flush=True)
        text = json.dumps(result, ensure_ascii=False, indent=1)
        (given.out / "vocabulary_surgery.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
