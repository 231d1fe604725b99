"""Decoding in fixed shapes, so that a step can be recorded as a CUDA graph; `model.session` is its slow twin."""
