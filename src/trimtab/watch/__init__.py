"""Monitors of a running model and loop: NaN and infinity, weights that move too little or too much, activations and
attention out of bounds, clipping, waiting for data."""
