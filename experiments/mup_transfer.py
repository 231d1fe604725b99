"""Is the best learning rate of a narrow model the best of a wide one, with muP and without?

    pip install ".[train]"
    python experiments/mup_transfer.py

A decoder of two layers, 16 and 128 wide, learns the English messages of the demo's sample byte by byte, with seven
learning rates a factor of two apart. With `mup_base_dim: 16` the wide one takes over the narrow one's rate; without it
the same rate means larger changes in a wider layer. The score of a rate is the mean loss of the last steps, on text not
seen before.
"""

import lzma
import math
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import torch
import torch.nn.functional as F
from experiment import Claim, Experiment, Numbers, main
from torch import Tensor

from trimtab.config.load import parse_recipe
from trimtab.model.decoder_only import DecoderOnly
from trimtab.step.optimizer.build import build_optimizer
from trimtab.types import Stream

NARROW, WIDE, HEAD = 16, 128, 16
RATES = tuple(2.0**exponent for exponent in range(-10, -3))
STEPS, QUICK_STEPS, WARMUP, LAST = 40, 3, 4, 8
ROWS, LENGTH, IDS = 8, 48, 256
MARGIN = 0.02
ARMS = {"plain": None, "muP": NARROW}
RECIPE = """
task: language_model
data: {train: [{text: none}]}
model: {kind: decoder, layers: 2}
length: 40 steps
"""


def measure(seed: int, quick: bool) -> Numbers:
    """For each arm and width the loss of each rate, in nats a byte."""
    text = english()
    steps = QUICK_STEPS if quick else STEPS
    return {
        arm: {
            str(dim): {f"{rate:g}": trained(text, dim, base, rate, seed=seed, steps=steps) for rate in RATES}
            for dim in (NARROW, WIDE)
        }
        for arm, base in ARMS.items()
    }


def english() -> Tensor:
    """The bytes of the sample's English side."""
    packed = (files("trimtab.demo") / "data" / "train.tsv.xz").read_bytes()
    lines = [line.split(b"\t")[0] for line in lzma.decompress(packed).splitlines()]
    return torch.frombuffer(bytearray(b"\n".join(lines)), dtype=torch.uint8).long()


def trained(text: Tensor, dim: int, base: int | None, rate: float, *, seed: int, steps: int) -> float:
    """The mean loss of the last steps; that of a model that knows nothing where it is worse, or no number."""
    recipe = parse_recipe(
        RECIPE,
        overrides=[
            f"model.dim={dim}", f"model.heads={dim // HEAD}", f"model.feed_forward={3 * dim}",
            *([f"model.mup_base_dim={base}"] if base else []),
        ],
    ).recipe  # fmt: skip
    model = DecoderOnly(recipe.model, num_ids=IDS, max_positions=LENGTH, seed=seed)
    optimizer = build_optimizer(recipe.step.optimizer, model, role_of=model.role_of)
    draw, losses = torch.Generator().manual_seed(seed), list[float]()
    for step in range(steps):
        starts = torch.randint(len(text) - LENGTH - 1, (ROWS,), generator=draw)
        rows = text[starts[:, None] + torch.arange(LENGTH + 1)]
        logits = model.decode(stream_of(rows[:, :-1])) @ model.output_matrix.T
        loss = F.cross_entropy(logits, rows[:, 1:].flatten())
        loss.backward()
        falling = 1 - step / steps
        optimizer.update(
            learning_rate=rate * min((step + 1) / WARMUP, falling), skip=torch.tensor(not loss.isfinite())
        )
        model.zero_grad()
        losses.append(loss.item())
    mean = math.fsum(losses[-LAST:]) / len(losses[-LAST:])
    return min(mean, math.log(IDS)) if math.isfinite(mean) else math.log(IDS)


def stream_of(rows: Tensor) -> Stream:
    """Rows of one length as the model takes them."""
    count, length = rows.shape
    return Stream(
        ids=rows.flatten(),
        positions=torch.arange(length).repeat(count),
        segments=torch.arange(count).repeat_interleave(length),
        cu_seqlens=torch.arange(0, count * length + 1, length, dtype=torch.int32),
        max_seqlen=length,
    )


def decide(result: Mapping[str, Any]) -> Sequence[Claim]:
    """By the rate with the lowest mean loss over the seeds."""
    steps = {arm: best(result, arm, WIDE) - best(result, arm, NARROW) for arm in ARMS}
    length = f"after {QUICK_STEPS if result['command'].endswith('--quick') else STEPS} steps"
    return [
        Claim(
            f"{length} with muP the best rate is {said(result, 'muP')}: {abs(steps['muP'])} places of the grid apart, "
            "predicted at most 1",
            abs(steps["muP"]) <= 1,
        ),
        Claim(
            f"{length} without it the best rate is {said(result, 'plain')}: {-steps['plain']} places lower, predicted "
            "at least 2",
            steps["plain"] <= -2,
        ),
        regret(result, "muP", when=length, at_most=True),
        regret(result, "plain", when=length, at_most=False),
    ]


def regret(result: Mapping[str, Any], arm: str, *, when: str, at_most: bool) -> Claim:
    """What the wide model loses by the narrow one's rate."""
    losses = mean_losses(result, arm, WIDE)
    lost = losses[best(result, arm, NARROW)] - min(losses)
    word = "at most" if at_most else "more than"
    return Claim(
        f"{when} {arm}: the rate of width {NARROW} costs width {WIDE} {lost:.3f} nats a byte, predicted {word} "
        f"{MARGIN}",
        (lost <= MARGIN) == at_most,
    )


def mean_losses(result: Mapping[str, Any], arm: str, dim: int) -> list[float]:
    """Of each rate, over the seeds."""
    seeds = [each[arm][str(dim)] for each in result["seeds"].values()]
    return [math.fsum(seed[f"{rate:g}"] for seed in seeds) / len(seeds) for rate in RATES]


def best(result: Mapping[str, Any], arm: str, dim: int) -> int:
    """The place in the grid of the best rate."""
    losses = mean_losses(result, arm, dim)
    return losses.index(min(losses))


def said(result: Mapping[str, Any], arm: str) -> str:
    """The best rates in words."""
    narrow, wide = (RATES[best(result, arm, dim)] for dim in (NARROW, WIDE))
    return f"{narrow:.4f} at width {NARROW} and {wide:.4f} at width {WIDE}"


EXPERIMENT = Experiment(
    name="mup_transfer",
    question="Is the best learning rate of a narrow model the best of a wide one, with muP and without?",
    arms=("plain, with one learning rate for all weights", "muP, with mup_base_dim of the narrow width"),
    measure=measure,
    measures="mean loss of the last 8 of 40 steps, nats a byte, by arm, width and learning rate",
    expect="with muP at most one step of the grid apart and 0.02 nats lost, without it at least two steps and more",
    rule="the learning rate with the lowest loss, averaged over the seeds, at each width",
    decide=decide,
    budget="3 minutes on one core",
    supports=("S4-02",),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
