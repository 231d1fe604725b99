"""What is looked for in a running model and loop: numbers that stopped being finite, weights that do not move or move
too far, activations and attention out of bounds, clipping, waiting for data."""
