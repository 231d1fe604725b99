"""What cannot be derived: memory of CUDA and its libraries, gaps of the allocator, and how near kernels come to a
card's rates. To be calibrated on an H200 by `benchmarks/fit_planned.py`; until its results are in, they are
estimates."""

from trimtab.fit.memory_size import GIB, MIB

CONTEXT_BYTES = int(0.55 * GIB)
"""What a process holds beside PyTorch's allocator: CUDA's context, loaded kernels, cuBLAS."""
WORKSPACE_BYTES = 33 * MIB
"""That PyTorch gives cuBLAS, for each stream on which products run."""
BLOCK_BYTES = 512
"""The allocator rounds each tensor up to a multiple."""
GAP_SHARE = 0.04
"""Of what is allocated and freed in a step, the allocator reserves so much more, since freed blocks do not fit anew."""
RECORDED_GAP_SHARE = 0.06
"""The same in the pool of a recorded step, which serves nothing else."""
GAP_BYTES = 20 * MIB
"""Of the segments that are not full at the end of each kind of block."""
GRAPH_BYTES = 40 * MIB
"""CUDA's own memory for a recorded step."""

GEMM_SHARE = 0.62
"""Of a card's rate, what products of a training step reach; a GEMM of 8,192 by 8,192 reaches 0.81 on an H200."""
BANDWIDTH_SHARE = 0.70
PASSES = {True: 4.0, False: 9.0}
"""How often a saved byte of an activation is moved between forward and backward, compiled or not."""
LAUNCH_S = 6e-6
"""Of one kernel, where steps are not recorded and the host is the slower side."""
KERNELS_OF_LAYER = {True: 40, False: 110}
"""Launches of a layer, forward and backward, compiled or not."""
CALIBRATED = "The allocator's gaps, CUDA's own memory and the speed are estimates that were not yet held against a GPU."
"""What a plan says of these numbers; empty once they come from measurements."""
