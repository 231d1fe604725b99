"""AdaGC's clipping written out from arXiv 2502.11034, algorithm 1; gradients are flat lists."""

import math


class PlainAdaptiveClip:
    def __init__(self, *, at, decay, first, first_steps):
        self.at, self.decay, self.first, self.first_steps = at, decay, first, first_steps
        self.averages, self.updates = None, 0

    def __call__(self, gradients):
        norms = [math.sqrt(sum(x * x for x in g)) for g in gradients]
        if self.averages is None:
            self.averages = [math.inf] * len(norms)
        clipped = []
        for i, norm in enumerate(norms):
            if self.updates < self.first_steps:
                factor = min(1.0, self.first / math.sqrt(sum(n * n for n in norms)))
                self.averages[i] = min(self.averages[i], norm * factor)
            else:
                factor = min(1.0, self.at * self.averages[i] / norm)
                self.averages[i] = self.decay * self.averages[i] + (1 - self.decay) * norm * factor
            clipped.append([x * factor for x in gradients[i]])
        self.updates += 1
        return clipped
