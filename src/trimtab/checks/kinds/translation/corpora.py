"""Corpora of translation tools: paths, validation data, the longest line that passes a filter."""

from collections.abc import Mapping
from typing import Any

from trimtab.checks.kinds.concept_map import Concepts, as_type, put, text_list
from trimtab.checks.kinds.signs import mapping
from trimtab.checks.kinds.written import Written

VALID = "valid"
"""The name of the corpus that is not trained on."""


def put_corpora(
    concepts: Concepts, written: Written, corpora: Mapping[str, Any], *, key: str = "data"
) -> None:
    """Tells the training files and whether there are validation files, in the manner of OpenNMT-py."""
    setting = written.get(key)
    if setting is None or not corpora:
        return
    paths = [path for name, corpus in corpora.items() if name != VALID for path in paths_of(corpus)]
    put(concepts, "corpora", setting, paths)
    put(concepts, "validation", setting, VALID in corpora)


def paths_of(corpus: Any) -> list[str]:
    """The files of a corpus, source before target."""
    sides = mapping(corpus)
    return [path for side in ("path_src", "path_tgt", "path_txt") if isinstance(path := sides.get(side), str)]


def put_longest(
    concepts: Concepts, written: Written, corpora: Mapping[str, Any], *, prefix: str = ""
) -> None:
    """Tells the longest source line, where the filter for it is among the transforms of all training corpora."""
    used = [names for name, names in transforms_of(written, corpora).items() if name != VALID]
    if not used or not all("filtertoolong" in names for names in used):
        return
    longest = written.get(f"{prefix}src_seq_length")
    if longest is not None and as_type(longest.value, int) is not None:
        put(concepts, "sequence_length", longest)


def transforms_of(written: Written, corpora: Mapping[str, Any]) -> dict[str, list[str]]:
    """The transforms of each corpus: its own, else those of the whole."""
    whole = text_list(written.value("transforms")) or []
    own = {name: text_list(mapping(corpus).get("transforms")) for name, corpus in corpora.items()}
    return {name: whole if names is None else names for name, names in own.items()}
