"""Does stochastic weight averaging fail on a transformer where it works on a convolutional net?

    pip install ".[train]"
    python experiments/swa_by_architecture.py

Two small classifiers of the same noisy gratings, 12 pixels a side in eight orientations: a convolutional net with batch
norm, and a transformer with layer norm over patches of 3 pixels. Both train with Adam at a constant rate. Over the last
half of the steps their weights are averaged once every ten steps (Izmailov et al. 2018, algorithm 1), and the averaged
net gets the statistics of its batch norms from a pass over training images. The third arm begins the average at the
first step, which takes in weights that had learned nothing.
"""

import copy
import sys
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import torch
import torch.nn.functional as F
from experiment import Claim, Experiment, Numbers, main
from torch import Tensor, nn

SIDE, CLASSES, PATCH, WIDTH = 12, 8, 3, 32
IMAGES, HELD_OUT, BATCH, STEPS, QUICK_STEPS, EVERY = 512, 1024, 32, 400, 20, 10
RATE, NOISE = 3e-3, 1.2
NETS = ("convolutions", "transformer")
WEIGHTS = ("last", "average of the second half", "average from the start")
MARGIN = 0.02


class Transformer(nn.Module):
    """Two layers over patches, and the mean of their outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(PATCH * PATCH, WIDTH)
        self.places = nn.Parameter(torch.randn((SIDE // PATCH) ** 2, WIDTH) * 0.1)
        layer = nn.TransformerEncoderLayer(
            WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 2, nn.LayerNorm(WIDTH), enable_nested_tensor=False)
        self.classes = nn.Linear(WIDTH, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """Scores of the classes."""
        patches = F.unfold(images, PATCH, stride=PATCH).transpose(1, 2)
        return self.classes(self.layers(self.embed(patches) + self.places).mean(1))


def convolutional() -> nn.Module:
    """Two convolutions with batch norm."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(128, CLASSES),
    )  # fmt: skip


def gratings(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Waves of random phase and length behind noise, and the number of their orientation."""
    labels = torch.randint(CLASSES, (count,), generator=generator)
    phase, length = (torch.rand(count, 1, 1, generator=generator) for _ in range(2))
    angle = (labels.float() * torch.pi / CLASSES)[:, None, None]
    row, column = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    along = row * angle.sin() + column * angle.cos()
    waves = torch.sin(2 * torch.pi * (along / (4 + 3 * length) + phase))
    return (waves + NOISE * torch.randn(waves.shape, generator=generator))[:, None], labels


def measure(seed: int, quick: bool) -> Numbers:
    """By net, the held-out loss in nats of the last weights and of both averages."""
    generator = torch.Generator().manual_seed(seed)
    images, labels = gratings(IMAGES, generator)
    held_out = gratings(HELD_OUT, generator)
    steps = QUICK_STEPS if quick else STEPS
    found: Numbers = {}
    for name in NETS:
        torch.manual_seed(seed)
        net = convolutional() if name == "convolutions" else Transformer()
        nets = trained(net, images, labels, steps=steps, seed=seed)
        found[name] = {weights: loss_of(each, *held_out) for weights, each in zip(WEIGHTS, nets, strict=True)}
    return found


def trained(net: nn.Module, images: Tensor, labels: Tensor, *, steps: int, seed: int) -> Sequence[nn.Module]:
    """The net after its last step, and the averages."""
    generator = torch.Generator().manual_seed(seed + 1000)
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE)
    late, early, counts = copy.deepcopy(net), copy.deepcopy(net), [0, 0]
    for step in range(1, steps + 1):
        chosen = torch.randint(len(images), (BATCH,), generator=generator)
        optimizer.zero_grad()
        F.cross_entropy(net(images[chosen]), labels[chosen]).backward()
        optimizer.step()
        if step % EVERY == 0:
            for number, (average, begin) in enumerate(((late, steps // 2), (early, 0))):
                if step > begin:
                    counts[number] += 1
                    for one, other in zip(average.parameters(), net.parameters(), strict=True):
                        one.data.lerp_(other.data, 1 / counts[number])
    for average in (late, early):
        renew_statistics(average, images)
    return net, late, early


@torch.no_grad()
def renew_statistics(net: nn.Module, images: Tensor) -> None:
    """Batch norms take their means and variances from all training images."""
    for each in net.modules():
        if isinstance(each, nn.BatchNorm2d):
            each.reset_running_stats()
            each.momentum = None  # the plain mean over batches
    net.train()
    for batch in images.split(128):
        net(batch)


@torch.no_grad()
def loss_of(net: nn.Module, images: Tensor, labels: Tensor) -> float:
    """Nats an image."""
    return float(F.cross_entropy(net.eval()(images), labels))


def decide(result: Mapping[str, Any]) -> Sequence[Claim]:
    """By how many nats an average is below the last weights, in the mean of the seeds, and in how many of them."""
    seeds = result["seeds"].values()
    claims = []
    for net in NETS:
        gains = [seed[net]["last"] - seed[net]["average of the second half"] for seed in seeds]
        wins = sum(gain > 0 for gain in gains)
        claims.append(
            Claim(
                f"{net}: the average of the second half is {mean(gains):+.3f} nats better than the last weights, in "
                f"{wins} of {len(gains)} seeds; predicted better by more than {MARGIN} in the mean, and in every seed",
                mean(gains) > MARGIN and wins == len(gains),
            )
        )
    losses = [
        seed["transformer"]["average from the start"] - seed["transformer"]["average of the second half"]
        for seed in seeds
    ]
    claims.append(
        Claim(
            f"transformer: an average from the start is {mean(losses):+.3f} nats worse than that of the second half; "
            f"predicted worse by more than {MARGIN}",
            mean(losses) > MARGIN,
        )
    )
    return claims


EXPERIMENT = Experiment(
    name="swa_by_architecture",
    question="Does stochastic weight averaging fail on a transformer where it works on a convolutional net?",
    arms=tuple(f"{net}, {weights}" for net in NETS for weights in WEIGHTS),
    measure=measure,
    measures="held-out loss in nats an image, by net and by weights",
    expect="at a constant rate the average of the second half is better for both nets; one from the start is worse",
    rule="the mean difference over the seeds, and its sign in each",
    decide=decide,
    budget="a minute on one core",
    supports=("S0-38",),
    seeds=(1, 2, 3, 4, 5),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
