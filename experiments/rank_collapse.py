"""Do tokens become the same in a deep stack of attention, and what keeps them apart?

    pip install ".[train]"
    python experiments/rank_collapse.py

Random tokens go through twelve untrained self-attention layers of an encoder: alone, with feed-forward blocks between
them, with skip connections, and with both. After each layer the residual is measured: how far the tokens are from
their mean, as a share of their norm. One means that nothing is common to them, zero that they are all the same
vector.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from experiment import Claim, Experiment, Numbers, main
from torch import Tensor

from trimtab.config.model import EncoderDecoderModel
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.sequence_layout import sequence_layout
from trimtab.types import Stream

LAYERS, DIM, HEADS, TOKENS = 12, 64, 4, 32
ARMS = {
    "attention alone": (False, False),
    "with feed-forward": (False, True),
    "with skips": (True, False),
    "with both": (True, True),
}
GONE, KEPT = 1e-6, 0.3


def measure(seed: int, quick: bool) -> Numbers:
    """By arm, the residual before the first layer and after each."""
    del quick  # it takes a second
    config = EncoderDecoderModel(
        dim=DIM, heads=HEADS, layers=LAYERS, feed_forward=4 * DIM, dropout=0.0, norm_position="after"
    )
    model = EncoderDecoder(config, num_ids=64, max_positions=TOKENS, seed=seed).eval()
    tokens = torch.randn(TOKENS, DIM, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        return {arm: residuals(model, tokens, *of_arm) for arm, of_arm in ARMS.items()}


def residuals(model: EncoderDecoder, x: Tensor, skips: bool, feed_forward: bool) -> list[float]:
    """After each layer, at the scale that it has: no norm is in the way."""
    layout, positions = layout_of(x), model.source_positions.of_stream(stream_of(x))
    found = [residual(x)]
    for block in model.encoder.blocks:
        x = block.attention(x, layout, positions, causal=False) + (x if skips else 0)
        if feed_forward:
            x = block.feed_forward(x) + (x if skips else 0)
        x = (
            x / x.pow(2).mean().sqrt()
        )  # one number for all tokens, so that only differences between them matter
        found.append(residual(x))
    return found


def residual(x: Tensor) -> float:
    """How far tokens are from their mean, as a share of their norm."""
    return float((x - x.mean(0)).norm() / x.norm())


def stream_of(x: Tensor) -> Stream:
    """One sentence of so many tokens."""
    count = len(x)
    nothing = torch.zeros(count, dtype=torch.int64)
    return Stream(nothing, torch.arange(count), nothing, torch.tensor([0, count], dtype=torch.int32), count)


def layout_of(x: Tensor) -> Any:
    """That of the sentence."""
    return sequence_layout(stream_of(x), padded=True)


def decide(result: Mapping[str, Any]) -> Sequence[Claim]:
    """By the residual after the last layer, of every seed."""
    last = {arm: [seed[arm][-1] for seed in result["seeds"].values()] for arm in ARMS}
    first = [seed["attention alone"][1] for seed in result["seeds"].values()]
    alone, mixed, skips, both = last.values()
    return [
        Claim(
            f"attention alone: the residual is {max(first):.2g} after one layer and at most {max(alone):.1g} after "
            f"{LAYERS}, predicted below {GONE:g}",
            max(alone) < GONE,
        ),
        Claim(
            f"feed-forward blocks slow that and do not stop it: at most {max(mixed):.1g}, predicted above that of "
            f"attention alone and below {KEPT}",
            min(mixed) > max(alone) and max(mixed) < KEPT,
        ),
        Claim(
            f"skip connections stop it: at least {min(skips):.2f} without feed-forward blocks and {min(both):.2f} with "
            f"them, predicted above {KEPT}",
            min(*skips, *both) > KEPT,
        ),
    ]


EXPERIMENT = Experiment(
    name="rank_collapse",
    question="Do tokens become the same in a deep stack of attention, and what keeps them apart?",
    arms=tuple(ARMS),
    measure=measure,
    measures="distance of the tokens from their mean as a share of their norm, before the first layer and after each",
    expect="attention alone loses every difference within twelve layers, feed-forward blocks slow that, skips stop it",
    rule="the residual after the last layer, of every seed",
    decide=decide,
    budget="seconds on one core",
    supports=("S3-02",),
    seeds=(1, 2, 3, 4, 5),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
