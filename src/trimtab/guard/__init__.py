"""Whether a step may move the weights: plain numbers in, a verdict out. No torch, so any training loop can use it.

    guard = Guard()
    verdict = guard.judge(loss, grad_norm)
    if verdict.apply:
        optimizer.step()

In a loop of several processes, every rank gets the same verdict (`over_ranks`). `OutlierRule` has the constants.

Each rule is a file: `finite`, `outlier`, `streak`, `budget`. `Guard` asks them in this order and remembers what they
need; its state is a dict of plain numbers for the checkpoint.
"""

from trimtab.guard.guard import Guard as Guard
from trimtab.guard.guard import Verdict as Verdict
from trimtab.guard.outlier import OutlierRule as OutlierRule
