"""The card of an average: what it was made of, what it gained, and how to use it."""

import json
from collections.abc import Iterable, Iterator

from trimtab import __version__
from trimtab.averaging.report import AVERAGE, BRIEF, AverageReport, gain_in_words, number
from trimtab.checkpoint.durable import replace_file
from trimtab.checkpoint.journal import Journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.run import Recipe
from trimtab.errors import one_line
from trimtab.metrics.catalogue import OF_TRANSLATIONS
from trimtab.metrics.loss import LOSS

README, FIGURES = "README.md", "average.json"
TRANSLATE, GENERATE = ("translate", "evaluate", "score"), ("generate", "evaluate")


def write_card(report: AverageReport, *, step: int, recipe: Recipe) -> None:
    """README.md for people and average.json for programs; scores go to evaluations.jsonl too, where the card of an
    export finds them. `step` is that of the result's checkpoint, and `recipe` says what it can be used for."""
    folder = report.folder
    replace_file(folder / README, card(report, commands=commands(recipe)).encode("utf-8"))
    figures = json.dumps(report.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    replace_file(folder / FIGURES, figures.encode("utf-8"))
    with Journal(RunFolder(folder).evaluations) as journal:
        for name, losses in report.losses.items():
            scores: dict[str, object] = {"step": step, "set": name, "loss": losses[AVERAGE]}
            scores |= report.perplexities.get(name, {}).get(AVERAGE, {})
            compared = report.comparison
            if compared is not None and compared.set == name and compared.metric in OF_TRANSLATIONS:
                scores |= {
                    compared.metric: compared.scores[AVERAGE],
                    f"{compared.metric}_signature": compared.signature,
                    "lines": int(compared.how.split()[0]),
                }
            journal.write(scores)


def commands(recipe: Recipe) -> tuple[str, ...]:
    """What takes the folder of such a model."""
    both = (*(GENERATE if recipe.reads_texts else ()), *(TRANSLATE if recipe.translates else ()), "export")
    return tuple(dict.fromkeys(both))


def card(report: AverageReport, *, commands: tuple[str, ...]) -> str:
    """The text of README.md; `commands` are those that take the folder."""
    name = report.folder.name
    digits = 2 if report.comparison is None else report.comparison.digits
    sections = [
        f"# {one_line(name)}",
        f"{report.what[0].upper()}{report.what[1:]}, made by trimtab {__version__} (`trimtab average`).",
        "## Made of\n\n" + "\n".join(f"- `{one_line(label)}`" for label in report.members),
        "## Gain\n\n" + _gain(report),
    ]
    if report.tried:
        rows = [
            (
                each.label,
                number(each.score, digits=digits),
                number(each.with_it, digits=digits),
                "yes" if each.taken else "no",
            )
            for each in report.tried
        ]
        sections.append("## Tried\n\n" + _table(("checkpoint", "alone", "soup with it", "taken"), rows))
    if report.notes:
        sections.append("## Notes\n\n" + "\n".join(f"- {one_line(note)}" for note in report.notes))
    named = ", ".join(f"`{command}`" for command in commands[1:-1])
    sections.append(
        f"## Use\n\nThe folder is used like a run, `trimtab {commands[0]}`, {named} and `{commands[-1]}` among them. "
        "It cannot be trained on by `--resume`: there are no moments. `model.warm_start` begins a new run from it."
    )
    return "\n\n".join(sections) + "\n"


def _gain(report: AverageReport) -> str:
    compared = report.comparison
    if compared is None:
        return f"Not measured: {one_line(report.unread)}."
    head = ("weights", *(title for name in report.losses for title in _titles(report, name)))
    with_score = compared.metric in OF_TRANSLATIONS
    head += (f"{compared.metric}, {compared.set}",) if with_score else ()
    rows: list[tuple[str, ...]] = []
    for label, score in compared.scores.items():
        shown = [cell for name in report.losses for cell in _cells(report, name, label)]
        rows.append((label, *shown, *([number(score)] if with_score else [])))
    signed = f" Signature: `{compared.signature}`." if compared.signature else ""
    gained = f"{gain_in_words(compared)} ({compared.metric} on {compared.set}, {compared.how})."
    return f"{gained[0].upper()}{gained[1:]}{signed} Losses in nats per target token.\n\n{_table(head, rows)}"


def _titles(report: AverageReport, name: str) -> Iterator[str]:
    yield f"loss, {name}"
    if name in report.perplexities:
        yield from (f"{metric.label}, {name}" for metric in BRIEF)


def _cells(report: AverageReport, name: str, label: str) -> Iterator[str]:
    yield number(report.losses[name][label], digits=LOSS.fine_digits)
    if name in report.perplexities:
        found = report.perplexities[name].get(label, {})
        yield from (number(found.get(metric.name), digits=metric.fine_digits) for metric in BRIEF)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = [*head]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in line) + " |" for line in lines
    )
