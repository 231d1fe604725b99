"""Adafactor written from the paper's algorithms 4 and 5 with plain loops: the slow twin of the real one."""

import math


class PlainAdafactor:
    """One tensor, nested lists of floats."""

    def __init__(self, *, clip, exponent, eps):
        self.clip, self.exponent, self.eps, self.t = clip, exponent, eps, 0
        self.rows = self.columns = self.full = None

    def step(self, x, g, *, learning_rate):
        """New values of `x` after gradient `g`."""
        self.t += 1
        beta = 1 - self.t**-self.exponent
        if not isinstance(x[0], list):
            self.full = self.full or [0.0] * len(x)
            self.full = [
                beta * v + (1 - beta) * (gi * gi + self.eps) for v, gi in zip(self.full, g, strict=True)
            ]
            u = [gi / math.sqrt(v) for gi, v in zip(g, self.full, strict=True)]
            rms = math.sqrt(sum(ui * ui for ui in u) / len(u))
            return [xi - learning_rate * ui / max(1.0, rms / self.clip) for xi, ui in zip(x, u, strict=True)]
        n, m = len(x), len(x[0])
        self.rows, self.columns = self.rows or [0.0] * n, self.columns or [0.0] * m
        square = [[gij * gij + self.eps for gij in row] for row in g]
        # Sums as in the paper; the factors 1/m and 1/n of means cancel in R C / sum(R).
        self.rows = [beta * r + (1 - beta) * sum(row) for r, row in zip(self.rows, square, strict=True)]
        self.columns = [
            beta * c + (1 - beta) * sum(square[i][j] for i in range(n)) for j, c in enumerate(self.columns)
        ]
        total = sum(self.rows)
        u = [
            [g[i][j] / math.sqrt(self.rows[i] * self.columns[j] / total) for j in range(m)] for i in range(n)
        ]
        rms = math.sqrt(sum(v * v for row in u for v in row) / (n * m))
        return [
            [x[i][j] - learning_rate * u[i][j] / max(1.0, rms / self.clip) for j in range(m)]
            for i in range(n)
        ]
