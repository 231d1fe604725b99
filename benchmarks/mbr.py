"""Beam search, MBR and reranking of one run on the same lines: BLEU, chrF and time.

    python benchmarks/mbr.py --run runs/en_de --source dev.en.xz --reference dev.de.xz --out result.json
        [--reverse runs/de_en] [--lm runs/lm_de] [--lines 1813] [--device cpu] [--arms beam_4,mbr_chrf_32]

Runs unattended; each arm is written as soon as it is there. `seconds` is the time to translate all lines after a few to
warm up, with the choice among the candidates; `choosing_seconds` is that choice alone. Every arm is tested against
`beam_4` by paired bootstrap resampling and approximate randomization. Weights of the reranking are chosen on the first
half of the lines by chrF, and its scores and those of `beam_4` beside them are of the second half.
"""

import argparse
import itertools
import lzma
import time
from pathlib import Path

import numpy as np
from record import Record
from sacrebleu.metrics.bleu import BLEU as SacreBleu
from sacrebleu.metrics.chrf import CHRF as SacreChrf

from trimtab.decode.mbr import Mbr, most_useful
from trimtab.decode.sampling import Sampling
from trimtab.decode.search import Search
from trimtab.decode.utilities import pairwise_bleu, pairwise_chrf
from trimtab.evaluation.pairs import score_pairs
from trimtab.evaluation.reranking import text_log_probabilities
from trimtab.evaluation.significance import paired_tests
from trimtab.inference import load_model, load_translator
from trimtab.metrics.bleu import BLEU, bleu
from trimtab.metrics.chrf import CHRF, chrf
from trimtab.metrics.metric import MetricSettings

QUESTION = "Do MBR decoding and reranking give better translations than beam search, and at what price?"
WARM_UP = 32
MOST = 64
SIZES = (8, 16, 32, 64)
GRID = {"reverse": (0.0, 0.25, 0.5, 1.0), "lm": (0.0, 0.1, 0.25), "length": (0.0, 0.5)}


def main():
    args = arguments()
    record = Record(
        args.out,
        question=QUESTION,
        device=args.device,
        run=Path(args.run).name,
        source=Path(args.source).name,
    )
    sources, references = (read(path)[: args.lines] for path in (args.source, args.reference))
    record.result["lines"] = len(sources)
    bench = Bench(args, sources, references)
    for name, work in bench.arms().items():
        if args.arms is None or name in args.arms.split(",") or name == "beam_4":
            record.arm(name, work)
    record.write()


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--reverse", help="a run that translates back")
    parser.add_argument("--lm", help="a language model of the target language")
    parser.add_argument("--lines", type=int, help="the first so many")
    parser.add_argument("--device", help="cpu or cuda")
    parser.add_argument("--arms", help="some of them, with commas")
    parser.add_argument(
        "--resamples", type=int, default=1000, help="and ten times as many randomization trials"
    )
    return parser.parse_args()


def read(path):
    opened = lzma.open if path.endswith(".xz") else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\r\n") for line in file]


class Bench:
    """Everything that arms share: the lines, the baseline's output, the samples."""

    def __init__(self, args, sources, references):
        self.args, self.sources, self.references = args, sources, references
        self.baseline = None
        self.lists = {}

    def arms(self):
        drawn = Sampling(epsilon=0.02)
        arms = {
            "beam_4": lambda: self.search(Search(beam=4)),
            "beam_8": lambda: self.search(Search(beam=8)),
            "sample_epsilon": lambda: self.search(Search(sampling=drawn)),
        }
        for size in SIZES:
            arms[f"mbr_chrf_{size}"] = lambda size=size: self.mbr("chrf", size, drawn)
        arms["mbr_bleu_32"] = lambda: self.mbr("bleu", 32, drawn)
        arms["mbr_chrf_32_ancestral"] = lambda: self.mbr("chrf", 32, Sampling())
        arms["mbr_chrf_32_beam"] = lambda: self.mbr("chrf", 32, None)
        arms["utilities"] = self.utilities
        if self.args.reverse or self.args.lm:
            arms["rerank_16"] = self.rerank
        return arms

    def translator(self, search):
        translator = load_translator(self.args.run, search=search, device=self.args.device)
        translator.translate(self.sources[:WARM_UP])
        return translator

    def search(self, search):
        translator = self.translator(search)
        begun = time.perf_counter()
        outputs = translator.translate(self.sources)
        seconds = time.perf_counter() - begun
        if self.baseline is None:
            self.baseline = outputs
        return self.scored(outputs, seconds=seconds)

    def mbr(self, utility, size, sampling):
        """The candidates are kept apart, so that their choice has a time of its own."""
        search = Search(beam=4 if sampling is not None else size, sampling=sampling)
        translator = self.translator(search)
        begun = time.perf_counter()
        lists = translator.n_best(self.sources, n=size)
        translated = time.perf_counter()
        outputs = [most_useful(few, Mbr(utility=utility, candidates=size))[0].text for few in lists]
        ended = time.perf_counter()
        distinct = np.mean([len({each.text for each in few}) for few in lists])
        return self.scored(outputs, seconds=ended - begun, choosing=ended - translated, distinct=distinct)

    def scored(self, outputs, *, seconds, choosing=None, distinct=None, half=slice(None), baseline=None):
        references = self.references[half]
        found = {
            "bleu": round(bleu(outputs, references).value, 2),
            "chrf": round(chrf(outputs, references).value, 2),
            "seconds": round(seconds, 2),
            "lines_per_second": round(len(outputs) / seconds, 1),
        }
        if choosing is not None:
            found["choosing_seconds"] = round(choosing, 2)
        if distinct is not None:
            found["distinct_candidates"] = round(float(distinct), 1)
        before = self.baseline if baseline is None else baseline
        if before is not None and before is not outputs:
            tests = paired_tests(
                {"": outputs},
                baseline=before,
                references=references,
                metrics=(BLEU, CHRF),
                settings=MetricSettings(),
                samples=(self.args.resamples, 10 * self.args.resamples),
            )
            found["against_beam_4"] = {
                test.metric: {
                    "difference": round(test.difference, 2),
                    "bootstrap_p": round(test.bootstrap_p, 4),
                    "randomization_p": round(test.randomization_p, 4),
                    "conclusion": test.conclusion,
                }
                for test in tests[""]
            }
        return found

    def utilities(self):
        """Milliseconds to compare all candidates of a line, beside sacreBLEU's sentence scores, on a few lines."""
        lists = self.translator(Search(sampling=Sampling(epsilon=0.02))).n_best(self.sources[:20], n=32)
        texts = [list(dict.fromkeys(each.text for each in few)) for few in lists]
        found = {
            "candidates": 32,
            "distinct_candidates": round(float(np.mean([len(few) for few in texts])), 1),
        }
        twins = {
            "chrf": (pairwise_chrf, SacreChrf()),
            "bleu": (pairwise_bleu, SacreBleu(effective_order=True)),
        }
        for name, (fast, twin) in twins.items():
            fast(texts[0])
            begun = time.perf_counter()
            own = [fast(few) for few in texts]
            between = time.perf_counter()
            other = [
                np.array([[twin.sentence_score(one, [ref]).score for ref in few] for one in few])
                for few in texts[:5]
            ]
            ended = time.perf_counter()
            found[f"{name}_ms"] = round(1000 * (between - begun) / len(texts), 2)
            found[f"{name}_sacrebleu_ms"] = round(1000 * (ended - between) / len(other), 2)
            pairs = zip(own, other, strict=False)
            found[f"{name}_largest_difference"] = max(float(abs(a - b).max(initial=0)) for a, b in pairs)
        return found

    def rerank(self):
        """Weights from the first half, scores of the second."""
        translator = self.translator(Search(beam=16))
        begun = time.perf_counter()
        lists = translator.n_best(self.sources, n=16)
        between = time.perf_counter()
        features = self.features(lists)
        seconds = time.perf_counter() - begun
        middle = len(lists) // 2
        first, second = range(middle), range(middle, len(lists))
        scores = {
            weights: chrf(chosen(lists, features, weights, first), self.references[:middle]).value
            for weights in itertools.product(*(GRID[name] for name in features))
        }
        best = max(scores, key=scores.get)
        half = slice(middle, None)
        found = self.scored(
            chosen(lists, features, best, second),
            seconds=seconds,
            choosing=seconds - (between - begun),
            half=half,
            baseline=self.baseline[half],
        )
        found["lines_per_second"] = round(len(lists) / seconds, 1)
        found["weights"] = dict(zip(features, best, strict=True))
        found["beam_4_of_these_lines"] = {
            "bleu": round(bleu(self.baseline[half], self.references[half]).value, 2),
            "chrf": round(chrf(self.baseline[half], self.references[half]).value, 2),
        }
        return found

    def features(self, lists):
        texts = [each.text for few in lists for each in few]
        given = [source for source, few in zip(self.sources, lists, strict=True) for _ in few]
        features = {}
        if self.args.reverse:
            model = load_model(self.args.reverse, device=self.args.device)
            per_token = [pair.per_token for pair in score_pairs(model, texts, given)]
            features["reverse"] = np.array([-99.0 if each is None else each for each in per_token])
        if self.args.lm:
            model = load_model(self.args.lm, device=self.args.device)
            features["lm"] = text_log_probabilities(model, texts)
        lengths = [np.array([each.num_tokens for each in few], float) for few in lists]
        features["length"] = np.concatenate([each / max(1.0, each.mean()) for each in lengths])
        return features


def chosen(lists, features, weights, numbers):
    """The best candidate of each of these lines."""
    bounds = np.cumsum([0, *map(len, lists)])
    own = np.array([each.score for few in lists for each in few])
    total = own + sum(weight * column for weight, column in zip(weights, features.values(), strict=True))
    return [
        lists[number][int(total[bounds[number] : bounds[number + 1]].argmax())].text for number in numbers
    ]


if __name__ == "__main__":
    main()
