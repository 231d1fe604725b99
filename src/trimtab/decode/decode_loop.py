"""The loop of every search: feed, extend, and periodically drop finished rows."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from trimtab.decode.finished import Found
from trimtab.errors import RunFailed
from trimtab.types import DecoderSession

CHECK_EVERY = 4
"""Steps between two looks at which rows are done; each look waits for the device."""
SHRINK_BELOW = 0.75
"""The batch is made smaller once no more than this share of its rows is still open."""
CPU_SHRINK_BELOW = 0.9
"""The same on a CPU, whose time grows with every row."""


@runtime_checkable
class Paths(Protocol[Found]):
    """The state of one search over a batch of rows, on the device."""

    done: Bool[Tensor, "rows"]
    broken: Bool[Tensor, "rows"]
    """Rows in which a score was NaN."""

    def tokens(self) -> Int[Tensor, "rows width"]:
        """What to feed next."""
        ...

    def extend(
        self, logits: Float[Tensor, "rows width vocabulary"], *, step: int
    ) -> Int[Tensor, "rows width"] | None:
        """Takes the symbol number `step` (from 0); gives the parents of what continues, None if they are in order."""
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Goes on with these rows only."""
        ...

    def hypotheses(self, rows: Sequence[int]) -> list[Found]:
        """What was found for each of these rows."""
        ...


def decode_loop(session: DecoderSession, paths: Paths[Found], *, num_steps: int) -> list[Found]:
    """Runs a search until every row is done, at most `num_steps` steps, and gives what it found for each row.

    A row must be done after as many steps as its limit allows. Raises RunFailed if the model's scores are NaN.
    """
    numbers = list(range(paths.done.shape[0]))
    results: dict[int, Found] = {}
    every, shrink_below = check_interval(paths.done.device)
    for step in range(num_steps):
        parents = paths.extend(session.step(paths.tokens()), step=step)
        if parents is not None:
            session.reorder(parents)
        if (step + 1) % every and step + 1 < num_steps:
            continue
        still_open = _open_rows(paths, step=step)
        assert not still_open or step + 1 < num_steps, "a row is open beyond its limit"
        if still_open and len(still_open) > shrink_below * len(numbers):
            continue
        closed = sorted(set(range(len(numbers))) - set(still_open))
        results.update(zip([numbers[row] for row in closed], paths.hypotheses(closed), strict=True))
        if not still_open:
            break
        session.keep(torch.tensor(still_open, device=paths.done.device))
        paths.keep(still_open)
        numbers = [numbers[row] for row in still_open]
    return [results[number] for number in range(len(results))]


def check_interval(device: torch.device) -> tuple[int, float]:
    """Steps between two looks, and the share of open rows at which a batch is made smaller; a look at a CPU waits for
    nothing."""
    return (1, CPU_SHRINK_BELOW) if device.type == "cpu" else (CHECK_EVERY, SHRINK_BELOW)


def _open_rows(paths: Paths[Found], *, step: int) -> list[int]:
    """The rows that are not done: the one place that waits for the device while a batch runs."""
    done, broken = torch.stack([paths.done, paths.broken]).tolist()
    if any(broken):
        raise RunFailed(
            f"translation stopped: the model's scores are NaN in {sum(broken)} of {len(broken)} rows "
            f"within the first {step + 1} tokens\n"
            "  fix     use a checkpoint from before the loss became NaN; or translate in fp32, where "
            "half precision overflows"
        )
    return [row for row, is_done in enumerate(done) if not is_done]
