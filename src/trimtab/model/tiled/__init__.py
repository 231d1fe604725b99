"""Attention in tiles of the flat stream that hold several short segments each: Triton kernels for CUDA."""
