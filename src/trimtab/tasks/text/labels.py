"""Whether each label is the token that comes next, whether packs hold the window's examples, and whether the loss of a
label is that of its own place."""

from collections.abc import Iterator
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.finding import Finding
from trimtab.run_findings.built_parts import (
    EXAMPLES_LOST_IN_PACKS,
    LABELS_NOT_NEXT_TOKENS,
    LOSS_OF_ANOTHER_TOKEN,
)
from trimtab.tasks.examples import Checked
from trimtab.tasks.program import SEED, as_trained, hidden_in_training
from trimtab.tasks.text.probing import few_examples, one_pack, probe_window
from trimtab.types import IGNORE, PackedBatch, Ragged

NATS = {"fp32": 1e-3, "tf32": 1e-2, "bf16_mixed": 5e-2, "fp16_mixed": 1e-2, "bf16": 5e-2}
"""By how much the loss of one token may be off for rounding."""


def labels_come_next(parts: Checked) -> Iterator[Finding]:
    """The run's own cut of a window: its labels against its decoder inputs, its examples against the window's."""
    window = probe_window(parts)
    packs = parts.batching.cut(window)
    tokenizer = parts.datasets.tokenizer
    # A document may continue in another row, which then has no end symbol.
    end = tokenizer.end if parts.examples.kind.rows_end else None
    wrong = [each for pack in packs if (each := shift_error(pack, start=tokenizer.start, end=end))]
    if wrong:
        yield LABELS_NOT_NEXT_TOKENS.found(f"{len(wrong)} of {len(packs)} packs: {wrong[0]}")
        return
    if different := lost_examples(packs, window):
        yield EXAMPLES_LOST_IN_PACKS.found(
            f"a window of {len(window.target)} examples with {window.num_targets} targets, cut in {len(packs)} "
            f"packs: {different}"
        )


def shift_error(pack: PackedBatch, *, start: int, end: int | None) -> str:
    """What is wrong with the labels of a pack, empty if nothing is; without `end` rows may end with any token."""
    ids, labels, ends = pack.target.ids, pack.labels, pack.target.cu_seqlens[: pack.num_segments + 1].long()
    size = int(ends[-1])
    last = torch.zeros(size, dtype=torch.bool)
    last[ends[1:] - 1] = True
    ending = labels[:size] if end is None else torch.full_like(labels[:size], end)
    following = torch.where(last, ending, ids.roll(-1)[:size])
    counts = labels[:size] != IGNORE
    if bool((ids[ends[:-1]] != start).any()):
        return "an example does not begin with the start symbol"
    if bool((labels[size:] != IGNORE).any()):
        return "slots that hold no example count in the loss"
    off = counts & (labels[:size] != following)
    if bool(off.any()):
        shown = float((labels[:size] == ids[:size])[counts].float().mean())
        return (
            f"{int(off.sum())} of {int(counts.sum())} labels are not the token that follows "
            f"({shown:.0%} are the token that was shown)"
        )
    return ""


def lost_examples(packs: list[PackedBatch], window: TextGlobalBatch) -> str:
    """How what the packs hold differs from the window, empty where it does not."""
    wanted = sorted(zip(rows(window.source), rows(window.target), strict=True))
    found = sorted(example for pack in packs for example in examples(pack))
    counted = sum(int((pack.labels != IGNORE).sum()) for pack in packs)
    said = sum(pack.num_targets for pack in packs)
    if counted != window.num_targets or said != window.num_targets:
        return f"{counted} labels count, and {said} are said to"
    return "" if found == wanted else f"{len(found)} examples, not all of them the same"


def rows(ragged: Ragged) -> list[tuple[int, ...]]:
    """Rows of ids."""
    return [tuple(ragged.row(number).tolist()) for number in range(len(ragged))]


def examples(pack: PackedBatch) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Source and target of each segment, as the model reads them."""
    source, target = (stream.cu_seqlens.tolist() for stream in (pack.source, pack.target))
    for number in range(pack.num_segments):
        here, there = slice(*source[number : number + 2]), slice(*target[number : number + 2])
        last = pack.labels[there][-1:]
        yield (
            tuple(pack.source.ids[here].tolist()),
            tuple(torch.cat([pack.target.ids[there][1:], last]).tolist()),
        )


def loss_reads_its_label(parts: Checked) -> Iterator[Finding]:
    """The loss of a single label, by the program that trains, against the logarithm of its probability, written out at
    its own place; both with the same dropout."""
    pack = one_pack(parts, few_examples(parts))
    longest = int(pack.target.cu_seqlens.diff()[: pack.num_segments].argmax())
    start, stop = pack.target.cu_seqlens[longest : longest + 2].tolist()
    labels, bound = pack.labels[start:stop], NATS[parts.precision]
    costs = cost_of_each(parts, hidden_in_training(parts, pack)[start:stop], labels)
    apart, place = most_unlike_its_neighbours(costs)
    if labels[place] == IGNORE or apart <= 4 * bound:
        return  # nothing here tells one place from another
    alone = torch.full_like(pack.labels, IGNORE)
    alone[start + place] = labels[place]
    torch.manual_seed(SEED)
    with as_trained():
        loss = float(parts.stepper.objective(replace(pack, labels=alone, num_targets=1)).loss)
    expected = float(costs[place, place])
    if not abs(loss - expected) <= bound:
        yield LOSS_OF_ANOTHER_TOKEN.found(
            f"token {place + 1} of an example costs {loss:.3f} nats; what the model predicts at its place says "
            f"{expected:.3f} (bound {bound:g})"
        )


@torch.no_grad()
def cost_of_each(
    parts: Checked, vectors: Float[Tensor, "places dim"], labels: Int[Tensor, "places"]
) -> Float[Tensor, "places labels"]:
    """Nats that label j would cost if it were predicted from vector i."""
    wide = vectors.to(torch.promote_types(vectors.dtype, torch.float32))
    return -parts.model.logits(wide).log_softmax(1)[:, labels.clamp(min=0)]


def most_unlike_its_neighbours(costs: Float[Tensor, "places places"]) -> tuple[float, int]:
    """The place whose label costs most differently there than the labels beside it do, and than it does beside; and by
    how much."""
    own, size = costs.diagonal(), len(costs)
    gaps = torch.full_like(own, torch.inf)
    for step in (-1, 1):
        beside = torch.arange(size, device=costs.device) + step
        there = beside.clamp(0, size - 1)
        places = torch.arange(size, device=costs.device)
        gap = torch.minimum((costs[places, there] - own).abs(), (costs[there, places] - own).abs())
        gaps = torch.minimum(gaps, torch.where(there == beside, gap, torch.inf))
    gaps = gaps.nan_to_num(posinf=0.0)
    return float(gaps.max()), int(gaps.argmax())
