"""What becomes of every tip of the seed documents: `docs/tips.md`, from `tips.tsv` beside this file and the rules."""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from trimtab.checks.record import record
from trimtab.checks.rule import Rule

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
    """One claim; what makes it real, besides the rules that name it."""

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


def tips_page(rules: Iterable[Rule]) -> str:
    """The whole page, in Markdown."""
    return "\n".join(_lines(tuple(rules))) + "\n"


def _lines(rules: tuple[Rule, ...]) -> Iterator[str]:
    yield "# The tips, and what makes each real"
    yield ""
    yield (
        "trimtab began with five documents in which practitioners wrote down what they know. These are their "
        f"{len(all_tips())} claims in short, what the literature says of each as it is worded, and the rule, the "
        "guard, the part or the experiment that makes it real, with its limits, or why none does. Written by "
        "`python tools/write_pages.py`."
    )
    by_tip = {tip.id: [rule for rule in rules if tip.id in rule.tips] for tip in all_tips()}
    named = sum(bool(by_tip[tip.id]) for tip in all_tips())
    parts = sum(not by_tip[tip.id] and bool(tip.guards or tip.parts or tip.experiments) for tip in all_tips())
    yield ""
    yield (
        f"{named} of them have a rule of `trimtab check`, {parts} more a guard, a part of the training or an "
        f"experiment. "
        "The others are questions for an experiment, claims about systems as a whole, advice, or about kinds of "
        "training "
        "that are not read here; each row says which."
    )
    for seed, title in SEEDS.items():
        yield from (
            "",
            f"## {seed} {title}",
            "",
            "| tip | claim | kind | evidence | made real by |",
            "|---|---|---|---|---|",
        )
        for tip in all_tips():
            if tip.id.startswith(seed + "-"):
                real = _made_real(tip, by_tip[tip.id])
                yield f"| {tip.id} | {tip.claim} | {tip.kind} | {tip.status} | {real} |"


def _made_real(tip: Tip, rules: list[Rule]) -> str:
    codes = [*(rule.code for rule in rules), *tip.guards]
    links = [f"[{code}](rules/{code}.md)" for code in codes]
    experiments = [f"[{name}](../experiments/{name}.py)" for name in tip.experiments]
    return "; ".join(filter(None, [", ".join(links), tip.parts, ", ".join(experiments), tip.limits]))


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
