"""What the newest look inside the model saw, by layer and by tensor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trimtab.report.plain_values import count, named_numbers
from trimtab.report.run_data import RunData

MOST_LAYERS, MOST_TENSORS = 300, 400
TABLES = {
    "distinct_by_depth": (
        "Distinct vectors by depth",
        "The norm of each layer's output without its mean over tokens, as a share of the norm of the output: 0 where "
        "all tokens have the same vector.",
    ),
    "gradient_rms": (
        "Gradient by tensor",
        "Root mean square of the gradient of each tensor, on one batch of the validation set.",
    ),
    "attention_by_token": (
        "Tokens with most attention",
        "The share of a side's attention that all occurrences of a token get, averaged over layers, heads and "
        "queries.",
    ),
    "attention_on_source": (
        "Attention on the source by position",
        "The share of the decoder's attention on each tenth of the source.",
    ),
    "position_use": (
        "Use of positions",
        "The increase of the loss, in nats per target, without the positions; the similarity of hidden vectors when a "
        "text is shifted.",
    ),
    "context_use": (
        "Use of context",
        "The increase of the loss, in nats per target, when each text is given the context of another.",
    ),
    "unseen_tokens": (
        "Unseen tokens",
        "The share of the vocabulary that no example has contained since the run began or resumed.",
    ),
}
"""Of the keys of `health.jsonl`, which have a table of their own: its title and what its numbers are."""
EARLIER_NAMES = {"unseen_tokens": "untouched_rows"}
"""Of these keys, in runs of trimtab 0.1 before they were renamed."""
SMALLEST, LARGEST = 1e-5, 1e-1
"""Of update to weight, as `watch.update_ratio` judges."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One number as a bar."""

    name: str
    value: float
    share: float
    """Of the longest bar, 0 to 1."""
    is_odd: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers of one look."""

    title: str
    note: str
    step: int
    rows: Sequence[Bar]


@dataclass(frozen=True, slots=True)
class LayerTables:
    """The tables, each with the step of its look."""

    depth_step: int
    depth: Sequence[Bar]
    """Root mean square of what each layer gave on, in their order."""
    ratios_step: int
    ratios: Sequence[Bar]
    """Update to weight by tensor."""
    others: Sequence[Table] = ()
    """Those of TABLES that the run has."""


def layer_tables(run: RunData) -> LayerTables | None:
    """The newest looks; None for a run that has none by layer."""
    found: dict[str, tuple[int, list[tuple[str, float]]]] = {}
    for key, most in (("rms_by_depth", MOST_LAYERS), ("update_ratios", MOST_TENSORS)):
        newest = next((each for each in reversed(run.health) if each.get(key)), None)
        rows = [*named_numbers(newest.get(key), most)] if newest else []
        found[key] = (count((newest or {}).get("step")), rows)
    others = [*_others(run)]
    if not others and not any(rows for _, rows in found.values()):
        return None
    depth_step, depth = found["rms_by_depth"]
    ratios_step, ratios = found["update_ratios"]
    return LayerTables(
        depth_step,
        _bars(depth),
        ratios_step,
        [Bar(b.name, b.value, b.share, not SMALLEST <= b.value <= LARGEST) for b in _bars(ratios)],
        others,
    )


def _others(run: RunData) -> Iterator[Table]:
    for key, (title, note) in TABLES.items():
        names = (key, EARLIER_NAMES.get(key, key))
        found = ((each, each.get(name)) for each in reversed(run.health) for name in names)
        newest, numbers = next(((each, its) for each, its in found if its), (None, None))
        rows = [*named_numbers(numbers, MOST_TENSORS)]
        if newest and rows:
            yield Table(title, note, count(newest.get("step")), _bars(rows))


def _bars(rows: Sequence[tuple[str, float]]) -> list[Bar]:
    largest = max((abs(value) for _, value in rows), default=0.0)
    return [Bar(name, value, abs(value) / largest if largest > 0 else 0.0) for name, value in rows]
