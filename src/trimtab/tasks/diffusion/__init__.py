"""Diffusion: a transformer that makes images out of noise. `task.py` is what it brings to a run."""
