"""Is accumulating means of micro-batches biased, and is the sum over tokens exact?

    pip install ".[train]"
    python experiments/accumulation_bias.py

A small translator works on the bytes of the demo's sample: targets of 4 to 256 bytes, drawn evenly from five buckets
of length. First the gradient of one step of sixteen pairs, cut into 1, 2, 4, 8 and 16 micro-batches: accumulated by
`trimtab.step` (every token weighs the same) and as a mean of the micro-batches' means, once with the pairs in the
order in which they came and once sorted by length. Then training on steps of eight pairs: whole, cut into 8 by tokens
(an A/A pair: it should be the same run up to rounding, and tells the noise), and cut into 8 by means. The held-out
loss is in nats per byte.
"""

import lzma
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from statistics import mean, stdev
from typing import Any

import numpy as np
import torch
from experiment import Claim, Experiment, Numbers, main

from trimtab.config.model import EncoderDecoderModel
from trimtab.config.optimizers import AdamW
from trimtab.data.pack import assemble
from trimtab.data.shape import PackShape
from trimtab.loss.chunked import chunked_cross_entropy
from trimtab.loss.terms import Terms
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.step.accumulate import accumulate
from trimtab.step.clip.global_norm import GlobalNormClip
from trimtab.step.loss_scale import LossScale
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.take_step import take_step
from trimtab.types import LossOutput, PackedBatch, Ragged

BUCKETS = ((4, 16), (16, 32), (32, 64), (64, 128), (128, 257))
"""Target lengths in bytes, end symbol included; the first belongs to the bucket, the second not."""
CUTS, QUICK_CUTS = (1, 2, 4, 8, 16), (1, 16)
ARMS = ("whole", "token sum, 8", "mean of means, 8")
PAIRS, TRAIN_PAIRS, STEPS, QUICK_STEPS = 16, 8, 500, 3
WARMUP, RATE = 50, 2e-3
LONGEST = 320
NUM_IDS, PAD, START, END = 260, 256, 257, 258
SHAPE = PackShape(1, 65536, 65536, 4096, LONGEST, LONGEST, fixed=False, sort=False)
HELDOUT_LINES, HELDOUT_PAIRS = 3000, 48
"""Lines of the sample that are not trained on, and pairs of each bucket that are scored."""
Objective = Callable[[PackedBatch], LossOutput]
Pairs = list[tuple[bytes, bytes]]


def measure(seed: int, quick: bool) -> Numbers:
    """Gradients of one step in every cut, weights of tokens, and held-out losses after training."""
    pairs = sample(seed)
    train, heldout = by_bucket(pairs[HELDOUT_LINES:]), by_bucket(pairs[:HELDOUT_LINES])
    step = drawn(train, np.random.default_rng(seed), PAIRS)
    found: Numbers = {
        "gradient": gradients(step, seed, QUICK_CUTS if quick else CUTS),
        "token weight": token_weights(step),
    }
    steps = QUICK_STEPS if quick else STEPS
    found["held-out loss"] = {arm: trained(arm, train, heldout, seed=seed, steps=steps) for arm in ARMS}
    found["steps"] = steps
    return found


def sample(seed: int) -> Pairs:
    """The demo's training sample, in an order of the seed's own."""
    packed = (files("trimtab.demo") / "data" / "train.tsv.xz").read_bytes()
    rows = [line.split("\t") for line in lzma.decompress(packed).decode().splitlines()]
    order = np.random.default_rng(seed).permutation(len(rows))
    return [(rows[number][0].encode(), rows[number][1].encode()) for number in order]


def by_bucket(pairs: Pairs) -> list[Pairs]:
    """Pairs by the length of their target; neighbours are joined too, since few are long enough for the last bucket."""
    joined = [(s + b" " + u, t + b" " + v) for (s, t), (u, v) in zip(pairs[::2], pairs[1::2], strict=False)]
    fits = [pair for pair in [*pairs, *joined] if len(pair[0]) < LONGEST]
    return [[pair for pair in fits if low <= len(pair[1]) + 1 < high] for low, high in BUCKETS]


def drawn(buckets: Sequence[Pairs], draw: np.random.Generator, count: int) -> Pairs:
    """So many pairs, each from a bucket drawn at random; the same generator gives the same ones."""
    picks = draw.integers(len(buckets), size=count)
    return [buckets[pick][draw.integers(len(buckets[pick]))] for pick in picks]


def cut(pairs: Pairs, ways: int) -> list[PackedBatch]:
    """Micro-batches of equally many pairs."""
    size = len(pairs) // ways
    return [pack(pairs[start : start + size]) for start in range(0, len(pairs), size)]


def pack(pairs: Pairs) -> PackedBatch:
    """Bytes as ids, each side closed by the end symbol."""
    source, target = (Ragged.of([[*pair[side], END] for pair in pairs]) for side in (0, 1))
    return assemble(source, target, SHAPE, start_symbol=START, pad_symbol=PAD)


def translator(seed: int) -> tuple[EncoderDecoder, Objective]:
    """A model of one small layer a side, and its summed cross-entropy."""
    config = EncoderDecoderModel(
        dim=64, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=128, dropout=0.0
    )
    model = EncoderDecoder(config, num_ids=NUM_IDS, max_positions=LONGEST, seed=seed)

    def objective(part: PackedBatch) -> LossOutput:
        hidden = model(part)
        return chunked_cross_entropy(
            hidden, model.output_matrix, part.labels, Terms(NUM_IDS), chunk_bytes=2**22
        )

    return model, objective


def mean_of_means(objective: Objective, packs: Sequence[PackedBatch]) -> Objective:
    """The loss that makes `accumulate` average the micro-batches' own means: each pack's sum, weighed by
    (targets of the step / number of packs) / (targets of the pack)."""
    total = sum(part.num_targets for part in packs)

    def weighed(part: PackedBatch) -> LossOutput:
        output = objective(part)
        return replace(output, objective=output.objective * (total / len(packs) / part.num_targets))

    return weighed


def gradients(pairs: Pairs, seed: int, cuts: Sequence[int]) -> Numbers:
    """Relative error and cosine of every way to accumulate, against the step in one piece."""
    model, objective = translator(seed)
    orders = {"as they came": pairs, "sorted by length": sorted(pairs, key=lambda pair: len(pair[1]))}
    whole = gradient(model, objective, cut(pairs, 1))
    found: Numbers = {}
    for order, arranged in orders.items():
        for ways in cuts:
            packs = cut(arranged, ways)
            for name, how in (
                ("token sum", objective),
                ("mean of means", mean_of_means(objective, packs)),
            ):
                found[f"{name}, {ways}, {order}"] = compared(gradient(model, how, packs), whole)
    return found


def gradient(model: EncoderDecoder, objective: Objective, packs: Sequence[PackedBatch]) -> torch.Tensor:
    """All of it as one vector in float64."""
    model.zero_grad()
    accumulate(objective, packs)
    return torch.cat([p.grad.double().flatten() for p in model.parameters() if p.grad is not None])


def compared(one: torch.Tensor, other: torch.Tensor) -> Numbers:
    """Of a gradient with the exact one."""
    return {
        "relative error": ((one - other).norm() / other.norm()).item(),
        "cosine": torch.cosine_similarity(one, other, dim=0).item(),
    }


def token_weights(pairs: Pairs) -> Numbers:
    """What a token of each bucket weighs in a mean of 16 means, where 1 is a token of the whole step."""
    packs = cut(pairs, PAIRS)
    total = sum(part.num_targets for part in packs)
    found = {}
    for low, high in BUCKETS:
        inside = [part.num_targets for part in packs if low <= part.num_targets < high]
        if inside:
            found[bucket_name(low, high)] = mean(total / len(packs) / each for each in inside)
    return found


def trained(
    arm: str, train: Sequence[Pairs], heldout: Sequence[Pairs], *, seed: int, steps: int
) -> dict[str, float]:
    """Held-out loss by bucket after so many steps; arms differ in how a step is accumulated, and in nothing else."""
    model, objective = translator(seed)
    optimizer = build_optimizer(AdamW(learning_rate=RATE), model)
    clip, scale = GlobalNormClip(1.0), LossScale(enabled=False, device=torch.device("cpu"))
    draw = np.random.default_rng(seed + 1000)
    for step in range(steps):
        packs = cut(drawn(train, draw, TRAIN_PAIRS), 1 if arm == "whole" else TRAIN_PAIRS)
        take_step(
            mean_of_means(objective, packs) if arm.startswith("mean") else objective,
            optimizer,
            packs,
            clip=clip,
            scale=scale,
            learning_rate=RATE * min(1.0, (step + 1) / WARMUP),
        )
    return dict(heldout_losses(objective, heldout))


@torch.no_grad()
def heldout_losses(objective: Objective, heldout: Sequence[Pairs]) -> Iterator[tuple[str, float]]:
    """Nats per byte of each bucket."""
    for (low, high), pairs in zip(BUCKETS, heldout, strict=True):
        part = pack(pairs[:HELDOUT_PAIRS])
        yield bucket_name(low, high), objective(part).loss.item() / part.num_targets


def bucket_name(low: int, high: int) -> str:
    """As results write it."""
    return f"{low} to {high - 1} bytes"


def decide(result: Mapping[str, Any]) -> Sequence[Claim]:
    """Exactness and bias of the gradient, weights, and the gap after training."""
    seeds = list(result["seeds"].values())
    exact = [
        value for seed in seeds for key, value in seed["gradient"].items() if key.startswith("token sum")
    ]
    error, cosine = max(each["relative error"] for each in exact), min(each["cosine"] for each in exact)
    claims = [
        Claim(
            f"token sum: relative error at most {error:.1e}, cosine at least {cosine:.7f}, in every cut",
            error < 1e-5 and cosine > 1 - 1e-6,
        )
    ]
    for order in ("as they came", "sorted by length"):
        keys = {ways: f"mean of means, {ways}, {order}" for ways in CUTS[1:]}
        found = {
            ways: [seed["gradient"][key] for seed in seeds]
            for ways, key in keys.items()
            if key in seeds[0]["gradient"]
        }
        errors = {ways: [each["relative error"] for each in each_seed] for ways, each_seed in found.items()}
        cosines = [each["cosine"] for each in found[PAIRS]]
        spread = "; ".join(f"{ways}: {min(each):.2f} to {max(each):.2f}" for ways, each in errors.items())
        claims.append(
            Claim(
                f"mean of means, {order}: relative error by number of micro-batches {spread}; cosine at {PAIRS} "
                f"{min(cosines):.3f} to {max(cosines):.3f}",
                min(errors[PAIRS]) > 0.05,
            )
        )
    short, long = (bucket_name(*BUCKETS[place]) for place in (0, -1))
    weights = [seed["token weight"] for seed in seeds if {short, long} <= seed["token weight"].keys()]
    ratios = [each[short] / each[long] for each in weights]
    claims.append(
        Claim(
            f"a token of a target of {short} weighs {min(ratios):.0f} to {max(ratios):.0f} times one of {long}",
            min(ratios, default=0) > 4,
        )
    )
    return [*claims, *(gap(seeds, place) for place in (0, -1))]


def gap(seeds: Sequence[Mapping[str, Any]], place: int) -> Claim:
    """What training by means of means does to one bucket, beside what the A/A pair differs by."""
    name = bucket_name(*BUCKETS[place])
    losses = [seed["held-out loss"] for seed in seeds]
    gaps = [each["mean of means, 8"][name] - each["token sum, 8"][name] for each in losses]
    noise = max(abs(each["token sum, 8"][name] - each["whole"][name]) for each in losses)
    spread = f", standard deviation {stdev(gaps):.3f}" if len(gaps) > 1 else ""
    before = mean(each["token sum, 8"][name] for each in losses)
    foreseen = all(each * (-1 if place == 0 else 1) > noise for each in gaps)
    return Claim(
        f"after {seeds[0]['steps']} steps mean of means changes the held-out loss of {name} from {before:.3f} by "
        f"{mean(gaps):+.3f} nats a byte{spread} (A/A pair: at most {noise:.4f})",
        foreseen,
    )


EXPERIMENT = Experiment(
    name="accumulation_bias",
    question="Is accumulating means of micro-batches biased, and is the sum over tokens exact?",
    arms=ARMS,
    measure=measure,
    measures="relative error and cosine of the gradient against the whole step; weight of a token; held-out nats per "
    "byte by length of the target",
    expect="The token sum is exact up to rounding. The mean of means is off by tens of per cent at 16 micro-batches, "
    "more where the step is sorted by length. Training by means of means makes the shortest bucket better and the "
    "longest worse.",
    rule="exact: relative error below 1e-5 and cosine above 1 - 1e-6 in every cut of every seed; biased: relative "
    "error above 0.05 at 16 micro-batches for every seed; a gap counts if for every seed it has the predicted sign and "
    "is larger than the A/A pair's largest difference",
    decide=decide,
    budget="5 minutes, one CPU core",
    supports=("S0-96", "S0-97"),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
