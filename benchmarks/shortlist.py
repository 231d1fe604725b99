"""Translation on a CPU with shortlists of several sizes and without: speed, BLEU, chrF, and how many lines differ.

    python benchmarks/shortlist.py --run runs/en_de --source dev.en.xz --reference dev.de.xz --out result.json
        [--best 25,50,100,200] [--first 1000] [--pairs 200000] [--beams 4,1] [--batch-tokens 2048,512] [--threads 2]

Runs unattended; each arm is written as soon as it is there. The shortlists are made from the run's training pairs, or
from those of --pairs-source and --pairs-target where the run has moved. Each arm translates all lines `--times` times
after a few to warm up and keeps the fastest. `none` is measured at the beginning and at the end of each setting.
`--batch-tokens` are source tokens of a batch, times the beam: large batches have large shortlists.
"""

import argparse
import lzma
import tempfile
import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import torch
from record import Record

from trimtab.decode.search import Search
from trimtab.decode.shortlist import Shortlist
from trimtab.inference import load_translator
from trimtab.metrics.bleu import bleu
from trimtab.metrics.chrf import chrf
from trimtab.shortlisting import build_shortlist

QUESTION = "How much faster is translation on a CPU with a shortlist, and what does it cost in quality?"
WARM_UP = 32


def main():
    args = arguments()
    if args.threads:
        torch.set_num_threads(args.threads)
    record = Record(
        args.out, question=QUESTION, device="cpu", run=Path(args.run).name, source=Path(args.source).name
    )
    sources, references = (read(path)[: args.lines] for path in (args.source, args.reference))
    record.result |= {"lines": len(sources), "threads": torch.get_num_threads(), "times": args.times}
    with tempfile.TemporaryDirectory() as folder:
        files = made(args, Path(folder), record)
        for beam, tokens in ((beam, tokens) for beam in args.beams for tokens in args.batch_tokens):
            bench = Bench(args, sources, references, beam=beam, tokens=tokens)
            name = f"beam_{beam}_tokens_{tokens}"
            record.arm(f"{name}_none", bench.measure)
            for best, file in files.items():
                record.arm(f"{name}_best_{best}", lambda bench=bench, file=file: bench.measure(file))
            record.arm(f"{name}_none_again", bench.measure)
    record.write()


def arguments():
    def numbers(text):
        return [int(each) for each in text.split(",")]

    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--best", type=numbers, default=[25, 50, 100, 200])
    parser.add_argument("--first", type=int)
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--pairs-source")
    parser.add_argument("--pairs-target")
    parser.add_argument("--beams", type=numbers, default=[4, 1])
    parser.add_argument("--batch-tokens", type=numbers, default=[2048, 512])
    parser.add_argument("--threads", type=int)
    parser.add_argument("--lines", type=int, help="the first so many")
    parser.add_argument("--times", type=int, default=1)
    return parser.parse_args()


def read(path):
    opened = lzma.open if path.endswith(".xz") else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\r\n") for line in file]


def made(args, folder, record):
    """A shortlist of each size."""
    files = {}
    for best in args.best:
        file = folder / f"best_{best}.shortlist"
        report = build_shortlist(
            args.run,
            out=file,
            first=args.first,
            best=best,
            pairs=args.pairs,
            source=args.pairs_source,
            target=args.pairs_target,
        )
        told = {name: value for name, value in report.to_dict().items() if name != "file"}
        record.arm(f"made_best_{best}", lambda told=told: told)
        files[best] = file
    return files


class Bench:
    """One beam and size of batches."""

    def __init__(self, args, sources, references, *, beam, tokens):
        self.sources, self.references, self.times = sources, references, args.times
        translator = load_translator(args.run, search=Search(beam=beam), device="cpu")
        self.translator = replace(translator, setup=replace(translator.setup, batch_tokens=tokens * beam))
        self.plain = None
        self.usual = None

    def measure(self, file=None):
        translator = self.translator if file is None else self.translator.with_shortlist(file)
        counted = None
        if file is not None:
            counted = CountedShortlist.of(translator.setup.shortlist)
            translator = replace(translator, setup=replace(translator.setup, shortlist=counted))
        translator.translate(self.sources[:WARM_UP])
        seconds = []
        for _ in range(self.times):
            begun = time.perf_counter()
            outputs = translator.translate(self.sources)
            seconds.append(time.perf_counter() - begun)
        self.plain = self.plain or outputs
        self.usual = self.usual or min(seconds)
        same = np.mean([one == other for one, other in zip(outputs, self.plain, strict=True)])
        return {
            "seconds_of_each": [round(each, 2) for each in seconds],
            "lines_per_second": round(len(outputs) / min(seconds), 2),
            "times_as_fast": round(self.usual / min(seconds), 2),
            "bleu": round(bleu(outputs, self.references).value, 2),
            "chrf": round(chrf(outputs, self.references).value, 2),
            "same_lines": round(float(same), 4),
            "ids_of_a_batch": None if counted is None else round(float(np.mean(counted.sizes))),
            "vocabulary": translator.setup.tokenizer.num_ids,
        }


class CountedShortlist(Shortlist):
    """Notes how large the shortlists of batches are."""

    @classmethod
    def of(cls, shortlist):
        made = cls(**{field.name: getattr(shortlist, field.name) for field in fields(Shortlist)})
        object.__setattr__(made, "sizes", [])
        return made

    def ids(self, sources):
        found = Shortlist.ids(self, sources)
        self.sizes.append(len(found))
        return found


if __name__ == "__main__":
    main()
