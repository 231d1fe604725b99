"""A model of two linear maps and packs of numbers, for tests of the step without any real stage."""

import torch
from torch import nn

from tests.streams import pack_of
from trimtab.types import LossOutput


class Toy(nn.Module):
    """Scores each label from its input id; no dropout, float64 so that only real differences show."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(64, 8)
        self.linear = nn.Linear(8, 64)
        self.double()

    def objective(self, pack):
        logits = self.linear(self.embedding(pack.target.ids))
        loss = nn.functional.cross_entropy(logits, pack.labels, reduction="sum")
        return LossOutput(loss, loss.detach())


def packs(*sizes):
    """One pack for each size, with so many targets; rows are drawn so that packs differ."""
    generator = torch.Generator().manual_seed(sum(sizes))
    made = []
    for size in sizes:
        row = torch.randint(4, 64, (size,), generator=generator).tolist()
        made.append(pack_of([row], [row]))
    return made
