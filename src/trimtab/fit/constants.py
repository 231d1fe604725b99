"""What cannot be derived: memory of CUDA and its libraries, gaps of the allocator, and how near kernels come to the
rates of a card.

Set from half of the recipes of `benchmarks/fit_planned.py` on an H200 with PyTorch 2.11; the other half judges them
(decision 0024).
"""

from trimtab.fit.memory_size import MIB

CONTEXT_BYTES = 751 * MIB
"""What a process holds beside PyTorch's allocator: CUDA's context, loaded kernels, cuBLAS."""
WORKSPACE_BYTES = 65 * MIB
"""That PyTorch gives cuBLAS, for each stream on which products run."""
BLOCK_BYTES = 512
"""The allocator rounds each tensor up to a multiple."""
GAP_SHARE = 0.045
"""The share that the allocator reserves beyond what a step allocates and frees, because freed blocks do not fit later
requests."""
GAP_TABLES = 2.2
"""The same, in sizes of the largest embedding table's gradient."""
GAP_BYTES = 60 * MIB
"""Of the segments that are not full at the end of each kind of block."""
GRAPH_BYTES = 75 * MIB
"""CUDA's own memory for a recorded step."""
NCCL_BYTES = 857 * MIB
"""Of NCCL for its connections, on each GPU where several processes train: what nvidia-smi showed beside PyTorch's
allocator and the context on two H200 of one host (`benchmarks/scaling_fsdp.json`)."""

GEMM_SHARE = 0.73
"""Of a card's rate, what products of a training step reach; a GEMM of 8,192 by 8,192 reaches 0.81 on an H200."""
BANDWIDTH_SHARE = 0.70
PASSES = {True: 6.0, False: 20.0}
"""How often a saved byte of an activation is moved between forward and backward, compiled or not."""
LAUNCH_S = 12e-6
"""Of one kernel, where steps are not recorded and the host is the slower side."""
LAYER_S = {True: 0.22e-3, False: 0.0}
"""Of a layer in each micro-batch, compiled or not, however small it is: what short kernels take beside products and
traffic. The median over the compiled recipes of the calibrating half; launched one by one it shows in none."""
KERNELS_OF_LAYER = {True: 190, False: 400}
"""Launches of a layer, forward and backward with its update, compiled or not; a compiled layer has fewer kernels, and
checks before them whether its code still applies."""
LAUNCHED_AGAIN = {"none": 1.0, "feed_forward": 1.4, "block": 1.8}
"""By `step.recompute`, how much more the host has to launch."""
DRAWN_AGAIN = 1.7
"""The same where layers are recomputed that draw random numbers, whose generator is set back in each. These three and
the 190 are from launched steps of an earlier run of `benchmarks/fit_proposals.py`: no recipe of the calibrating half
is compiled or recomputes layers without being recorded."""
NARROW_UPDATE_SHARE = 0.16
"""Of a card's bandwidth, what the kernel for states in 16 bits and fewer reaches: 777 of 4,800 GB/s
(`benchmarks/memory_ladder.json`)."""
RELEASED_GEMM_SHARE = 0.62
"""As `GEMM_SHARE` in a step with released gradients, traffic of recomputed activations included
(`benchmarks/memory_ladder.json`)."""
RELEASED_COMPILED = 0.3
"""Of the operations of such a step's layers, what is launched of compiled ones."""
RELEASED_FORWARD, RELEASED_BACKWARD = 52, 76
"""Operations of a layer that a step with released gradients launches in each pass, counted below autograd in a
decoder in bfloat16."""
RELEASED_UPDATE, RELEASED_SMALL_UPDATE = 51, 130
"""The same of the update of a tensor, and of one whose states stay in float32, without the kernel."""
RELEASED_LAUNCH_S = 28e-6
"""Of one of them, with the hooks around it: what the two runs of `benchmarks/memory_ladder.json` imply that wait for
the host."""
HOST_GIGABYTES_PER_SECOND = 20.0
"""Between page-locked host memory and the GPU, each way: what PCIe 4.0 with 16 lanes reaches of its 32; not measured
here."""
NARROW = 0.9
"""Above this share of a card's memory a plan may be too low to rely on: of the judging recipes, reserved memory was
planned 3.0% off on average, from 10.5% too little to 4.5% too much."""
PROPOSED_SHARE = 0.95
"""Of a card's memory, what a proposal may fill."""
