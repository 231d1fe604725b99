"""One thread of computation for each process: tests run side by side, one for each core."""

import os
import sys

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)
"""What libraries read when they are loaded, here and in every child."""


def keep_to_one_thread() -> None:
    """Whatever the user has set; to be called before anything computes."""
    os.environ.update(ONE_THREAD)
    if torch := sys.modules.get("torch"):  # which a plugin has imported before
        torch.set_num_threads(1)
