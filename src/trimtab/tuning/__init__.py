"""Settings that are found by trying: the learning rate, the noise scale of the gradient, the largest that fits."""
