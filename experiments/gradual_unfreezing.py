"""Is unfreezing layers one after another better than tuning all of them at once?

    pip install ".[train]"
    python experiments/gradual_unfreezing.py

A small transformer learns to tell which of 16 topics a text is about: a topic is a distribution over 64 words, and what
precedes a word matters too. Then its head is replaced, and it learns from 64 texts which of four groups of topics they
belong to; the groups are others for each seed. All arms begin with the same weights and make the same number of steps
on the same batches: all weights at once; the head alone; the head first and then all (LP-FT); from the head downwards,
a layer more after each fifth of the steps (ULMFiT); and all at rates that fall by 2.6 a layer downwards. Held-out texts
are scored as they come, and with 30% of their words exchanged for random ones, which training texts never have.
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

WORDS, TOPICS, GROUPS, LENGTH, WIDTH, LAYERS = 64, 16, 4, 16, 32, 3
PRETRAINING, QUICK, STEPS, BATCH, RATE, TUNING_RATE = 400, 5, 120, 32, 3e-3, 1e-3
FEW, HELD_OUT, EXCHANGED, FALL = 64, 1024, 0.3, 2.6
ARMS = ("all at once", "head alone", "head first", "gradual", "falling rates")
PLACES = ("as they come", "words exchanged")
MARGIN = 0.02


class Reader(nn.Module):
    """Embeddings, layers and a head on the mean of their outputs."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.1)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(LAYERS)
        )
        self.head = nn.Linear(WIDTH, outputs)

    def forward(self, texts: Tensor) -> Tensor:
        """Scores of the classes."""
        x = self.embed(texts) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))

    def from_the_top(self) -> list[list[nn.Parameter]]:
        """The weights by depth: those of the head, of the last layer, and so on down to the embeddings."""
        layers = [[*layer.parameters()] for layer in reversed(self.layers)]
        return [[*self.head.parameters()], *layers, [*self.embed.parameters(), self.places]]


def measure(seed: int, quick: bool) -> Numbers:
    """By arm, the accuracy on held-out texts as they come and with words exchanged."""
    draw = torch.Generator().manual_seed(seed)
    first = (torch.randn(TOPICS, WORDS, generator=draw) * 1.2).softmax(-1)
    then = (torch.randn(TOPICS, WORDS, WORDS, generator=draw) * 1.2).softmax(-1)
    torch.manual_seed(seed)
    pretrained = Reader(TOPICS)
    optimizer = torch.optim.AdamW(pretrained.parameters(), lr=RATE)
    for _ in range(QUICK if quick else PRETRAINING):
        texts, topics = drawn(BATCH, first, then, draw)
        optimizer.zero_grad()
        F.cross_entropy(pretrained(texts), topics).backward()
        optimizer.step()
    groups = torch.randperm(TOPICS, generator=draw) % GROUPS
    few, few_topics = drawn(FEW, first, then, draw)
    held_out, topics = drawn(HELD_OUT, first, then, draw)
    noise = torch.randint(WORDS, held_out.shape, generator=draw)
    exchanged = torch.where(torch.rand(held_out.shape, generator=draw) < EXCHANGED, noise, held_out)
    head = nn.Linear(WIDTH, GROUPS)
    found: Numbers = {}
    for arm in ARMS:
        reader = copy.deepcopy(pretrained)
        reader.head = copy.deepcopy(head)
        tune(reader, arm, few, groups[few_topics], steps=QUICK if quick else STEPS, seed=seed)
        found[arm] = {
            place: accuracy(reader, texts, groups[topics])
            for place, texts in zip(PLACES, (held_out, exchanged), strict=True)
        }
    return found


def drawn(count: int, first: Tensor, then: Tensor, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    """Texts and their topics: each word is drawn by its topic, half the time by the word before it too."""
    topics = torch.randint(TOPICS, (count,), generator=draw)
    words = [torch.multinomial(first[topics], 1, generator=draw)[:, 0]]
    for _ in range(LENGTH - 1):
        after = torch.rand(count, 1, generator=draw) < 0.5
        chances = torch.where(after, then[topics, words[-1]], first[topics])
        words.append(torch.multinomial(chances, 1, generator=draw)[:, 0])
    return torch.stack(words, 1), topics


def tune(reader: Reader, arm: str, texts: Tensor, labels: Tensor, *, steps: int, seed: int) -> None:
    """Trains on a few texts as the arm says."""
    depths = reader.from_the_top()
    rates = [
        TUNING_RATE / FALL**depth if arm == "falling rates" else TUNING_RATE for depth in range(len(depths))
    ]
    optimizer = torch.optim.AdamW(
        [{"params": each, "lr": rate} for each, rate in zip(depths, rates, strict=True)]
    )
    draw = torch.Generator().manual_seed(seed + 1000)
    for step in range(steps):
        trained = {
            "head alone": 1,
            "head first": 1 if step < steps // 2 else len(depths),
            "gradual": 1 + step * len(depths) // steps,
        }.get(arm, len(depths))
        for depth, weights in enumerate(depths):
            for each in weights:
                each.requires_grad_(depth < trained)
                each.grad = None
        chosen = torch.randint(len(texts), (BATCH,), generator=draw)
        F.cross_entropy(reader(texts[chosen]), labels[chosen]).backward()
        optimizer.step()


@torch.no_grad()
def accuracy(reader: Reader, texts: Tensor, labels: Tensor) -> float:
    """Share of the texts whose group has the highest score."""
    return float((reader(texts).argmax(-1) == labels).float().mean())


def decide(result: Mapping[str, Any]) -> Sequence[Claim]:
    """By mean differences of accuracy over the seeds."""
    seeds = result["seeds"].values()

    def gain(arm: str, other: str, place: str) -> float:
        return mean(seed[arm][place] - seed[other][place] for seed in seeds)

    gradual, first = gain("gradual", "all at once", PLACES[0]), gain("head first", "all at once", PLACES[1])
    alone, falling = (
        gain("head alone", "all at once", PLACES[0]),
        gain("falling rates", "all at once", PLACES[0]),
    )
    known = min(seed["all at once"][PLACES[0]] for seed in seeds)
    return [
        Claim(
            f"gradual against all at once: {gradual:+.3f} of accuracy; predicted no more than {MARGIN} better",
            gradual <= MARGIN and known > 1 / GROUPS,
        ),
        Claim(
            f"head first against all at once, words exchanged: {first:+.3f}; predicted better or within {MARGIN}",
            first >= -MARGIN,
        ),
        Claim(
            f"head alone against all at once: {alone:+.3f}; predicted worse by more than {MARGIN}",
            alone < -MARGIN,
        ),
        Claim(
            f"falling rates against all at once: {falling:+.3f}; predicted within {2 * MARGIN}",
            abs(falling) <= 2 * MARGIN,
        ),
    ]


EXPERIMENT = Experiment(
    name="gradual_unfreezing",
    question="Is unfreezing layers one after another better than tuning all of them at once?",
    arms=ARMS,
    measure=measure,
    measures="accuracy on 1,024 held-out texts, as they come and with 30% of their words exchanged",
    expect="gradual unfreezing is no better than all at once; the head first costs nothing on exchanged words",
    rule="the mean difference over the seeds, against a margin of 0.02",
    decide=decide,
    budget="a minute on one core",
    supports=("S2-30",),
    seeds=(1, 2, 3, 4, 5),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
