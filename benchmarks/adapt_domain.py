"""An English-German model that never saw a line of one game, adapted to its dialogues: LoRA of rank 64 and all weights,
for the same steps. What each learns, and what it forgets of everything else; and the same for a vocabulary that was
trimmed to the dialogues, or extended by their pieces.

    python benchmarks/adapt_domain.py prepare --corpora DIR/en-de --out build/wesnoth
    python benchmarks/adapt_domain.py measure --data build/wesnoth --out adapt_domain.json --jobs 10 --minutes 8.7

`prepare` parts the lines of prose by their source, which `meta` names: those of Wesnoth and all others; held out are
the documents of the corpora's own dev sets. It trains one vocabulary on the others, for all seeds.

`measure` trains for each seed a base on the others, adapts it with each of the learning rates, and translates both dev
sets with a beam of 4. It trims the vocabulary of the base to the domain's text, extends it by `--add` pieces, scores
both untrained, and adapts them with all weights (CHANGED_RATE). Runs are processes that share the card, `--jobs` at a
time, so their seconds mean nothing; at the end, with the card to itself, the models of the first seed are timed.

`--out` is written after each run. After `--minutes` it ends; the same command continues: a seed of which all arms are
there is not made again, one that was cut off is made anew. With `--tiny` it runs on a CPU.
"""

import argparse
import json
import lzma
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from plain_progress import PlainProgress  # noqa: E402
from record import Record  # noqa: E402

DOMAIN = "wesnoth"
PARTS = ("domain", "others")
RATES = {"lora": (5e-4, 2e-3), "full": (1e-4, 3e-4)}
CHANGED_RATE = 3e-4
"""With which all weights learned most in a first run of seed 1."""
ADAPTED = tuple(f"{kind}, learning rate {rate:g}" for kind, rates in RATES.items() for rate in rates)
CHANGES = ("trimmed", "extended")
RANK = 64
BEAM = 4
SETTINGS = ("base_steps", "steps", "tokens", "add", "tiny")
"""Options that runs must have in common to be compared."""
TIMED = (
    "base",
    "lora, learning rate 0.002",
    "full, learning rate 0.0003",
    *(f"{change}, then all weights" for change in CHANGES),
)
ONE_RUN_S = 75
"""About what a run takes beside others: later than this before the end, none is begun."""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    cut = commands.add_parser("prepare")
    cut.add_argument("--corpora", type=Path, required=True, help="folder with prose/train.{en,de,meta}.xz")
    cut.add_argument("--out", type=Path, required=True)
    cut.add_argument("--vocabulary", type=int, default=16000)
    for name in ("measure", "run"):
        command = commands.add_parser(name)
        command.add_argument("--data", type=Path, required=True, help="what `prepare` made")
        command.add_argument(
            "--base-steps", type=int, default=2000, help="of the base, of 16,384 target tokens"
        )
        command.add_argument("--steps", type=int, default=300, help="of each adaptation")
        command.add_argument("--tokens", type=int, default=8192, help="target tokens of a step of them")
        command.add_argument("--add", type=int, default=4000, help="pieces that the vocabulary gains")
        command.add_argument("--tiny", action="store_true", help="a tiny model, a few steps and lines")
        command.add_argument("--out", type=Path, default=Path("adapt_domain.json"))
        if name == "measure":
            command.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
            command.add_argument("--jobs", type=int, default=1, help="runs at a time")
            command.add_argument("--minutes", type=float, default=1e6)
        else:
            command.add_argument("--seed", type=int, required=True)
            command.add_argument("--arm", required=True)
            command.add_argument("--work", type=Path, required=True)
    args = parser.parse_args()
    {"prepare": prepare, "measure": measure, "run": run}[args.command](args)


def prepare(args):
    """Writes `domain` and `others`, train and dev, of both languages, and the vocabulary of the base."""
    from trimtab.config.tokenizer import SentencePieceTokenizer
    from trimtab.data.tokenizer import train_tokenizer

    args.out.mkdir(parents=True, exist_ok=True)
    for split in ("train", "dev"):
        rows = zip(
            *(lines(args.corpora / f"prose/{split}.{side}.xz") for side in ("en", "de", "meta")), strict=True
        )
        parts = {part: [] for part in PARTS}
        for one, other, meta in rows:
            parts["domain" if meta.startswith(DOMAIN) else "others"].append((one, other))
        for name, pairs in parts.items():
            for number, side in enumerate(("en", "de")):
                text = "".join(pair[number] + "\n" for pair in pairs)
                (args.out / f"{name}.{split}.{side}.xz").write_bytes(lzma.compress(text.encode(), preset=9))
            print(f"{name} {split}: {len(pairs):,} pairs")
    text = [line for side in ("en", "de") for line in lines(args.out / f"others.train.{side}.xz")]
    config = SentencePieceTokenizer(vocabulary_size=args.vocabulary)
    train_tokenizer(config, lines=text, symbols=(), out=args.out / "tok")


def lines(path):
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def measure(args):
    """Every seed that is not there yet, side by side; then the seconds."""
    begun = time.perf_counter()
    record = resumed(args)
    with tempfile.TemporaryDirectory() as folder:
        jobs = Jobs(args, record, Path(folder), ends=begun + 60 * args.minutes)
        with ThreadPoolExecutor(len(args.seeds) * (len(ADAPTED) + len(CHANGES))) as pool:
            for base in [
                pool.submit(jobs.seed, seed, pool)
                for seed in args.seeds
                if not complete(record.arms.get(f"seed {seed}", {}))
            ]:
                base.result()
        if jobs.seconds_left() > 0:
            record.result["translating"] = timed(
                args, Path(folder) / f"seed {args.seeds[0]}"
            ) or record.result.get("translating", {})
    record.result["compared"] = compared(record.arms)
    record.write()
    print(json.dumps(record.result["compared"], indent=1), flush=True)
    for seed in args.seeds:
        if not complete(record.arms.get(f"seed {seed}", {})):
            sys.exit(f"seed {seed} is not complete; the same command continues where {args.out} lies")


def resumed(args):
    """The record, with what an earlier call found under the same settings."""
    settings = {each: getattr(args, each) for each in SETTINGS}
    record = Record(
        args.out, question="adaptation to a domain: LoRA against all weights", rank=RANK, settings=settings
    )
    if args.out.is_file():
        before = json.loads(args.out.read_text(encoding="utf-8"))
        if before.get("settings") != settings:
            sys.exit(
                f"{args.out}: measured with {before.get('settings')}, not {settings}; give another --out"
            )
        record.result["arms"] = before["arms"]
        record.result["translating"] = before.get("translating", {})
    return record


def expected():
    """The arms of a seed."""
    return ("base", *ADAPTED, *CHANGES, *(f"{change}, then all weights" for change in CHANGES))


def complete(arms):
    return all(name in arms for name in expected())


class Jobs:
    """Processes of one run each, at most `--jobs` at a time."""

    def __init__(self, args, record, folder, *, ends):
        self.args, self.record, self.folder, self.ends = args, record, folder, ends
        self.slots, self.writing = threading.Semaphore(args.jobs), threading.Lock()

    def seconds_left(self):
        return self.ends - time.perf_counter()

    def seed(self, seed, pool):
        """The base, and then what begins from it."""
        self.record.arms[f"seed {seed}"] = {}
        if self.one(seed, "base"):
            [*pool.map(lambda arm: self.one(seed, arm), (*CHANGES, *ADAPTED))]

    def one(self, seed, arm):
        """Runs it, and puts what it found into the record; whether there is anything."""
        with self.slots:
            if self.seconds_left() < (0 if self.args.tiny else ONE_RUN_S):
                return False
            return self.took(seed, arm, *self.process(seed, arm))

    def process(self, seed, arm):
        """What it wrote, and the last line that it printed."""
        work = self.folder / f"seed {seed}"
        work.mkdir(exist_ok=True)
        found = work / f"{arm}.json"
        options = [
            f"--{each.replace('_', '-')}={getattr(self.args, each)}" for each in SETTINGS if each != "tiny"
        ]
        command = [sys.executable, __file__, "run", "--data", str(self.args.data), *options]
        command += ["--seed", str(seed), "--arm", arm, "--work", str(work), "--out", str(found)]
        command += ["--tiny"] if self.args.tiny else []
        # A process takes a thread for each core, which all processes would do at once.
        environment = {"OMP_NUM_THREADS": "2", **os.environ}
        read = {"text": True, "encoding": "utf-8", "errors": "replace", "env": environment}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **read)
        killer = threading.Timer(max(1.0, self.seconds_left()), process.kill)
        killer.start()
        last = ""
        for line in process.stdout:
            last = line.strip() or last
            print(f"seed {seed}, {arm}: {line}", end="", flush=True)
        process.wait()
        killer.cancel()
        return (json.loads(found.read_text(encoding="utf-8")) if found.is_file() else {}), last

    def took(self, seed, arm, arms, last):
        with self.writing:
            self.record.arms[f"seed {seed}"].update(arms)
            if not arms:
                self.record.result["failed"].append({"seed": seed, "arm": arm, "error": last[:1000]})
            self.record.result["compared"] = compared(self.record.arms)
            self.record.write()
        return bool(arms)


def compared(seeds):
    """Of each arm the differences from its base, in points and nats: their mean over complete seeds, each, and a 95%
    interval where there are several; and all weights against LoRA, each with the rate that learned most."""
    seeds = {name: seeds[name] for name in sorted(seeds) if complete(seeds[name])}
    if not seeds:
        return {}
    gains = {
        arm: [from_base(arms[arm]["scores"], arms["base"]["scores"]) for arms in seeds.values()]
        for arm in expected()[1:]
    }
    learned = {arm: statistics.fmean(each["domain chrf"] for each in found) for arm, found in gains.items()}
    full, lora = (
        max((arm for arm in ADAPTED if arm.startswith(kind)), key=learned.get) for kind in ("full", "lora")
    )
    pairs = [
        {key: one[key] - other[key] for key in one}
        for one, other in zip(gains[full], gains[lora], strict=True)
    ]
    return {
        "seeds": list(seeds),
        "from the base": {arm: over_seeds(found) for arm, found in gains.items()},
        "all weights minus LoRA": {"full": full, "lora": lora, **over_seeds(pairs)},
    }


def over_seeds(found):
    """Mean, each, and the interval, of each measure that every seed has."""
    from trimtab.lab.statistics import paired

    told = {}
    for key in found[0]:
        each = [seed[key] for seed in found]
        told[key] = {"mean": round(statistics.fmean(each), 3), "each": [round(one, 3) for one in each]}
        if len(each) > 1:
            interval = paired(each)
            told[key]["interval"] = [round(interval.low, 3), round(interval.high, 3)]
    return told


def from_base(scores, base):
    """Differences of scores from those of the base, and the share of its size."""
    found = {
        f"{part} {metric}": scores[part][metric] - base[part][metric]
        for part in PARTS
        for metric in ("bleu", "chrf", "loss")
        if None not in (scores[part][metric], base[part][metric])
    }
    return found | {"share of its parameters": scores["parameters"] / base["parameters"]}


def run(args):
    """One run of one seed, in this process; writes its arms to `--out`."""
    work = Work(args, args.work)
    if args.arm == "base":
        found = {"base": work.base()}
    elif args.arm in CHANGES:
        found = {
            args.arm: work.changed(args.arm),
            f"{args.arm}, then all weights": work.adapted("full", CHANGED_RATE, base=args.arm),
        }
    else:
        kind, _, rate = args.arm.partition(", learning rate ")
        found = {args.arm: work.adapted(kind, float(rate))}
    args.out.write_text(json.dumps(found), encoding="utf-8")


class Work:
    """The runs of one seed."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder

    def recipe(self, **changes):
        """What all runs have in common."""

        def pair(part, split):
            return {"source": f"{part}.{split}.en.xz", "target": f"{part}.{split}.de.xz"}

        return {
            "task": "translation",
            "data": {
                "root": str(self.args.data.absolute()),
                "train": [pair(changes.pop("part"), "train")],
                "valid": {part: pair(part, "dev") for part in PARTS},
                "max_tokens": 128,
            },
            "loss": {"kind": "cross_entropy", "label_smoothing": 0.1},
            "step": {
                "tokens_per_step": changes.pop("tokens"),
                "optimizer": {"kind": "adamw", "learning_rate": changes.pop("rate"), "betas": [0.9, 0.98]},
                "schedule": {"kind": "linear_warmup", "warmup": f"{changes.pop('warmup')} steps"},
                "clip": {"kind": "global_norm", "at": 1.0},
            },
            "evaluate": {"every": "1000000 steps"},
            "checkpoint": {"every": "1000000 steps", "keep": 1},
            "seed": self.args.seed,
            **changes,
        }

    def base(self):
        """Trained on everything else."""
        tiny, steps = self.args.tiny, self.args.base_steps
        tree = self.recipe(
            part="others",
            tokens=512 if tiny else 16384,
            rate=1e-3,
            warmup=max(1, steps * 3 // 10),
            model={"kind": "encoder_decoder", "preset": "tiny" if tiny else "base", "dropout": 0.1},
            length=f"{steps} steps",
        )
        tree["data"]["tokenizer"] = {"kind": "sentencepiece", "path": str(self.args.data.absolute() / "tok")}
        return self.trained("base", tree)

    def changed(self, change):
        """The base with another vocabulary, untrained."""
        from trimtab.vocabulary.surgery import extend_vocabulary, trim_vocabulary

        texts = [self.folder / f"{change} domain.{side}" for side in ("en", "de")]
        for path, side in zip(texts, ("en", "de"), strict=True):
            kept = lines(self.args.data / f"domain.train.{side}.xz")
            path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        base, out = f"{self.folder / 'base'}@last", self.folder / change
        begun = time.perf_counter()
        if change == "trimmed":
            report = trim_vocabulary(base, keep_text=texts, out=out)
        else:
            report = extend_vocabulary(base, text=texts, add=self.args.add, out=out)
        told = report.to_dict()
        return {
            "surgery_seconds": round(time.perf_counter() - begun, 1),
            "vocabularies": told["vocabularies"],
            "corpora": [each | {"name": Path(each["name"]).name} for each in told["corpora"]],
            "scores": self.scores(out),
        }

    def adapted(self, kind, rate, base="base"):
        """Begun from the base, or from one with another vocabulary, and trained on the domain alone."""
        steps = self.args.steps
        tree = self.recipe(
            part="domain",
            tokens=512 if self.args.tiny else self.args.tokens,
            rate=rate,
            warmup=max(1, steps // 10),
            model={"kind": "encoder_decoder", "warm_start": f"{self.folder / base}@last", "dropout": 0.1},
            length=f"{steps} steps",
        )
        if kind == "lora":
            tree["adapter"] = {"kind": "lora", "rank": RANK}
        return self.trained(run_of(kind, rate, base), tree)

    def trained(self, name, tree):
        """Memory and scores of a run."""
        import torch
        from timed_run import unchecked

        from trimtab.config.load import load_recipe
        from trimtab.launch import train

        begun = time.perf_counter()
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps(tree), encoding="utf-8")
        with unchecked():
            run = train(load_recipe(path), out=self.folder / name, progress=PlainProgress())
        found = {
            "steps": run.state.step,
            "tokens": run.state.tokens,
            "training_seconds_beside_others": round(run.state.seconds, 1),
            "scores": self.scores(run.run),
        }
        if torch.cuda.is_available():
            found["peak_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
        return found | {"seconds_in_all_beside_others": round(time.perf_counter() - begun, 1)}

    def scores(self, run):
        """Loss, BLEU and chrF of both dev sets."""
        from trimtab.checkpoint.journal import read_journal
        from trimtab.checkpoint.run_folder import RunFolder
        from trimtab.metrics.bleu import bleu
        from trimtab.metrics.chrf import chrf

        path = RunFolder(run).evaluations
        evaluations = [*read_journal(path)] if path.is_file() else []
        loaded, translator = opened(run)
        found = {"parameters": loaded.model.num_parameters(), "pieces": loaded.tokenizer.num_ids}
        for part in PARTS:
            source, reference = held_out(self.args, part)
            output = [*translator.translate(source)]
            loss = next((each["loss"] for each in reversed(evaluations) if each["set"] == part), None)
            found[part] = {
                "target_tokens": sum(map(len, loaded.tokenizer.encode(output))),
                "bleu": round(bleu(output, reference).value, 2),
                "chrf": round(chrf(output, reference).value, 2),
                "loss": None if loss is None else round(loss, 4),
                "lines": len(source),
            }
        return found


def run_of(kind, rate, base="base"):
    """The folder of an adaptation."""
    return f"{kind}-{rate:g}-{base}"


def opened(run):
    from trimtab.decode.search import Search
    from trimtab.inference import load_model

    loaded = load_model(f"{run}@last")
    return loaded, loaded.translator(search=Search(beam=BEAM))


def held_out(args, part):
    """Source and reference; of a tiny trial a few lines."""
    return [lines(args.data / f"{part}.dev.{side}.xz")[: 4 if args.tiny else None] for side in ("en", "de")]


def timed(args, folder):
    """Seconds of translating the domain's dev set with each model, in one process, with nothing beside it: the median
    of three times, after one that compiles."""
    places = {"base": "base"} | {
        f"{change}, then all weights": run_of("full", CHANGED_RATE, change) for change in CHANGES
    }
    for arm in TIMED:
        kind, _, rate = arm.partition(", learning rate ")
        places.setdefault(arm, run_of(kind, float(rate or 0)))
    found = {}
    source, _ = held_out(args, "domain")
    for arm, place in places.items():
        if (folder / place).is_dir():
            loaded, translator = opened(folder / place)
            times = []
            for _ in range(4):
                begun = time.perf_counter()
                output = [*translator.translate(source)]
                times.append(time.perf_counter() - begun)
            found[arm] = {
                "seconds": round(statistics.median(times[1:]), 3),
                "each": [round(each, 3) for each in times[1:]],
                "target_tokens": sum(map(len, loaded.tokenizer.encode(output))),
            }
            print(arm, found[arm], flush=True)
    return found


if __name__ == "__main__":
    main()
