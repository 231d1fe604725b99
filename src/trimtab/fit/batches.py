"""The largest micro-batch of a recipe: its slots, as `data/shape.py` plans them, before any text was read."""

import math
from dataclasses import dataclass
from pathlib import Path

from trimtab.config.corpora import ParallelFiles
from trimtab.config.run import Recipe

SLACK = 1.05
SLOT_MULTIPLE = 64
LONGEST_MULTIPLE = 8
USUAL_LENGTH = 0.25
"""Of an example, as a share of the longest one, where nothing says how long texts are."""


@dataclass(frozen=True, slots=True)
class Slots:
    """What a micro-batch holds, padding included."""

    target: int
    source: int
    targets: int
    """Labels that the loss is made of."""
    micro_batches: int
    """Of a step, on each process."""
    longest: int
    assumed_source: bool = False
    """Whether the source's slots are a guess; the resolved recipe of a run has the true number."""


def slots_of(recipe: Recipe, folder: Path, *, ranks: int = 1) -> Slots:
    """The slots of a full micro-batch in kernels for packs, of a step that so many processes share."""
    step, most = recipe.step, recipe.data.max_tokens
    micro_batches = rounded(-(-step.tokens_per_step // step.micro_batch_tokens), ranks)
    share = step.tokens_per_step / micro_batches
    longest = rounded(most, LONGEST_MULTIPLE)
    if recipe.facts.one_target:
        return _of_texts(recipe, micro_batches, longest, ranks=ranks)
    exact = micro_batches == 1 and not recipe.facts.one_row and not has_context(recipe)
    micro_batches //= ranks
    target = rounded(max(math.ceil((1.0 if exact else SLACK) * share), longest), SLOT_MULTIPLE)
    if recipe.facts.one_row:
        return Slots(target, 0, target, micro_batches, longest)
    given = step.source_tokens_per_micro_batch
    if given is not None:
        return Slots(target, max(given, longest), target, micro_batches, longest)
    need = share * ratio_of_sides(recipe, folder) * SLACK
    source = rounded(math.ceil(max(longest, need)) + -(-target // longest), SLOT_MULTIPLE)
    return Slots(target, source, target, micro_batches, longest, assumed_source=True)


def has_context(recipe: Recipe) -> bool:
    """Whether some target tokens are only context, for which a step has slots besides."""
    return any(each.kind == "context" for each in recipe.data.transforms)


def _of_texts(recipe: Recipe, micro_batches: int, longest: int, *, ranks: int) -> Slots:
    """Classification: a micro-batch is so many examples, each with one target."""
    examples = -(-recipe.step.tokens_per_step // micro_batches)
    given = recipe.step.source_tokens_per_micro_batch
    need = given or math.ceil(SLACK * examples * USUAL_LENGTH * longest)
    slots = rounded(max(need, longest), SLOT_MULTIPLE)
    return Slots(0, slots, examples + -(-slots // longest), micro_batches // ranks, longest, given is None)


def ratio_of_sides(recipe: Recipe, folder: Path) -> float:
    """Bytes of the source for each byte of the target in the training files that are there, 1 where there are none:
    with a shared vocabulary about the ratio of tokens."""
    root = folder / (recipe.data.root or "")
    totals = [0, 0]
    for corpus in recipe.data.train:
        if type(corpus.source) is not str or type(corpus.target) is not str or not _is_two_files(corpus):
            continue
        paths = [root / corpus.source, root / corpus.target]
        if all(path.is_file() for path in paths):
            totals = [total + path.stat().st_size for total, path in zip(totals, paths, strict=True)]
    return totals[0] / totals[1] if all(totals) else 1.0


def _is_two_files(corpus: ParallelFiles) -> bool:
    return corpus.pairs is None and corpus.documents is None and corpus.dataset is None


def rounded(number: int, multiple: int) -> int:
    """Up to the next multiple."""
    return -(-number // multiple) * multiple
