"""StableAdamW written out number by number from arXiv 2304.13013, algorithm 2, for one tensor given as a flat list."""

import math


class PlainStableAdamW:
    def __init__(self, *, betas, eps, decay):
        self.betas, self.eps, self.decay = betas, eps, decay
        self.v = self.u = None
        self.t = 0

    def step(self, values, gradient, *, learning_rate):
        self.t += 1
        if self.v is None:
            self.v, self.u = [0.0] * len(values), [0.0] * len(values)
        one, two = (b * (1 - b ** (self.t - 1)) / (1 - b**self.t) for b in self.betas)
        self.v = [one * v + (1 - one) * g for v, g in zip(self.v, gradient, strict=True)]
        self.u = [two * u + (1 - two) * g * g for u, g in zip(self.u, gradient, strict=True)]
        ratios = [g * g / max(u, self.eps**2) for g, u in zip(gradient, self.u, strict=True)]
        rate = learning_rate / max(1.0, math.sqrt(sum(ratios) / len(ratios)))
        return [
            w - rate * self.decay * w - rate * v / (math.sqrt(u) + self.eps)
            for w, v, u in zip(values, self.v, self.u, strict=True)
        ]
