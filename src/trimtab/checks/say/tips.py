"""What becomes of every tip of the seed documents, from `tips.tsv` beside this file. `lab/tip_pages.py` shows it."""

from functools import cache
from pathlib import Path

from trimtab.checks.record import record

TABLE = Path(__file__).with_name("tips.tsv")
SEEDS = {
    "S0": "A translator's observations",
    "S1": "Mammoth",
    "S2": "Tricks for training",
    "S3": "Slides of a reading group",
    "S4": "Stability of large models",
}


@record
class Tip:
    """One claim, and what applies or tests it besides the rules that name it."""

    id: str
    """S, the number of the document, a hyphen and the number of the claim in it: S0-102."""
    kind: str
    """technique, default, hazard, diagnostic, claim, tool or advice."""
    status: str
    """What the literature says of the claim as it is worded: well supported, mixed, contradicted, unknown, advice."""
    claim: str
    guards: tuple[str, ...]
    """Codes of what is seen before the first step and while a run runs."""
    parts: str
    experiments: tuple[str, ...]
    limits: str
    """What exactly is done and how far it goes; or why nothing is."""


@cache
def all_tips() -> tuple[Tip, ...]:
    """In the order of the documents."""
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]]
    return tuple(
        Tip(id, kind, status, claim, _words(guards), parts, _words(experiments), why)
        for id, kind, status, claim, guards, parts, experiments, why in rows
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
