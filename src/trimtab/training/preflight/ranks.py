"""Whether the processes of a run would train one model: the same files, settings, versions and weights on each, and a
gradient that does not depend on how a window is dealt among them."""

import hashlib
import math
import platform
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from trimtab import __version__
from trimtab.distributed import Ranks
from trimtab.errors import InputError, Problem
from trimtab.finding import Finding
from trimtab.run_findings.preflight import GRADIENT_DEPENDS_ON_RANKS
from trimtab.step.accumulate import accumulate
from trimtab.tasks.examples import Checked
from trimtab.training.preflight.cut import CUT_TOLERANCE
from trimtab.training.preflight.weights import gathered

MAY_DIFFER = ("recipe.data.valid", "recipe.data.workers")
"""Marks that may differ by host: where validation files are, whose content has marks of its own, and who reads."""
CLOCKS_APART_S = 60.0
"""Clocks of two hosts may differ by so much before it is mentioned; nothing of a run depends on it."""


def facts_of(parts: Any, fingerprints: Mapping[str, str]) -> dict[str, Any]:
    """What must be the same on each rank, by name."""
    return {
        "trimtab": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": torch.cuda.get_device_name(parts.device) if parts.device.type == "cuda" else "CPU",
        **{name: mark for name, mark in fingerprints.items() if not name.startswith(MAY_DIFFER)},
        "the first weights": weights_mark(parts.model.state_dict()),
    }


def weights_mark(tensors: Mapping[str, Tensor]) -> str:
    """A sha256 of the weights, of sums of their bits; parts of a divided model are those of each rank, and left out."""
    digest = hashlib.sha256()
    for name, tensor in tensors.items():
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        if not hasattr(tensor, "full_tensor"):
            wide = tensor.detach().double()
            places = torch.arange(1, wide.numel() + 1, device=wide.device, dtype=torch.float64)
            sums = torch.stack([wide.sum(), (wide.flatten() * places).sum()])
            digest.update(repr(sums.tolist()).encode())
    return digest.hexdigest()[:32]


def check_same_on_all(parts: Any, fingerprints: Mapping[str, str], ranks: Ranks) -> str:
    """Raises InputError where a rank has other files, settings, versions or weights than the first one, with the rank
    and both values; `parts` are those of the run. Gives a line on clocks that are apart, which harm nothing; empty
    where they are not."""
    if ranks.world_size == 1:
        return ""
    mine = {"host": socket.gethostname(), "time": time.time(), "facts": facts_of(parts, fingerprints)}
    all_of_them = ranks.gather(mine)
    if problems := differences(
        [each["facts"] for each in all_of_them], [each["host"] for each in all_of_them]
    ):
        raise InputError(*problems)
    clocks = [each["time"] for each in all_of_them]
    apart = max(clocks) - min(clocks)
    if apart < CLOCKS_APART_S:
        return ""
    behind = clocks.index(min(clocks))
    return f"the clock of {all_of_them[behind]['host']} (rank {behind}) is {apart:.0f} s behind; nothing depends on it"


def differences(facts: Sequence[Mapping[str, str]], hosts: Sequence[str]) -> list[Problem]:
    """A problem for each fact in which ranks differ from the first one."""
    found: list[Problem] = []
    for name in dict.fromkeys(name for each in facts for name in each):
        first = facts[0].get(name, "nothing")
        others = [rank for rank, each in enumerate(facts) if each.get(name, "nothing") != first]
        if others:
            got = f"{facts[others[0]].get(name, 'nothing')} on rank {others[0]} ({hosts[others[0]]})"
            also = f", and others on ranks {', '.join(map(str, others[1:]))}" if others[1:] else ""
            found.append(
                Problem(
                    what=f"{name}: is not the same on all ranks",
                    got=got + also,
                    allowed=f"{first}, as on rank 0 ({hosts[0]})",
                    fix="give every host the same files, recipe, overrides and versions",
                )
            )
    return found


def dealt_over_ranks(parts: Checked) -> Iterator[Finding]:
    """The gradient of a window whole, on each rank by itself, against the sum of its pieces dealt among the ranks.

    A window that agrees settles it, as in `cut_two_ways`; the ranks look at as many windows, since they sum together.
    """
    ranks = parts.stepper.ranks
    if ranks.world_size == 1:
        return
    parts.model.eval()
    bound = CUT_TOLERANCE[parts.precision]
    told: list[str] = []
    for cut in parts.examples.cuts():
        (parts.stepper.objective(cut.whole).objective / cut.num_targets).backward()
        whole = gathered(parts.model)
        pieces = cut.pieces[ranks.rank :: ranks.world_size]
        targets = torch.tensor(float(cut.num_targets), device=parts.device)
        accumulate(parts.stepper.objective, pieces, targets=targets)
        summed = gathered(parts.model)
        ranks.sum_tensors([summed])
        by_rank = ranks.gather([float((whole - summed).norm() / whole.norm()), float(whole.norm())])
        shares = [share if math.isfinite(share) else math.inf for share, _ in by_rank]
        if max(shares) <= bound:
            return
        told.append(said_of(shares, [norm for _, norm in by_rank], bound=bound))
    yield GRADIENT_DEPENDS_ON_RANKS.found("; in another window ".join(told))


def said_of(shares: Sequence[float], norms: Sequence[float], *, bound: float) -> str:
    """How far the gradient of each rank is from the sum of all, and which rank is apart."""
    usual = sorted(norms)[len(norms) // 2]
    apart = [rank for rank, norm in enumerate(norms) if not abs(norm - usual) <= bound * usual]
    whose = f"; that of rank {', '.join(map(str, apart))} is not that of the others" if apart else ""
    worst = max(range(len(shares)), key=shares.__getitem__)
    return (
        f"dealt over {len(shares)} ranks the gradient of a window differs by {shares[worst]:.2g} of its norm from that "
        f"of rank {worst} alone (bound {bound:g}){whose}"
    )
