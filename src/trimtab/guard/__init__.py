"""Whether a step may move the weights: plain numbers in, a verdict out. No torch, so any training loop can use it.

    guard = Guard()
    verdict = guard.judge(loss, grad_norm)
    if verdict.apply:
        optimizer.step()

Each rule is a file: `finite`, `outlier`, `streak`, `budget`. `Guard` asks them in this order and remembers what they
need; its state is a dict of plain numbers for the checkpoint.
"""

from trimtab.guard.guard import Guard as Guard
from trimtab.guard.guard import Verdict as Verdict
