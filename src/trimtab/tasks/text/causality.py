"""Checks that the prediction of a target token depends on its source and the tokens before it, and nothing else.

Tokens are exchanged where they must not matter, and the vectors elsewhere must stay as they were; exchanged where they
must matter, and the vectors must change. Shapes and dropout stay the same, so what is not seen changes no bit on most
kernels; it is the program that trains which is looked at, compiled or not.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch

from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.finding import Finding
from trimtab.model.mixture_of_depths import routed_causally
from trimtab.run_findings.built_parts import FUTURE_SEEN
from trimtab.tasks.diagnoses import ALONE, UNSEEN, differs_alone, not_seen, others_seen
from trimtab.tasks.examples import Checked
from trimtab.tasks.program import hidden, hidden_in_training
from trimtab.tasks.text.probing import (
    between,
    exchanged,
    few_examples,
    lengths_at,
    one_pack,
    size,
)
from trimtab.types import PackedBatch


def sees_what_it_should(parts: Checked) -> Iterator[Finding]:
    """Later tokens, other examples, and padding are not seen; the source and earlier tokens are."""
    with routed_causally(parts.model):
        yield from _sees_what_it_should(parts)


def _sees_what_it_should(parts: Checked) -> Iterator[Finding]:
    window = few_examples(parts)
    pack = one_pack(parts, window)
    before = hidden_in_training(parts, pack)
    every_other, late = halves(pack)
    everywhere = pack.target.segments < pack.num_segments
    others = everywhere & ~every_other
    target = exchanged(pack.target, where=late, num_ids=parts.model.num_ids)
    by_target = hidden_in_training(parts, replace(pack, target=target)) - before
    by_source = torch.zeros_like(before)
    if parts.batching.shape.has_source:
        sources = (pack.source.segments % 2 == 0) & (pack.source.segments < pack.num_segments)
        num_ids = parts.datasets.tokenizers.source.num_ids
        source = exchanged(pack.source, where=sources, num_ids=num_ids)
        by_source = hidden_in_training(parts, replace(pack, source=source)) - before
    typical = size(before, everywhere)
    early = every_other & ~late
    yield from future_seen(size(by_target, early) / typical, bound=UNSEEN[parts.precision])
    leaks = max(size(by_target, others), size(by_source, others)) / typical
    yield from others_seen(leaks, bound=UNSEEN[parts.precision])
    if bool(late.any()):
        yield from not_seen("target tokens before it", size(by_target, late) / typical)
    if parts.batching.shape.has_source:
        yield from not_seen("source", size(by_source, every_other) / typical)
    yield from unlike_alone(parts, window, pack)


def halves(pack: PackedBatch) -> tuple[torch.Tensor, torch.Tensor]:
    """Where every other example is in the target stream, and the later half of each of these, as far as it is
    read in one direction."""
    stream = pack.target
    every_other = (stream.segments % 2 == 0) & (stream.segments < pack.num_segments)
    late = every_other & (stream.positions > 0) & (2 * stream.positions >= lengths_at(stream))
    if stream.prefix is not None:
        late = late & (stream.positions >= stream.prefix[stream.segments])
    return every_other, late


def future_seen(share: float, *, bound: float) -> Iterator[Finding]:
    """A finding where later target tokens changed the outputs before them."""
    if not share <= bound:
        yield FUTURE_SEEN.found(
            f"with other target tokens later in a sentence, what is predicted before them changes by "
            f"{share:.2g} of its size (bound {bound:g})"
        )


def unlike_alone(parts: Checked, window: TextGlobalBatch, pack: PackedBatch) -> Iterator[Finding]:
    """A finding where the shortest or the longest example differs alone from what it is in a pack with others. Without
    dropout, which is drawn by a token's place in the pack."""
    parts.model.eval()
    before = hidden(parts, pack)
    bound, lengths = ALONE[parts.precision], window.target.lengths
    for number in dict.fromkeys((int(lengths.argmin()), int(lengths.argmax()))):
        alone = one_pack(parts, between(window, number, number + 1))
        together = before[pack.target.segments == number]
        apart = hidden(parts, alone)[: len(together)] - together
        share = float(apart.norm() / together.norm())
        if found := [
            *differs_alone(share, bound=bound, targets=len(together), others=len(window.target) - 1)
        ]:
            yield from found
            return
