"""Is it lossless to cut a trained vocabulary down to the pieces in use, and are the usual mistakes seen?

    pip install ".[train]"
    python experiments/vocabulary_trimming.py

A small translator with one tied matrix for source, target and output, and a bias on the logits, learns words of the
demo's sample for a moment. Then its vocabulary is trimmed: rows and biases of the kept words are copied, ids counted
anew. On sentences that need no dropped word the logits of kept words must be the same. Six mistakes are then made on
purpose, one at a time, and `faults` has to see each. What leaves the softmax changes the loss, for the better, and is
measured too.
"""

import copy
import lzma
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import torch
import torch.nn.functional as F
from experiment import Claim, Experiment, Numbers, main
from torch import Tensor

from trimtab.config.model import EncoderDecoderModel
from trimtab.data.pack import assemble
from trimtab.data.shape import PackShape
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.types import PackedBatch, Ragged

SYMBOLS = {"end": "</s>", "unknown": "<unk>", "start": "<s>", "pad": "<pad>"}
PIECES, KEPT, PROBE, LONGEST = 800, 400, 64, 32
START_AND_PAD = 200
"""Where these two stand in the full vocabulary: not in front, so that trimming moves them."""
STEPS, QUICK_STEPS, BATCH = 100, 10, 32
CLOSE = 1e-5
SHAPE = PackShape(1, 4096, 4096, 256, LONGEST, LONGEST, fixed=False, sort=False)


@dataclass(frozen=True)
class Translator:
    """What a checkpoint folder holds: tokenizer, configuration, weights."""

    pieces: tuple[str, ...]
    """The tokenizer: the piece of each id."""
    ids: dict[str, int]
    """The configuration's ids of the special symbols, by role."""
    model: EncoderDecoder
    output: Tensor
    """The output matrix: the embedding itself where tied."""
    bias: Tensor

    def encode(self, words: Sequence[str]) -> list[int]:
        """Ids of words, end symbol included."""
        known = {piece: number for number, piece in enumerate(self.pieces)}
        return [known.get(word, self.ids["unknown"]) for word in words] + [self.ids["end"]]

    def pack(self, pairs: Sequence[tuple[list[str], list[str]]]) -> PackedBatch:
        """Sentences as the model takes them."""
        source, target = (Ragged.of([self.encode(pair[side]) for pair in pairs]) for side in (0, 1))
        return assemble(source, target, SHAPE, start_symbol=self.ids["start"], pad_symbol=self.ids["pad"])

    def logits(self, pack: PackedBatch) -> Tensor:
        """Of each target place, over the vocabulary."""
        return (self.model(pack) @ self.output.T)[:, : len(self.bias)] + self.bias


def trim(full: Translator, kept: Sequence[int]) -> Translator:
    """The same translator over these ids of it, in this order."""
    rows = torch.tensor(kept)
    model = EncoderDecoder(full.model.config, num_ids=len(kept), max_positions=LONGEST, seed=0)
    weights = {name: each for name, each in full.model.state_dict().items() if name != "embedding.weight"}
    model.load_state_dict(weights, strict=False)
    with torch.no_grad():
        model.embedding.weight[: len(kept)] = full.model.embedding.weight[rows]
    return Translator(
        pieces=tuple(full.pieces[number] for number in kept),
        ids={role: kept.index(number) for role, number in full.ids.items()},
        model=model.eval(),
        output=model.embedding.weight,
        bias=full.bias.detach()[rows],
    )


def faults(full: Translator, trimmed: Translator, pairs: Sequence[tuple[list[str], list[str]]]) -> list[str]:
    """What is wrong with a trimmed translator: nothing, or any of pieces, symbols, tie, logits."""
    found = []
    if len(trimmed.pieces) != len(trimmed.bias) or not set(trimmed.pieces) <= set(full.pieces):
        found.append("pieces")
    roles = {role: full.pieces[number] for role, number in full.ids.items()}
    if roles != {role: trimmed.pieces[number] for role, number in trimmed.ids.items()}:
        found.append("symbols")
    tied = [each.output.data_ptr() == each.model.embedding.weight.data_ptr() for each in (full, trimmed)]
    if tied[0] != tied[1]:
        found.append("tie")
    if largest_difference(full, trimmed, pairs) > CLOSE:
        found.append("logits")
    return found


@torch.no_grad()
def largest_difference(
    full: Translator, trimmed: Translator, pairs: Sequence[tuple[list[str], list[str]]]
) -> float:
    """Over all target places and kept pieces."""
    places = {piece: number for number, piece in enumerate(full.pieces)}
    kept = [places[piece] for piece in trimmed.pieces[: len(trimmed.bias)]]
    apart = full.logits(full.pack(pairs))[:, kept] - trimmed.logits(trimmed.pack(pairs))
    return apart.abs().max().item()


def rows_moved(trimmed: Translator, order: Sequence[int]) -> Translator:
    """With the rows and biases in another order, and nothing else."""
    model = copy.deepcopy(trimmed.model)
    rows = torch.tensor(order)
    with torch.no_grad():
        model.embedding.weight[: len(rows)] = trimmed.model.embedding.weight[rows]
    return replace(trimmed, model=model, output=model.embedding.weight, bias=trimmed.bias[rows])


def off_by_one(_: Translator, trimmed: Translator) -> Translator:
    """Each row after the first is its neighbour's."""
    size = len(trimmed.bias)
    return rows_moved(trimmed, [0, *range(size - 1)])


def special_ids_moved(_: Translator, trimmed: Translator) -> Translator:
    """The rows of end and unknown have changed places."""
    order = list(range(len(trimmed.bias)))
    end, unknown = trimmed.ids["end"], trimmed.ids["unknown"]
    order[end], order[unknown] = unknown, end
    return rows_moved(trimmed, order)


def dropped_piece(full: Translator, trimmed: Translator) -> str:
    """A word that trimming takes away."""
    return next(piece for piece in full.pieces if piece not in trimmed.pieces)


MISTAKES: dict[str, Callable[[Translator, Translator], Translator]] = {
    "bias not remapped": lambda full, good: replace(good, bias=full.bias.detach()[: len(good.bias)]),
    "decoder start id not remapped": lambda full, good: replace(
        good, ids=good.ids | {"start": full.ids["start"]}
    ),
    "tie broken": lambda _, good: replace(good, output=good.output.detach().clone()),
    "map off by one": off_by_one,
    "special ids moved": special_ids_moved,
    "tokenizer keeps a dropped piece": lambda full, good: replace(
        good, pieces=(*good.pieces, dropped_piece(full, good))
    ),
}


def measure(seed: int, quick: bool) -> Numbers:
    """Differences after a right trim and after each mistake, and what `faults` says."""
    torch.manual_seed(seed)
    pairs = sentences("train.tsv.xz", limit=4000)
    full = untrained(vocabulary(pairs), seed)
    learn(full, pairs, steps=QUICK_STEPS if quick else STEPS)
    kept, probe = chosen(full, pairs, seed)
    trimmed = trim(full, kept)
    found: Numbers = {
        "sentences": len(probe),
        "pieces": {"full": len(full.pieces), "kept": len(kept)},
        "parameters": {"full": full.model.num_parameters(), "trimmed": trimmed.model.num_parameters()},
        "loss": {"full": mean_loss(full, probe), "trimmed": mean_loss(trimmed, probe)},
        "right": {
            "largest difference": largest_difference(full, trimmed, probe),
            "faults": faults(full, trimmed, probe),
        },
    }
    for name, make in MISTAKES.items():
        wrong = make(full, trimmed)
        found[name] = {
            "largest difference": largest_difference(full, wrong, probe),
            "faults": faults(full, wrong, probe),
        }
    return found


def sentences(name: str, *, limit: int) -> list[tuple[list[str], list[str]]]:
    """Pairs of the demo's sample, as words."""
    packed = (files("trimtab.demo") / "data" / name).read_bytes()
    lines = lzma.decompress(packed).decode().splitlines()[:limit]
    sides = [[side.split() for side in line.split("\t")] for line in lines]
    return [(source, target) for source, target in sides if max(len(source), len(target)) < LONGEST]


def vocabulary(pairs: Sequence[tuple[list[str], list[str]]]) -> tuple[str, ...]:
    """The most frequent words of both languages, and the special symbols where START_AND_PAD says."""
    counts = Counter(word for pair in pairs for side in pair for word in side)
    words = [word for word, _ in counts.most_common(PIECES - len(SYMBOLS))]
    pieces = [SYMBOLS["end"], SYMBOLS["unknown"], *words]
    return (*pieces[:START_AND_PAD], SYMBOLS["start"], SYMBOLS["pad"], *pieces[START_AND_PAD:])


def untrained(pieces: tuple[str, ...], seed: int) -> Translator:
    """A translator of random weights."""
    config = EncoderDecoderModel(
        dim=64, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=128, dropout=0.0
    )
    model = EncoderDecoder(config, num_ids=len(pieces), max_positions=LONGEST, seed=seed)
    ids = {role: pieces.index(symbol) for role, symbol in SYMBOLS.items()}
    bias = torch.zeros(len(pieces), requires_grad=True)
    return Translator(pieces, ids, model, model.embedding.weight, bias)


def learn(translator: Translator, pairs: Sequence[tuple[list[str], list[str]]], *, steps: int) -> None:
    """A moment of training, so that rows and biases differ from one another."""
    optimizer = torch.optim.Adam([*translator.model.parameters(), translator.bias], lr=3e-3)
    for step in range(steps):
        start = step * BATCH % (len(pairs) - BATCH)
        pack = translator.pack(pairs[start : start + BATCH])
        optimizer.zero_grad()
        F.cross_entropy(translator.logits(pack), pack.labels).backward()
        optimizer.step()
    translator.model.eval()


def chosen(
    full: Translator, pairs: Sequence[tuple[list[str], list[str]]], seed: int
) -> tuple[list[int], list[tuple[list[str], list[str]]]]:
    """Ids that are kept, the special symbols and all pieces of sentences drawn by chance; and the first sentences."""
    draw = torch.Generator().manual_seed(seed)
    places = {piece: number for number, piece in enumerate(full.pieces)}
    kept, served = set(full.ids.values()), []
    for number in torch.randperm(len(pairs), generator=draw).tolist():
        wanted = kept | {places[word] for side in pairs[number] for word in side if word in places}
        if len(wanted) > KEPT:
            break
        kept = wanted
        served.append(pairs[number])
    return sorted(kept), served[:PROBE]


@torch.no_grad()
def mean_loss(translator: Translator, pairs: Sequence[tuple[list[str], list[str]]]) -> float:
    """Nats per target."""
    pack = translator.pack(pairs)
    return F.cross_entropy(translator.logits(pack), pack.labels).item()


def decide(result: Mapping[str, Any]) -> Sequence[Claim]:
    """Lossless when right, and every mistake seen for every seed."""
    seeds = list(result["seeds"].values())
    largest = max(seed["right"]["largest difference"] for seed in seeds)
    sizes = seeds[0]["pieces"]
    claims = [
        Claim(
            f"trimmed from {sizes['full']} to {sizes['kept']} pieces, logits of kept pieces differ by at most "
            f"{largest:.1e} and `faults` finds nothing",
            largest <= CLOSE and not any(seed["right"]["faults"] for seed in seeds),
        )
    ]
    for name in MISTAKES:
        seen = sorted({fault for seed in seeds for fault in seed[name]["faults"]})
        smallest = min(seed[name]["largest difference"] for seed in seeds)
        claims.append(
            Claim(
                f"{name}: seen by {', '.join(seen) or 'nothing'}; logits differ by at least {smallest:.1e}",
                all(seed[name]["faults"] for seed in seeds),
            )
        )
    silent = [name for name in MISTAKES if all("logits" not in seed[name]["faults"] for seed in seeds)]
    claims.append(
        Claim(
            f"comparing logits alone sees {len(MISTAKES) - len(silent)} of {len(MISTAKES)}; not: {', '.join(silent)}",
            silent == ["tie broken", "tokenizer keeps a dropped piece"],
        )
    )
    before, after = ([seed["loss"][which] for seed in seeds] for which in ("full", "trimmed"))
    claims.append(
        Claim(
            f"the loss of these sentences does not rise: {min(before):.3f}..{max(before):.3f} nats before, "
            f"{min(after):.3f}..{max(after):.3f} after",
            all(late <= early + CLOSE for early, late in zip(before, after, strict=True)),
        )
    )
    return claims


EXPERIMENT = Experiment(
    name="vocabulary_trimming",
    question="Is it lossless to cut a trained vocabulary down to the pieces in use, and are the usual mistakes seen?",
    arms=("right", *MISTAKES),
    measure=measure,
    measures="largest absolute difference of a kept piece's logit over the places of 64 sentences; faults found",
    expect="A right trim changes no logit of a kept piece by more than 1e-5. Each mistake is seen; a broken tie and a "
    "piece too many change no logit, so comparing logits is not enough. The loss falls a little, since dropped pieces "
    "no longer take part of the probability.",
    rule="right: difference at most 1e-5 and no fault for every seed; a mistake is seen if `faults` names anything for "
    "every seed",
    decide=decide,
    budget="1 minute, one CPU core",
    supports=("S0-41",),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
