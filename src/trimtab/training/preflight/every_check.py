"""All checks before step 1, in their order; none of them leaves a trace on the parts."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.distributed.agree import any_rank
from trimtab.distributed.sharding import own_part
from trimtab.errors import is_out_of_memory
from trimtab.finding import Finding
from trimtab.model.block import nothing_skipped
from trimtab.model.lora import without_adapter
from trimtab.run_findings.built_parts import ADAPTER_CHANGES_BASE
from trimtab.step.precision import autocast
from trimtab.tasks.examples import Checked
from trimtab.tasks.program import plainly
from trimtab.tasks.task import Check
from trimtab.training.preflight.cut import cut_two_ways, first_loss
from trimtab.training.preflight.decay import decay_where_it_belongs
from trimtab.training.preflight.gradients import every_weight_learns, optimizer_has_the_weights
from trimtab.training.preflight.memory import does_not_fit, longest_batch
from trimtab.training.preflight.modes import dropout_where_it_belongs
from trimtab.training.preflight.ranks import dealt_over_ranks
from trimtab.training.preflight.restored_weights import state_restored, zeros_filled
from trimtab.training.preflight.schedule import schedule_as_said
from trimtab.training.preflight.step_order import steps_in_order
from trimtab.training.preflight.ties import weights_survive_loading
from trimtab.training.preflight.updates import skipped_steps_change_nothing, weights_follow_the_rate
from trimtab.training.rates import peak_out_of_range
from trimtab.training.refreshes import few_refreshes

FIRST: tuple[Check, ...] = (first_loss, longest_batch, dropout_where_it_belongs)
"""Before those of the task."""
THEN: tuple[Check, ...] = (
    cut_two_ways,
    dealt_over_ranks,
    every_weight_learns,
    optimizer_has_the_weights,
    schedule_as_said,
    steps_in_order,
    weights_follow_the_rate,
    skipped_steps_change_nothing,
    decay_where_it_belongs,
    weights_survive_loading,
)
"""After those of the task on its batches."""
WITHOUT_ALL_GRADIENTS: tuple[Check, ...] = (every_weight_learns, optimizer_has_the_weights, schedule_as_said)
"""The same where gradients are released: the others hold all gradients or copies of all weights, for which there is no
memory in such a run."""
WHERE_DIVIDED: tuple[Check, ...] = (first_loss, longest_batch)
"""Those of a model that is divided among ranks, whose modules run in all of them or in none; the others look into
single modules, or take steps of their own with whole weights."""
SPEAK_FOR_THE_REST = ("E202", "L201", "L202", "L204", "P201", "S210")
"""After an error with one of these codes every later check would say the same in other words."""


def preflight(parts: Checked) -> Iterator[Finding]:
    """What every check found, cheapest first; weights, moments, gradients, modes and random numbers stay as they
    were."""
    yield from of_the_data(parts)
    with state_restored(parts), plainly():
        yield from adapter_begins_as_base(parts)
    for check in of_the_model(parts):
        found = run_check(check, parts)
        yield from found
        ends = any(each.severity == "error" and each.code in SPEAK_FOR_THE_REST for each in found)
        if any_rank(ends, parts.stepper.ranks):
            return


def of_the_model(parts: Checked) -> tuple[Check, ...]:
    """Those that every task has, and the task's own, in their order."""
    own = parts.task.checks
    if parts.stepper.ranks.world_size > 1 and parts.recipe.parallel.kind == "fsdp":
        return WHERE_DIVIDED
    then = THEN if parts.recipe.step.gradients == "kept" else WITHOUT_ALL_GRADIENTS
    return (*FIRST, *own.batches, *then, *own.use)


def of_the_data(parts: Checked) -> Iterator[Finding]:
    """Checks for which no model runs."""
    yield from parts.task.checks.data(parts)
    yield from peak_out_of_range(parts)
    yield from few_refreshes(parts)


def run_check(check: Check, parts: Checked) -> list[Finding]:
    """What one check found; what memory has no room for is a finding too, whichever check meets it first.

    Nothing that is compiled runs but where a check says `as_trained`.
    """
    try:
        with state_restored(parts), zeros_filled(parts), nothing_skipped(parts.model), plainly():
            return list(check(parts))
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return [does_not_fit(parts, error)]


MOST = 1e-3
"""Of the largest number of a hidden vector, or of the loss: what rounding may change in half precision, where DoRA adds
a product."""


def adapter_begins_as_base(parts: Checked) -> Iterator[Finding]:
    """Looks at a model whose adapter has learned nothing yet, its second matrices being zero; one that goes on is
    passed over."""
    named = dict(parts.model.named_parameters())
    learned = any(own_part(named[name]).any() for name in parts.model.begins_zero)
    if not parts.model.begins_zero or any_rank(learned, parts.stepper.ranks):
        return
    parts.model.eval()
    name = "a hidden vector" if parts.sharding is None else "the loss of a batch"
    found = shown(parts)
    with without_adapter(parts.model):
        base = shown(parts)
    differs, most = float((found - base).abs().max()), float(base.abs().max())
    if not differs <= MOST * most:
        yield ADAPTER_CHANGES_BASE.found(
            f"with the new adapter {name} differs by {differs:.2g} from that of the base, whose largest number is "
            f"{most:.2g}"
        )


@torch.no_grad()
def shown(parts: Checked) -> Float[Tensor, "..."]:
    """What the model makes of a few examples: hidden vectors; the loss where it is divided among ranks, since then it
    runs as a whole alone."""
    batch = parts.examples.few()
    if parts.sharding is not None:
        return parts.stepper.objective(batch).loss.float()
    with autocast(parts.precision, parts.device):
        return parts.model(batch).float()
