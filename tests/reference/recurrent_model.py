"""A tiny random recurrent translator, twice: with tensors behind a decoder session, and in plain Python."""

import math
import random

import torch

from trimtab.types import Stream

Matrix = list[list[float]]


class RecurrentModel:
    """State' = tanh(W state + embedding of the token); logits = V state. The state begins as the source's mean."""

    def __init__(self, seed: int, *, vocabulary: int, dim: int = 4, sharpness: float = 3.0) -> None:
        draw = random.Random(seed)

        def matrix(rows: int, columns: int, scale: float) -> Matrix:
            return [[draw.gauss(0, scale) for _ in range(columns)] for _ in range(rows)]

        self.vocabulary = vocabulary
        self.source_embedding = matrix(vocabulary, dim, 1.0)
        self.embedding = matrix(vocabulary, dim, 1.0)
        self.recurrent = matrix(dim, dim, 1.0)
        self.output = matrix(vocabulary, dim, sharpness)
        self.num_steps: list[int] = []
        """Steps of each session that was opened."""
        self.batches: list[tuple[int, int]] = []
        """Rows and width of each session that was opened."""

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> "RecurrentSession":
        assert source.cu_seqlens.shape[0] == rows + 1
        self.batches.append((rows, width))
        self.num_steps.append(0)
        return RecurrentSession(self, source, width=width, max_length=max_length)

    def log_probabilities(self, source: list[int], prefix: list[int]) -> list[float]:
        """Of the symbol after `prefix` (start symbol included), without any cache."""
        state = [
            sum(column) / len(source)
            for column in zip(*(self.source_embedding[i] for i in source), strict=True)
        ]
        for token in prefix:
            mixed = [sum(w * s for w, s in zip(row, state, strict=True)) for row in self.recurrent]
            state = [math.tanh(m + e) for m, e in zip(mixed, self.embedding[token], strict=True)]
        logits = [sum(w * s for w, s in zip(row, state, strict=True)) for row in self.output]
        highest = max(logits)
        log_sum = highest + math.log(sum(math.exp(logit - highest) for logit in logits))
        return [logit - log_sum for logit in logits]


class RecurrentSession:
    """The same model in tensors, with its state as the cache."""

    def __init__(self, model: RecurrentModel, source: Stream, *, width: int, max_length: int) -> None:
        def double(values: Matrix) -> torch.Tensor:
            return torch.tensor(values, dtype=torch.float64)

        self.model = model
        self.embedding, self.recurrent, self.output = map(
            double, (model.embedding, model.recurrent, model.output)
        )
        lengths = source.cu_seqlens.diff().long()
        places = torch.arange(lengths.max())
        assert torch.equal(source.positions, torch.cat([places[:length] for length in lengths]))
        embedded = double(model.source_embedding)[source.ids]
        sums = torch.zeros(len(lengths), embedded.shape[1], dtype=torch.float64)
        sums.index_add_(0, source.segments, embedded)
        self.state = (sums / lengths[:, None])[:, None].repeat(1, width, 1)
        self.steps_left = max_length

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        assert self.steps_left > 0, "more steps than there was room for"
        assert tokens.shape == self.state.shape[:2]
        self.steps_left -= 1
        self.model.num_steps[-1] += 1
        self.state = torch.tanh(self.state @ self.recurrent.T + self.embedding[tokens])
        return self.state @ self.output.T

    def reorder(self, parents: torch.Tensor) -> None:
        self.state = self.state.gather(1, parents[..., None].expand_as(self.state))

    def keep(self, rows: torch.Tensor) -> None:
        self.state = self.state[rows]
