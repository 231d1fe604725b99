"""All checks before step 1, in their order; none of them leaves a trace on the parts."""

from collections.abc import Callable, Iterator

from trimtab.build import Parts
from trimtab.data.corpus_findings import ListedPairs, corpus_findings
from trimtab.data.shared_passages import documents_in_training
from trimtab.data.tags import untagged_sets
from trimtab.finding import Finding
from trimtab.training.preflight.cut import cut_two_ways
from trimtab.training.preflight.decay import decay_where_it_belongs
from trimtab.training.preflight.decoding import five_lines
from trimtab.training.preflight.first_loss import first_loss
from trimtab.training.preflight.gradients import every_weight_learns
from trimtab.training.preflight.labels import labels_come_next, loss_reads_its_label
from trimtab.training.preflight.memory import does_not_fit, is_out_of_memory, longest_batch
from trimtab.training.preflight.modes import dropout_where_it_belongs
from trimtab.training.preflight.owners import optimizer_has_the_weights
from trimtab.training.preflight.program import plainly
from trimtab.training.preflight.schedule import schedule_as_said
from trimtab.training.preflight.sight import sees_what_it_should
from trimtab.training.preflight.step_order import steps_in_order
from trimtab.training.preflight.symbols import symbols_are_apart, text_comes_back
from trimtab.training.preflight.text import blank_references, dropped_examples, unknown_pieces
from trimtab.training.preflight.ties import weights_survive_loading
from trimtab.training.preflight.untouched import untouched
from trimtab.training.preflight.updates import skipped_steps_change_nothing, weights_follow_the_rate
from trimtab.training.rates import peak_out_of_range
from trimtab.training.refreshes import few_refreshes

Check = Callable[[Parts], Iterator[Finding]]

OF_THE_MODEL: tuple[Check, ...] = (
    first_loss,
    longest_batch,
    dropout_where_it_belongs,
    labels_come_next,
    loss_reads_its_label,
    sees_what_it_should,
    cut_two_ways,
    every_weight_learns,
    optimizer_has_the_weights,
    schedule_as_said,
    steps_in_order,
    weights_follow_the_rate,
    skipped_steps_change_nothing,
    decay_where_it_belongs,
    weights_survive_loading,
    five_lines,
)
SPEAK_FOR_THE_REST = ("E202", "L201", "L202", "L204", "P201", "S210")
"""After an error with one of these codes every later check would say the same in other words."""


def preflight(parts: Parts) -> Iterator[Finding]:
    """What every check found, cheapest first; weights, moments, gradients, modes and random numbers stay as they
    were."""
    yield from of_the_data(parts)
    for check in OF_THE_MODEL:
        found = told(check, parts)
        yield from found
        if any(each.severity == "error" and each.code in SPEAK_FOR_THE_REST for each in found):
            return


def of_the_data(parts: Parts) -> Iterator[Finding]:
    """Checks for which no model runs."""
    yield from unknown_pieces(parts)
    yield from dropped_examples(parts)
    yield from blank_references(parts)
    yield from symbols_are_apart(parts)
    yield from text_comes_back(parts)
    valid = [ListedPairs(v.name, v.tags, v.sources, v.references) for v in parts.sources.valid.values()]
    pairs = [corpus for corpus in parts.sources.corpora if not corpus.has_documents]
    yield from corpus_findings(pairs, [each for each in valid if len(each)])
    texts = {name: v.documents for name, v in parts.sources.valid.items() if v.documents is not None}
    yield from documents_in_training(parts.sources.corpora, texts)
    yield from untagged_sets(parts.recipe.data)
    yield from peak_out_of_range(parts)
    yield from few_refreshes(parts)


def told(check: Check, parts: Parts) -> list[Finding]:
    """What one check found; what memory has no room for is a finding too, whichever check meets it first.

    Nothing that is compiled runs but where a check says `as_trained`.
    """
    try:
        with untouched(parts), plainly():
            return list(check(parts))
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return [does_not_fit(parts, error)]
