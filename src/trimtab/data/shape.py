"""The one shape that all packs of a run have: planned from the two token budgets and a sample of lengths."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from trimtab.arguments import described, whole_number, wrong
from trimtab.errors import input_error

_SLACK = 1.05
_STANDARD_ERRORS = 4.0
_SLOT_MULTIPLE = 64
_LONGEST_MULTIPLE = 8


@dataclass(frozen=True, slots=True)
class PackShape:
    """How large packs are and how they are filled."""

    num_packs: int
    """Packs that a window is cut into; a few more where it does not fit."""
    source_slots: int
    target_slots: int
    max_segments: int
    """Segments of a pack, those that fill its tail included."""
    source_max_seqlen: int
    """No source segment is longer."""
    target_max_seqlen: int
    fixed: bool
    """Every pack has exactly these slots and boundaries, for kernels that are compiled once; its tail is filled with
    segments that do not count. Otherwise packs are as long as what is in them."""
    sort: bool
    """The window is sorted by length before it is cut, for models that pad rows."""
    prefix: bool = False
    """Target streams say how many leading tokens of each segment are given, for models that read them both ways."""
    full_first: bool = True
    """Fixed packs without sources begin with the rows that are as long as a segment may be, which kernels for rows of
    one length can take together. Otherwise rows keep their order."""

    @property
    def has_source(self) -> bool:
        """Whether there are sources; language models have none, and an empty source stream."""
        return self.source_slots > 0

    @property
    def tail_segments(self) -> int:
        """Segments that the tail of a pack may need: as many as fill an empty one."""
        if not self.fixed:
            return 0
        return max(
            _parts(self.source_slots, self.source_max_seqlen),
            _parts(self.target_slots, self.target_max_seqlen),
        )

    @property
    def source_capacity(self) -> int:
        """Real source tokens that a pack may hold; the rest is kept so that no target segment of the tail attends to
        an empty source, which has no softmax."""
        tail = _parts(self.target_slots, self.target_max_seqlen) if self.fixed and self.has_source else 0
        return self.source_slots - tail

    @property
    def target_capacity(self) -> int:
        """Real target tokens that a pack may hold."""
        return self.target_slots

    @property
    def segment_capacity(self) -> int:
        """Examples that a pack may hold."""
        return self.max_segments - self.tail_segments


def plan_shape(
    *,
    tokens_per_step: int,
    tokens_per_micro_batch: int,
    lengths: tuple[np.ndarray, np.ndarray],
    max_tokens: int,
    ranks: int = 1,
    fixed: bool,
    sort: bool,
) -> PackShape:
    """The shape for windows of so many target tokens; `lengths` are source and target lengths of a sample of examples.

    Each pack holds an even share of the window's targets and some slack, by default a twentieth. Source slots and
    segments follow from the sample: what an even share needs on average, and four standard errors or a twentieth more.
    Where the sample has no source tokens at all, there are no source slots.
    Raises InputError if an example of `max_tokens` would not fit into a micro-batch.
    """
    for name, number in (
        ("tokens_per_step", tokens_per_step),
        ("tokens_per_micro_batch", tokens_per_micro_batch),
        ("max_tokens", max_tokens),
        ("ranks", ranks),
    ):
        whole_number(number, name=f"plan_shape: {name}", least=1, fix="pass a count of tokens, or of ranks")
    if not isinstance(lengths, tuple) or len(lengths) != 2 or len(lengths[0]) != len(lengths[1]):
        raise wrong(
            "plan_shape: lengths",
            "are no lengths of pairs",
            got=f"{[len(each) for each in lengths]} lengths"
            if isinstance(lengths, tuple)
            else described(lengths),
            allowed="source and target lengths of the same examples, two arrays as long as each other",
            fix="pass (source.lengths, target.lengths) of two Ragged",
        )
    if max_tokens > tokens_per_micro_batch:
        raise input_error(
            "step.tokens_per_micro_batch: an example of data.max_tokens does not fit into a micro-batch",
            got=f"tokens_per_micro_batch {tokens_per_micro_batch}, max_tokens {max_tokens}",
            allowed=f"tokens_per_micro_batch of at least {max_tokens}",
            fix="raise step.tokens_per_micro_batch or lower data.max_tokens",
        )
    num_packs = _rounded_up(_parts(tokens_per_step, tokens_per_micro_batch), ranks)
    share = tokens_per_step / num_packs
    longest = _rounded_up(max_tokens, _LONGEST_MULTIPLE)
    target_slots = _rounded_up(max(math.ceil(_SLACK * share), longest), _SLOT_MULTIPLE)
    needs = [_need(source, target, share) for source, target in _alike(*lengths, num_packs if sort else 1)]
    tail = _parts(target_slots, longest) if fixed else 0
    source_need = max(longest, *(source for source, _ in needs))
    source_slots = _rounded_up(source_need + tail, _SLOT_MULTIPLE) if lengths[0].any() else 0
    source_max_seqlen = longest if source_slots else 0
    shape = PackShape(
        num_packs, source_slots, target_slots, target_slots, source_max_seqlen, longest, fixed, sort
    )
    if not fixed:
        return shape
    segments = max(segments for _, segments in needs) + shape.tail_segments
    return replace(shape, max_segments=segments)


def without_slack(shape: PackShape, *, tokens_per_step: int) -> PackShape:
    """The shape without slack in the target slots, where one pack takes a whole window and every target token counts in
    it: then it never holds more than its tokens. Where slots are filled up, slack is work."""
    if not shape.fixed or shape.num_packs > 1:
        return shape
    slots = _rounded_up(max(tokens_per_step, shape.target_max_seqlen), _SLOT_MULTIPLE)
    return replace(shape, target_slots=min(slots, shape.target_slots))


def with_capacity_for(
    shape: PackShape,
    kinds: Iterable[tuple[np.ndarray, np.ndarray, float]],
    *,
    target_slots: int,
) -> PackShape:
    """The fixed shape with so many target slots, or a few more, and room for packs of each of several kinds of
    examples: their source and target lengths, in a sample, and the targets of a pack."""
    target_slots = _rounded_up(max(target_slots, shape.target_max_seqlen), _SLOT_MULTIPLE)
    shape = replace(shape, target_slots=target_slots)
    needs = [_need(source, target, targets) for source, target, targets in kinds if len(target)]
    if shape.has_source:
        tail = _parts(target_slots, shape.target_max_seqlen)
        longest = max([shape.source_max_seqlen, *(source for source, _ in needs)])
        shape = replace(shape, source_slots=_rounded_up(longest + tail, _SLOT_MULTIPLE))
    segments = max((segments for _, segments in needs), default=1)
    return replace(shape, max_segments=segments + shape.tail_segments)


def _need(source: np.ndarray, target: np.ndarray, share: float) -> tuple[int, int]:
    """Source slots and examples that belong to `share` target tokens of such lengths, with slack."""
    ratio = source.sum() / target.sum()
    examples = share / target.mean()
    # The sample errs too, the more the smaller it is.
    errors = _STANDARD_ERRORS * math.sqrt(examples * (1 + examples / len(target)))
    source_slack = max((_SLACK - 1) * share * ratio, errors * float(np.std(source - ratio * target)))
    example_slack = max((_SLACK - 1) * examples, errors * float(np.std(target) / target.mean()))
    return math.ceil(share * ratio + source_slack), math.ceil(examples + example_slack)


def _alike(source: np.ndarray, target: np.ndarray, num_groups: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The sample as the packs will see it: sorted by length and cut into groups with even targets, or in one group."""
    if len(target) == 0:
        raise input_error(
            "data.train: no example is left to train on", fix="loosen data.transforms or data.max_tokens"
        )
    order = np.lexsort((source, target))
    ends = np.cumsum(target[order])
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, num_groups) / num_groups)
    groups = [group for group in np.split(order, cuts) if len(group)]
    return [(source[group], target[group]) for group in groups]


def _parts(size: int, part: int) -> int:
    return -(-size // part) if size else 0


def _rounded_up(number: int, multiple: int) -> int:
    return _parts(number, multiple) * multiple
