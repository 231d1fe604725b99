"""What a batch of a DataLoader is made of, where the script itself writes the data set or the collation."""

from typing import TYPE_CHECKING, Final

from trimtab.checks.read.flow.values import Value

if TYPE_CHECKING:
    from trimtab.checks.read.flow.follow import Follower

_BATCH: Final = "<batch>"
_UNKNOWN: Final = Value()


def keep_batch(follower: "Follower", element: Value, loader: Value) -> None:
    """Notes of what a loop takes from a DataLoader how the script makes it: by its `collate_fn`, else by `__getitem__`
    of its data set. Both are followed once for each loader, and what happens in them is no event of the loop."""
    if _BATCH not in loader.fields:
        loader.fields[_BATCH] = _made_by(follower, loader) or _UNKNOWN
    if loader.fields[_BATCH] is not _UNKNOWN:
        element.fields[_BATCH] = loader.fields[_BATCH]


def _made_by(follower: "Follower", loader: Value) -> Value | None:
    collate, data = loader.argument(6, "collate_fn"), loader.argument(0, "dataset")
    row = Value("element", of=data)
    if collate is not None and collate.made in ("function", "bound"):
        rows = Value("element", "rows", args=(row,))
        given = (rows,) if collate.made == "function" or collate.of is None else (collate.of, rows)
        return _followed(follower, collate, given)
    if collate is not None or data is None or data.made != "object" or data.of is None:
        return None
    method = follower.attribute(data, "__getitem__", data.of.node)
    return _followed(follower, method, (data, row)) if method.made == "bound" else None


def _followed(follower: "Follower", function: Value, given: tuple[Value, ...]) -> Value | None:
    """What a function gives back, without its events: it is followed again, as any function that nothing calls."""
    path, count, reached = follower.path, len(follower.flow.events), function.node in follower.reached
    follower.path = ()
    try:
        return follower.enter(function, given, {})
    finally:
        follower.path = path
        del follower.flow.events[count:]
        if not reached:
            follower.reached.discard(function.node)


def part_of_batch(value: Value | None) -> Value | None:
    """What a part of a batch is made by: of `x` in `for x, y in loader` the first that the collation returns; the
    value itself where that cannot be seen."""
    if value is None:
        return None
    if value.made == "element" and _BATCH in value.fields:
        return value.fields[_BATCH]
    if value.made not in ("item", "attribute") or value.of is None:
        return value
    batch = part_of_batch(value.of)
    if batch is None or batch is value.of:
        return value
    key = value.name if value.made == "attribute" else value.args[0].constant if value.args else None
    if batch.made == "list" and type(key) is int and -len(batch.args) <= key < len(batch.args):
        return batch.args[key]
    if batch.made == "dict" and isinstance(key, str) and key in batch.keywords:
        return batch.keywords[key]
    return value


def filling_of(value: Value | None) -> Value | None:
    """What `pad_sequence` fills a part of a batch with; None where something else made it."""
    made = part_of_batch(value)
    if made is None or made.made != "call" or made.last != "pad_sequence":
        return None
    return made.argument(2, "padding_value") or Value("constant", constant=0)
