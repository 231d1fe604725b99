"""A tiny random recurrent language model behind a session of prompts, and its distribution without any session."""

import torch


class PromptModel:
    """State' = tanh(W state + embedding of the token); logits = V state; the state begins with zeros."""

    def __init__(
        self, seed: int, *, vocabulary: int, dim: int = 6, sharpness: float = 3.0, window: int = 10_000
    ) -> None:
        draw = torch.Generator().manual_seed(seed)

        def matrix(rows: int, columns: int) -> torch.Tensor:
            return torch.randn(rows, columns, generator=draw, dtype=torch.float64)

        self.embedding, self.recurrent = matrix(vocabulary, dim), matrix(dim, dim)
        self.output = sharpness * matrix(vocabulary, dim)
        self.window = window
        self.sessions: list[tuple[int, int, int]] = []
        """Rows, width and room of each session that was opened."""

    def logits(self, ids: list[int]) -> torch.Tensor:
        """Of the symbol after these ids."""
        state = torch.zeros(self.recurrent.shape[0], dtype=torch.float64)
        for id in ids:
            state = torch.tanh(self.recurrent @ state + self.embedding[id])
        return self.output @ state

    def open_prompts(self, *, rows: int, width: int, max_length: int) -> "PromptSession":
        self.sessions.append((rows, width, max_length))
        return PromptSession(self, rows=rows, width=width, capacity=max_length)


class PromptSession:
    def __init__(self, model: PromptModel, *, rows: int, width: int, capacity: int) -> None:
        self.model, self.width, self.capacity = model, width, capacity
        self.state = torch.zeros(rows, width, model.recurrent.shape[0], dtype=torch.float64)
        self.lengths = torch.zeros(rows, dtype=torch.long)
        self.slots = 0

    def feed(self, tokens: torch.Tensor, skipped: torch.Tensor) -> None:
        assert self.slots == 0
        assert tokens.shape == (len(self.state), tokens.shape[1])
        for place in range(tokens.shape[1]):
            real = (place >= skipped)[:, None, None]
            self.state = torch.where(
                real, self._next(tokens[:, place, None].expand(-1, self.width)), self.state
            )
        self.lengths, self.slots = tokens.shape[1] - skipped, tokens.shape[1]

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        assert tokens.shape == self.state.shape[:2]
        self.slots, self.lengths = self.slots + 1, self.lengths + 1
        assert self.slots <= self.capacity, "more tokens than there was room for"
        assert int(self.lengths.max()) <= self.model.window, "a row was fed beyond the window"
        self.state = self._next(tokens)
        return self.state @ self.model.output.T

    def reorder(self, parents: torch.Tensor) -> None:
        self.state = self.state.gather(1, parents[..., None].expand_as(self.state))

    def keep(self, rows: torch.Tensor) -> None:
        self.state, self.lengths = self.state[rows], self.lengths[rows]

    def _next(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.state @ self.model.recurrent.T + self.model.embedding[tokens])
