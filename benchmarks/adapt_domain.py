"""An English-German model that never saw a line of one game, adapted to its dialogues: LoRA of rank 64 and all weights,
for the same steps. What each learns, and what it forgets of everything else; and the same for a vocabulary that was
trimmed to the dialogues, or extended by their pieces.

    python benchmarks/adapt_domain.py prepare --corpora DIR/en-de --out build/wesnoth
    python benchmarks/adapt_domain.py measure --data build/wesnoth --out adapt_domain.json

`prepare` parts the lines of prose by their source, which `meta` names: those of Wesnoth and all others; held out are
the documents of the corpora's own dev sets. `measure` trains the base on the others for `--seconds`, then adapts it
with each of the learning rates, and translates both dev sets with a beam of 4. Then it trims the vocabulary of the base
to the domain's text, extends it by `--add` pieces, scores both untrained, and adapts them with the better learning rate
of all weights. Quality, size and seconds of translating stand beside one another.

About five minutes on an H200; `--tiny` tries it on a CPU.
"""

import argparse
import gc
import json
import lzma
import tempfile
import time
from pathlib import Path

from plain_progress import PlainProgress
from record import Record

DOMAIN = "wesnoth"
RATES = {"lora": (5e-4, 2e-3), "full": (1e-4, 3e-4)}
RANK = 64
BEAM = 4


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    cut = commands.add_parser("prepare")
    cut.add_argument(
        "--corpora", type=Path, required=True, help="folder with prose/train.en.xz and train.meta.xz"
    )
    cut.add_argument("--out", type=Path, required=True)
    measured = commands.add_parser("measure")
    measured.add_argument("--data", type=Path, required=True, help="what `prepare` made")
    measured.add_argument("--out", default="adapt_domain.json")
    measured.add_argument("--seconds", type=int, default=60, help="training of the base")
    measured.add_argument("--steps", type=int, default=300, help="of each adaptation")
    measured.add_argument("--tokens", type=int, default=8192, help="target tokens of a step of them")
    measured.add_argument("--add", type=int, default=4000, help="pieces that the vocabulary gains")
    measured.add_argument("--seed", type=int, default=1)
    measured.add_argument("--tiny", action="store_true", help="try it on a CPU")
    args = parser.parse_args()
    prepare(args) if args.command == "prepare" else measure(args)


def prepare(args):
    """Writes `domain` and `others`, train and dev, of both languages."""
    args.out.mkdir(parents=True, exist_ok=True)
    for split in ("train", "dev"):
        rows = zip(
            *(lines(args.corpora / f"prose/{split}.{side}.xz") for side in ("en", "de", "meta")), strict=True
        )
        parts = {"domain": [], "others": []}
        for one, other, meta in rows:
            parts["domain" if meta.startswith(DOMAIN) else "others"].append((one, other))
        for name, pairs in parts.items():
            for number, side in enumerate(("en", "de")):
                text = "".join(pair[number] + "\n" for pair in pairs)
                (args.out / f"{name}.{split}.{side}.xz").write_bytes(lzma.compress(text.encode(), preset=1))
            print(f"{name} {split}: {len(pairs):,} pairs")


def lines(path):
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def measure(args):
    """The base, then each adaptation of it."""
    record = Record(
        args.out, question="adaptation to a domain: LoRA against all weights", rank=RANK, seed=args.seed
    )
    with tempfile.TemporaryDirectory() as folder:
        work = Work(args, Path(folder))
        if record.arm("base", work.base) is None:
            raise SystemExit("the base was not trained")
        for kind, rates in RATES.items():
            for rate in rates[: 1 if args.tiny else None]:
                record.arm(
                    f"{kind}, learning rate {rate:g}", lambda kind=kind, rate=rate: work.adapted(kind, rate)
                )
        best = max(
            (name for name in record.arms if name.startswith("full")),
            key=lambda name: record.arms[name]["scores"]["domain"]["chrf"],
            default=None,
        )
        for change in ("trimmed", "extended"):
            if record.arm(change, lambda change=change: work.changed(change)) and best is not None:
                rate = float(best.rpartition(" ")[2])
                record.arm(
                    f"{change}, then all weights, learning rate {rate:g}",
                    lambda change=change, rate=rate: work.adapted("full", rate, base=change),
                )
    record.result["compared"] = summary(record.arms)
    record.write()
    print(json.dumps(record.result["compared"], indent=1), flush=True)


def summary(arms):
    """Of each kind the run that learned most, and the changed vocabularies: what they gained in the domain and lost of
    the others, in points from the base."""
    if "base" not in arms:
        return {}
    chosen = [name for name in arms if name.startswith(("trimmed", "extended"))]
    for kind in RATES:
        runs = [name for name in arms if name.startswith(kind)]
        if runs:
            chosen.append(max(runs, key=lambda name: arms[name]["scores"]["domain"]["chrf"]))
    base = arms["base"]["scores"]
    return {name: from_base(arms[name]["scores"], base) for name in chosen}


def from_base(scores, base):
    """Differences of scores from those of the base, and the shares of its size and of its time."""
    found = {
        f"{part} {metric}": round(scores[part][metric] - base[part][metric], 2)
        for part in ("domain", "others")
        for metric in ("bleu", "chrf", "loss")
        if None not in (scores[part][metric], base[part][metric])
    }
    found["share of its parameters"] = round(scores["parameters"] / base["parameters"], 3)
    found["share of its seconds, domain"] = round(
        scores["domain"]["seconds_warm"] / base["domain"]["seconds_warm"], 2
    )
    return found


class Work:
    """The runs of one measurement."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder

    def recipe(self, **changes):
        """What all runs have in common."""
        data = self.args.data.absolute()

        def pair(part, split):
            return {"source": f"{part}.{split}.en.xz", "target": f"{part}.{split}.de.xz"}

        tiny = self.args.tiny
        return {
            "task": "translation",
            "data": {
                "root": str(data),
                "train": [pair(changes.pop("part"), "train")],
                "valid": {part: pair(part, "dev") for part in ("domain", "others")},
                "max_tokens": 128,
            },
            "loss": {"kind": "cross_entropy", "label_smoothing": 0.1},
            "step": {
                "tokens_per_step": 512 if tiny else changes.pop("tokens"),
                "optimizer": {"kind": "adamw", "learning_rate": changes.pop("rate"), "betas": [0.9, 0.98]},
                "schedule": {"kind": "linear_warmup", "warmup": f"{changes.pop('warmup')} steps"},
                "clip": {"kind": "global_norm", "at": 1.0},
            },
            "evaluate": {"every": "1000000 steps"},
            "checkpoint": {"every": "1000000 steps", "keep": 1},
            "seed": self.args.seed,
            **{key: value for key, value in changes.items() if key != "tokens"},
        }

    def base(self):
        """Trained on everything else."""
        tiny = self.args.tiny
        tree = self.recipe(
            part="others",
            tokens=16384,
            rate=1e-3,
            warmup=2 if tiny else 600,
            model={"kind": "encoder_decoder", "preset": "tiny" if tiny else "base", "dropout": 0.1},
            length="4 steps" if tiny else f"{self.args.seconds} seconds",
        )
        tree["data"]["tokenizer"] = {
            "kind": "sentencepiece",
            "model": "unigram",
            "vocabulary_size": 1000 if tiny else 16000,
            "training_lines": 2000 if tiny else 108_784,
        }
        return self.trained("base", tree)

    def changed(self, change):
        """The base with another vocabulary, untrained."""
        from trimtab.vocabulary.surgery import extend_vocabulary, trim_vocabulary

        texts = [self.folder / f"domain.{side}" for side in ("en", "de")]
        for path, side in zip(texts, ("en", "de"), strict=True):
            kept = lines(self.args.data / f"domain.train.{side}.xz")
            path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        base, out = f"{self.folder / 'base'}@last", self.folder / change
        begun = time.perf_counter()
        if change == "trimmed":
            report = trim_vocabulary(base, keep_text=texts, out=out)
        else:
            report = extend_vocabulary(base, text=texts, add=50 if self.args.tiny else self.args.add, out=out)
        told = report.to_dict()
        return {
            "surgery_seconds": round(time.perf_counter() - begun, 1),
            "vocabularies": told["vocabularies"],
            "corpora": told["corpora"],
            "scores": self.scores(out),
        }

    def adapted(self, kind, rate, base="base"):
        """Begun from the base, or from one with another vocabulary, and trained on the domain alone."""
        steps = 3 if self.args.tiny else self.args.steps
        tree = self.recipe(
            part="domain",
            tokens=self.args.tokens,
            rate=rate,
            warmup=1 if self.args.tiny else max(1, steps // 10),
            model={"kind": "encoder_decoder", "warm_start": f"{self.folder / base}@last", "dropout": 0.1},
            length=f"{steps} steps",
        )
        if kind == "lora":
            tree["adapter"] = {"kind": "lora", "rank": RANK}
        return self.trained(f"{kind}-{rate:g}-{base}", tree)

    def trained(self, name, tree):
        """Time, memory and scores of a run."""
        import torch
        from timed_run import unchecked

        from trimtab.config.load import load_recipe
        from trimtab.launch import train

        cuda, begun = torch.cuda.is_available(), time.perf_counter()
        if cuda:
            torch.cuda.reset_peak_memory_stats()
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps(tree), encoding="utf-8")
        with unchecked():
            run = train(load_recipe(path), out=self.folder / name, progress=PlainProgress())
        found = {
            "steps": run.state.step,
            "tokens": run.state.tokens,
            "training_seconds": round(run.state.seconds, 1),
            "tokens_per_second": round(run.state.tokens / run.state.seconds),
            "seconds_with_start": round(time.perf_counter() - begun, 1),
            "scores": self.scores(run.run),
        }
        if cuda:
            found["peak_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
        gc.collect()
        if cuda:
            torch.cuda.empty_cache()
        return found

    def scores(self, run):
        """Loss, BLEU and chrF of both dev sets."""
        from trimtab.checkpoint.journal import read_journal
        from trimtab.checkpoint.run_folder import RunFolder
        from trimtab.decode.search import Search
        from trimtab.inference import load_model
        from trimtab.metrics.bleu import bleu
        from trimtab.metrics.chrf import chrf

        path = RunFolder(run).evaluations
        evaluations = [*read_journal(path)] if path.is_file() else []
        loaded = load_model(f"{run}@last")
        translator = loaded.translator(search=Search(beam=BEAM))
        found = {"parameters": loaded.model.num_parameters(), "pieces": loaded.tokenizer.num_ids}
        for part in ("domain", "others"):
            source, reference = (lines(self.args.data / f"{part}.dev.{side}.xz") for side in ("en", "de"))
            if self.args.tiny:
                source, reference = source[:4], reference[:4]
            output = [*translator.translate(source)]
            begun = time.perf_counter()
            again = [*translator.translate(source)]  # warm: nothing is compiled or recorded any more
            seconds = time.perf_counter() - begun
            loss = next((each["loss"] for each in reversed(evaluations) if each["set"] == part), None)
            found[part] = {
                "seconds_warm": round(seconds, 2),
                "target_tokens": sum(map(len, loaded.tokenizer.encode(again))),
                "bleu": round(bleu(output, reference).value, 2),
                "chrf": round(chrf(output, reference).value, 2),
                "loss": None if loss is None else round(loss, 4),
                "lines": len(source),
            }
        return found


if __name__ == "__main__":
    main()
