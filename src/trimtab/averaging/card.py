"""The card of an average: what it was made of, what it gained, and how to use it."""

import json
from collections.abc import Iterable

from trimtab import __version__
from trimtab.averaging.report import AVERAGE, AverageReport, number, told_gain
from trimtab.checkpoint.durable import replace_file
from trimtab.checkpoint.journal import Journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.errors import one_line

README, FIGURES = "README.md", "average.json"


def write_card(report: AverageReport, *, step: int) -> None:
    """README.md for people and average.json for programs; scores go to evaluations.jsonl too, where the card of an
    export finds them. `step` is that of the result's checkpoint."""
    folder = report.folder
    replace_file(folder / README, card(report).encode("utf-8"))
    figures = json.dumps(report.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    replace_file(folder / FIGURES, figures.encode("utf-8"))
    with Journal(RunFolder(folder).evaluations) as journal:
        for name, losses in report.losses.items():
            scores: dict[str, object] = {"step": step, "set": name, "loss": losses[AVERAGE]}
            compared = report.comparison
            if compared is not None and compared.set == name and compared.metric != "loss":
                scores |= {
                    compared.metric: compared.scores[AVERAGE],
                    f"{compared.metric}_signature": compared.signature,
                    "lines": int(compared.how.split()[0]),
                }
            journal.write(scores)


def card(report: AverageReport) -> str:
    """The text of README.md."""
    name = report.folder.name
    sections = [
        f"# {one_line(name)}",
        f"{report.what[0].upper()}{report.what[1:]}, made by trimtab {__version__} (`trimtab average`).",
        "## Made of\n\n" + "\n".join(f"- `{one_line(label)}`" for label in report.members),
        "## Gain\n\n" + _gain(report),
    ]
    if report.tried:
        rows = [
            (each.label, number(each.score), number(each.with_it), "yes" if each.taken else "no")
            for each in report.tried
        ]
        sections.append("## Tried\n\n" + _table(("checkpoint", "alone", "soup with it", "taken"), rows))
    if report.notes:
        sections.append("## Notes\n\n" + "\n".join(f"- {one_line(note)}" for note in report.notes))
    sections.append(
        "## Use\n\nThe folder is used like a run, `trimtab translate`, `evaluate`, `score` and `export` among them. It "
        "cannot be trained on by `--resume`: there are no moments. `model.warm_start` begins a new run from it."
    )
    return "\n\n".join(sections) + "\n"


def _gain(report: AverageReport) -> str:
    compared = report.comparison
    if compared is None:
        return f"Not measured: {one_line(report.unread)}."
    head = ("weights", *(f"loss, {name}" for name in report.losses))
    with_score = compared.metric != "loss"
    head += (f"{compared.metric}, {compared.set}",) if with_score else ()
    rows = []
    for label, score in compared.scores.items():
        losses = [losses[label] for losses in report.losses.values()]
        shown = ["none" if loss is None else f"{loss:.4f}" for loss in losses]
        rows.append((label, *shown, *([number(score)] if with_score else [])))
    signed = f" Signature: `{compared.signature}`." if compared.signature else ""
    told = f"{told_gain(compared)} ({compared.metric} on {compared.set}, {compared.how})."
    return f"{told}{signed} Losses in nats per target token.\n\n{_table(head, rows)}"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = [*head]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in line) + " |" for line in lines
    )
