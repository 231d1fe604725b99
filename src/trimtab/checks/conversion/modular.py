"""The tasks of Mammoth as directions of a modular model: which components each has, and how deep these are."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain, count
from typing import Any, cast

from trimtab.checks.conversion.draft import Draft, scalar
from trimtab.checks.kinds.concept_map import text_list
from trimtab.checks.kinds.signs import mapping
from trimtab.checks.kinds.translation.corpora import VALID
from trimtab.checks.record import record

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_+-]*")
GROUPS = {"encoder": "enc_sharing_group", "decoder": "dec_sharing_group"}
LAYERS = {"encoder": "enc_layers", "decoder": "dec_layers"}


@record
class Way:
    """A direction, with its components and its tags."""

    name: str
    languages: tuple[str, str]
    encoder: tuple[str, ...]
    decoder: tuple[str, ...]
    tags: tuple[str, ...]


@record
class Modules:
    """What a modular model is made of."""

    ways: tuple[Way, ...]
    of_task: Mapping[str, str]
    """The direction of each task, by the task's name."""
    encoder: Mapping[str, int]
    """Components with their numbers of layers."""
    decoder: Mapping[str, int]


def modules_of(draft: Draft) -> Modules | None:
    """The directions of a file of Mammoth with several tasks; None where it has one, or its stacks cannot be read.

    A group is a component for each stack it appears in, since weights are shared there within a stack alone. Tasks
    without groups, as older files have them, have an encoder for each source language and a decoder for each target
    language.
    """
    if draft.run.tool != "mammoth":
        return None
    tree = mapping(draft.run.document.tree)
    tasks = {
        name: mapping(value)
        for key in ("data", "tasks")
        for name, value in mapping(tree.get(key)).items()
        if isinstance(value, dict) and name != VALID and isinstance(mapping(value).get("src_tgt"), str)
    }
    depths = {side: _depths(tree.get(key)) for side, key in LAYERS.items()}
    if len(tasks) < 2 or not all(depths.values()):
        return None
    ways: dict[str, Way] = {}
    of_task: dict[str, str] = {}
    for name, task in tasks.items():
        way = _way(name, task, depths)
        if way is None:
            return None
        same = next((each for each in ways.values() if _alike(each, way)), None)
        if same is None:
            own = _unlike([way.name, _word(name), f"{way.name}_2"], ways)
            same = ways[own] = Way(own, way.languages, way.encoder, way.decoder, way.tags)
        of_task[name] = same.name
    return Modules(
        tuple(ways.values()),
        of_task,
        _components("encoder", ways.values(), depths["encoder"]),
        _components("decoder", ways.values(), depths["decoder"]),
    )


def _word(text: str) -> str:
    """What a direction or a language may be called."""
    return re.sub(r"[^A-Za-z0-9_+-]+", "_", text).strip("-") or "_"


def _unlike(names: list[str], taken: Mapping[str, Any]) -> str:
    """The first name that is not taken, or the last with a number behind it."""
    *_, last = names
    numbered = (f"{last}{number}" for number in count(2))
    return next(name for name in chain(names, numbered) if name not in taken)


def _depths(value: Any) -> list[int]:
    counts: list[Any] = list(cast("list[Any]", value)) if isinstance(value, list) else [value]
    known = all(isinstance(count, int) and not isinstance(count, bool) and count > 0 for count in counts)
    return counts if known and counts else []


def _way(name: str, task: Mapping[str, Any], depths: Mapping[str, list[int]]) -> Way | None:
    pair = str(task["src_tgt"])
    source, hyphen, target = pair.partition("-")
    if not hyphen or not source or not target:
        return None
    source, target = _word(source), _word(target)
    pair = f"{source}-{target}"
    stacks: dict[str, tuple[str, ...]] = {}
    for side, key in GROUPS.items():
        language = source if side == "encoder" else target
        groups = text_list(task.get(key)) or [language] * len(depths[side])
        if len(groups) != len(depths[side]) or any(NAME.fullmatch(group) is None for group in groups):
            return None
        one = len(groups) == 1
        stacks[side] = tuple(group if one else f"{group}_{number}" for number, group in enumerate(groups))
    prefix = task.get("src_prefix")
    tags = tuple(prefix.split()) if isinstance(prefix, str) else ()
    return Way(pair, (source, target), stacks["encoder"], stacks["decoder"], tags)


def _alike(one: Way, other: Way) -> bool:
    return (one.languages, one.encoder, one.decoder, one.tags) == (
        other.languages,
        other.encoder,
        other.decoder,
        other.tags,
    )


def _components(side: str, ways: Any, depths: list[int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for way in ways:
        names = way.encoder if side == "encoder" else way.decoder
        found |= dict(zip(names, depths, strict=True))
    return found


def write_directions(draft: Draft, modules: Modules) -> None:
    """Writes the components and directions of the branch `model`, and accounts for what says them."""
    for key in LAYERS.values():
        draft.key(key)
    for name in modules.of_task:
        for key in ("data", "tasks"):
            for part in (*GROUPS.values(), "src_prefix", "src_tgt"):
                draft.account(draft.run.keys.get(f"{key}.{name}.{part}"))
    for key, setting in draft.run.keys.items():
        if key.startswith(("src_vocab.", "tgt_vocab.")):
            draft.account(setting)
    draft.put("embeddings", "language", level=1, why="a language has its own there")
    for side, counts in (("encoder", modules.encoder), ("decoder", modules.decoder)):
        inside = ", ".join(f"{scalar(name)}: {count}" for name, count in counts.items())
        draft.say(f"{side}_components: {{{inside}}}", level=1, comment=LAYERS[side])
    draft.say("directions:", level=1)
    for way in modules.ways:
        draft.say(f"{scalar(way.name)}: {{{', '.join(_parts(way))}}}", level=2)
    draft.note(
        "languages had vocabularies of their own there; here all share one, with embeddings for each language"
    )


def _parts(way: Way) -> Iterator[str]:
    if way.name.split("-") != list(way.languages):
        yield f"source: {scalar(way.languages[0])}, target: {scalar(way.languages[1])}"
    yield f"encoder: {scalar(list(way.encoder))}"
    yield f"decoder: {scalar(list(way.decoder))}"
    if way.tags:
        yield f"tags: {scalar(list(way.tags))}"
