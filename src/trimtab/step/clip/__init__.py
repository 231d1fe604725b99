"""Clipping of the gradient, and its norm, which is measured whether or not anything is clipped."""
