"""AdEMAMix written from the paper's algorithm 1 and section 3's schedulers, number by number: the slow twin of the real
one."""

import math


class PlainAdEMAMix:
    """A list of floats."""

    def __init__(self, *, betas, alpha, warmup, eps, decay):
        self.beta1, self.beta2, self.beta3 = betas
        self.alpha, self.warmup, self.eps, self.decay, self.t = alpha, warmup, eps, decay, 0
        self.m1 = self.m2 = self.nu = None

    def alpha_now(self):
        return min(self.t * self.alpha / self.warmup, self.alpha)

    def beta3_now(self):
        start, end, share = math.log(self.beta1), math.log(self.beta3), self.t / self.warmup
        if share >= 1:
            return self.beta3
        return min(math.exp(start * end / ((1 - share) * end + share * start)), self.beta3)

    def step(self, x, g, *, learning_rate):
        """New values of `x` after gradient `g`."""
        zeros = [0.0] * len(x)
        self.t += 1
        beta3, alpha = self.beta3_now(), self.alpha_now()
        self.m1 = [self.beta1 * m + (1 - self.beta1) * gi for m, gi in zip(self.m1 or zeros, g, strict=True)]
        self.m2 = [beta3 * m + (1 - beta3) * gi for m, gi in zip(self.m2 or zeros, g, strict=True)]
        self.nu = [
            self.beta2 * n + (1 - self.beta2) * gi * gi for n, gi in zip(self.nu or zeros, g, strict=True)
        ]
        first, second = 1 - self.beta1**self.t, 1 - self.beta2**self.t
        return [
            xi
            - learning_rate
            * ((m1 / first + alpha * m2) / (math.sqrt(nu / second) + self.eps) + self.decay * xi)
            for xi, m1, m2, nu in zip(x, self.m1, self.m2, self.nu, strict=True)
        ]
