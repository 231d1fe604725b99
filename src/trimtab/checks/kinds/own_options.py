"""Options of a script's own beside those of a library: known to the table, so that nobody calls them misspelled."""

from collections.abc import Iterable
from dataclasses import replace

from trimtab.checks.keytable import Key, KeyTable, overlaid

NEAR = 0.9
"""From this likeness on, with as many words, a name is a known one misspelled."""


def with_own(table: KeyTable, names: Iterable[str]) -> KeyTable:
    """The table with the names that are neither known nor a known one misspelled; what it does not know is kept."""
    unknown = [name for name in names if "." not in name and table.key(name) is None]
    own = {name: Key(name=name, open=True) for name in unknown if not is_slip(name, table)}
    return replace(overlaid(table, own), unknown_keys="kept")


def is_slip(name: str, table: KeyTable) -> bool:
    """`warmup_step` of `warmup_steps`; `train_batch_size` is a name of its own, for its words are others."""
    from difflib import SequenceMatcher, get_close_matches  # late: few files need it

    for known in get_close_matches(name, table.keys, n=3, cutoff=NEAR - 0.05):
        if known.replace("_", "") == name.replace("_", "").replace("-", ""):
            return True
        alike = SequenceMatcher(None, name, known, autojunk=False).ratio() >= NEAR
        if alike and name.count("_") == known.count("_"):
            return True
    return False
