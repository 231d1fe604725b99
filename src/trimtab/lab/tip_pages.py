"""The pages of the tips: from each claim of a seed document to its rule, guard, part or verdict."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from trimtab.checks.say.pages import all_pages
from trimtab.checks.say.tips import SEEDS, Tip, all_tips
from trimtab.lab.table import NOT_RUN, table_of

LIST, FOLDER = "docs/tips.md", "docs/tips"
ABOUT = {
    "S0": "Notes on training translators on one GPU: encoder and decoder, tied embeddings, exports to ONNX, "
    "clipping, Adafactor and GaLore, text recognition, LoRA.",
    "S1": "The documentation of Mammoth, a toolkit that trains many translation directions at once from shared and own "
    "components.",
    "S2": "A list of tricks that save memory or time: optimizers, adapters, precision, schedules, data loading.",
    "S3": "How transformers are trained in practice, with images as the example: schedules, clipping, "
    "augmentation, positions.",
    "S4": "What keeps large models from diverging: clipping, muP, norms, z-loss, skipped steps, rolling back.",
}
"""What each document is about."""


def tip_pages(experiments: Path) -> dict[str, str]:
    """The list of the documents and a page for each of them by their paths; `experiments` is a folder of results."""
    codes = {tip.id: [*_rules(tip), *tip.guards] for tip in all_tips()}
    verdicts = _verdicts(experiments)
    pages = {LIST: "\n".join(_list(codes, verdicts)) + "\n"}
    for seed in SEEDS:
        pages[f"{FOLDER}/{seed}.md"] = "\n".join(_document(seed, codes, verdicts)) + "\n"
    return pages


def _list(codes: Mapping[str, Sequence[str]], verdicts: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    yield from ("# The tips, and where trimtab applies each", "")
    yield (
        "trimtab began with five documents in which practitioners wrote down what they know. For each of their "
        f"{len(all_tips())} claims, these pages give what the literature says of it as it is worded, and the rule, the "
        "guard, the setting or the experiment that applies or tests it, with its limits, or why none does. Written by "
        "`python tools/write_pages.py`."
    )
    yield from (
        "",
        "| document | claims | with a rule or a guard | a setting or command | a verdict | none of these |",
    )
    yield "| --- | --- | --- | --- | --- | --- |"
    for seed, title in SEEDS.items():
        tips = _of(seed)
        coded = sum(bool(codes[tip.id]) for tip in tips)
        parts = sum(bool(tip.parts) for tip in tips)
        tested = [tip for tip in tips if any(each != NOT_RUN for each in verdicts[tip.id].values())]
        open_ones = sum(not (codes[tip.id] or tip.parts or tip in tested) for tip in tips)
        yield f"| [{seed}: {title}](tips/{seed}.md) | {len(tips)} | {coded} | {parts} | {len(tested)} | {open_ones} |"
    yield ""
    yield (
        "The claims with none of these are questions for an experiment, statements about systems as a whole, advice, "
        "or about kinds of training that are not read here; each row says which."
    )
    yield from ("", "What the literature says of the claims:", "", "| evidence | claims |", "| --- | --- |")
    states = [tip.status for tip in all_tips()]
    for state in sorted(set(states), key=states.count, reverse=True):
        yield f"| {state} | {states.count(state)} |"


def _document(
    seed: str, codes: Mapping[str, Sequence[str]], verdicts: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    yield from (
        f"# {seed}: {SEEDS[seed]}",
        "",
        "<!-- Written by tools/write_pages.py from the tips. -->",
        "",
        ABOUT[seed],
    )
    yield ""
    yield (
        "Evidence is what the literature says of the claim as it is worded. A code is a rule of `trimtab check` or "
        "what a run reports; a key is a setting of a [recipe](../recipe.md); a verdict is that of an "
        "[experiment](../lab.md). [All documents](../tips.md)."
    )
    yield from ("", "| tip | claim | kind | evidence | in trimtab |", "| --- | --- | --- | --- | --- |")
    for tip in _of(seed):
        applied = _in_trimtab(tip, codes[tip.id], verdicts[tip.id])
        yield f"| {tip.id} | {tip.claim} | {tip.kind} | {tip.status} | {applied} |"


def _in_trimtab(tip: Tip, codes: Sequence[str], verdicts: Mapping[str, str]) -> str:
    links = ", ".join(f"[{code}](../rules/{code}.md)" for code in codes)
    tested = ", ".join(
        f"experiment {name} (not run yet)"
        if verdict == NOT_RUN
        else f"[{name}](../lab.md#{name}): **{verdict}**"
        for name, verdict in verdicts.items()
    )
    return "; ".join(filter(None, [links, tip.parts, tested, tip.limits]))


def _verdicts(experiments: Path) -> dict[str, dict[str, str]]:
    """The experiments about each tip with their verdicts, whether the tip names them or they the tip."""
    found: dict[str, dict[str, str]] = {tip.id: {} for tip in all_tips()}
    rows = {row.name: row for row in table_of(experiments)}
    for tip in all_tips():
        found[tip.id] = {name: rows[name].verdict for name in tip.experiments if name in rows}
    for name, row in rows.items():
        for id in row.loaded.experiment.tips:
            found[id][name] = row.verdict
    return found


def _rules(tip: Tip) -> Iterable[str]:
    return (rule.code for rule in all_pages() if tip.id in rule.tips)


def _of(seed: str) -> list[Tip]:
    return [tip for tip in all_tips() if tip.id.startswith(f"{seed}-")]
