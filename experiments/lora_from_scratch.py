"""Does a transformer learn as much from scratch by low-rank adapters on random weights as by all of them?

    pip install ".[train]"
    python experiments/lora_from_scratch.py

The reader of texts of `gradual_unfreezing.py` learns its 16 topics from random weights, as far as the arm says: all of
them, or, of the matrices of its layers, only the product of two thin ones that is added to each (LoRA), of rank 8 and
of rank 2; the layers are 32 wide. Embeddings, norms, biases and the head are trained in all arms. All arms begin with
the same function and read the same texts, each once.
"""

import sys
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import torch
import torch.nn.functional as F
from experiment import Claim, Experiment, Numbers, main
from gradual_unfreezing import TOPICS, WORDS, Reader, drawn
from torch import Tensor, nn
from torch.nn.utils.parametrize import register_parametrization

ARMS = {"full": None, "rank 8": 8, "rank 2": 2}
STEPS, QUICK_STEPS, BATCH, HELD_OUT, RATE = 300, 5, 32, 1024, 3e-3
MARGIN = 0.02


class LowRank(nn.Module):
    """A frozen matrix with a product of two thin ones, which begins at zero."""

    def __init__(self, matrix: Tensor, rank: int) -> None:
        super().__init__()
        self.down = nn.Parameter(torch.randn(rank, matrix.shape[1]) / matrix.shape[1] ** 0.5)
        self.up = nn.Parameter(torch.zeros(matrix.shape[0], rank))

    def forward(self, matrix: Tensor) -> Tensor:
        """The sum."""
        return matrix + self.up @ self.down


def measure(seed: int, quick: bool) -> Numbers:
    """By arm, the held-out loss in nats a text, and the numbers that are trained in its layers."""
    draw = torch.Generator().manual_seed(seed)
    first = (torch.randn(TOPICS, WORDS, generator=draw) * 1.2).softmax(-1)
    then = (torch.randn(TOPICS, WORDS, WORDS, generator=draw) * 1.2).softmax(-1)
    held_out = drawn(HELD_OUT, first, then, draw)
    found: Numbers = {"loss": {}, "trained in layers": {}}
    for arm, rank in ARMS.items():
        torch.manual_seed(seed)
        reader = Reader(TOPICS)
        if rank is not None:
            adapt(reader.layers, rank)
        weights = [each for each in reader.parameters() if each.requires_grad]
        found["trained in layers"][arm] = sum(
            each.numel() for each in reader.layers.parameters() if each.requires_grad
        )
        optimizer = torch.optim.AdamW(weights, lr=RATE, weight_decay=0.0)
        texts_of_arm = torch.Generator().manual_seed(seed + 1000)
        steps = QUICK_STEPS if quick else STEPS
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = RATE * (1 - step / steps)
            texts, topics = drawn(BATCH, first, then, texts_of_arm)
            optimizer.zero_grad()
            F.cross_entropy(reader(texts), topics).backward()
            optimizer.step()
        with torch.no_grad():
            found["loss"][arm] = float(F.cross_entropy(reader(held_out[0]), held_out[1]))
    return found


def adapt(layers: nn.Module, rank: int) -> None:
    """Freezes the matrices and adds a low-rank product to each."""
    named = [
        (module, name)
        for module in layers.modules()
        for name, weight in module.named_parameters(recurse=False)
        if weight.ndim == 2
    ]
    for module, name in named:
        weight = getattr(module, name)
        weight.requires_grad_(False)
        register_parametrization(module, name, LowRank(weight, rank))


def decide(result: Mapping[str, Any]) -> Sequence[Claim]:
    """By the mean difference of the losses, and its sign in every seed."""
    losses = [seed["loss"] for seed in result["seeds"].values()]
    claims = []
    for arm, other in (("rank 8", "full"), ("rank 2", "rank 8")):
        gaps = [each[arm] - each[other] for each in losses]
        claims.append(
            Claim(
                f"{arm} loses {mean(gaps):.3f} nats against {other}, {min(gaps):.3f} to {max(gaps):.3f}; predicted "
                f"more than {MARGIN} in the mean, and some in every seed",
                mean(gaps) > MARGIN and min(gaps) > 0,
            )
        )
    return claims


EXPERIMENT = Experiment(
    name="lora_from_scratch",
    question="Does a transformer learn as much from scratch by low-rank adapters on random weights as by all of them?",
    arms=tuple(ARMS),
    measure=measure,
    measures="held-out loss in nats a text after 300 steps, and the numbers that are trained in the layers",
    expect="adapters of rank 8 are worse than full training, and those of rank 2 worse again",
    rule="the mean difference over the seeds against a margin of 0.02, and its sign in each",
    decide=decide,
    budget="a minute on one core",
    supports=("S0-64",),
    seeds=(1, 2, 3, 4, 5),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
