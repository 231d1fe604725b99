"""Weights of several checkpoints, or of one run over time, made into one model that is measured beside them."""
