"""Findings for people: where, what, the line itself, why, on what evidence, and what to do."""

import textwrap
from collections.abc import Iterator, Sequence

from trimtab.checks.read.lines import Lines
from trimtab.checks.report import GREATEST_FIRST, Report
from trimtab.checks.rule import Diagnosis
from trimtab.checks.say.grades import best_first, sentence, source
from trimtab.checks.say.pages import page_of
from trimtab.errors import one_line, shortened
from trimtab.units import counted

WIDTH = 110
MOST_SKIPPED = 10
"""Skipped files are listed up to this number, then counted."""
_COLOURS = {"error": "31", "warning": "33", "note": "36"}
_HEAD = 10
"""Columns for the words `why`, `evidence`, `fix`, `more` and their margin."""


def as_text(report: Report, *, in_colour: bool = False, brief: bool = False) -> str:
    """Blocks with an empty line between them and a summary; `brief` is one line a finding and nothing else."""
    if brief:
        return "".join(_headline(each, in_colour) + "\n" for each in report.diagnoses)
    told: set[str] = set()
    blocks: list[str] = []
    lines = {path: Lines(path, document.text) for path, document in report.documents.items()}
    for diagnosis in report.diagnoses:
        blocks.append("\n".join(_block(diagnosis, lines.get(diagnosis.place.path), in_colour, told)))
        told.add(diagnosis.finding.code)
    if report.skipped:
        blocks.append("\n".join(_skipped(report)))
    blocks += [_reading(path, lines) for path, lines in report.readings.items()]
    return "\n\n".join([*blocks, summary(report)]) + "\n"


def summary(report: Report) -> str:
    """`2 errors, 1 note in 3 files; 1 suppressed`."""
    counts = [counted(count, severity) for severity in GREATEST_FIRST if (count := report.count(severity))]
    number = len(report.files)
    parts = [f"{', '.join(counts) or 'no findings'} in {counted(number, 'file')}"]
    if report.silenced:
        parts.append(f"{report.silenced} suppressed")
    if report.known:
        parts.append(f"{report.known} known from the baseline")
    if report.skipped:
        parts.append(f"{len(report.skipped)} not looked at")
    if report.problems:
        parts.append(f"{report.num_unreadable} not checked")
    if report.unknown_versions:
        names = ", ".join(report.unknown_versions)
        options = " ".join(f"--with {name}=..." for name in report.unknown_versions)
        parts.append(f"version of {names} not known, {options} says it")
    return "; ".join(parts)


def _reading(path: str, lines: Sequence[str]) -> str:
    """What was understood of one file."""
    return "\n".join([f"{one_line(path)}: read as", *(f"  {one_line(shortened(line))}" for line in lines)])


def _skipped(report: Report) -> Iterator[str]:
    yield from (one_line(f"{each.path}: {shortened(each.reason)}") for each in report.skipped[:MOST_SKIPPED])
    if (more := len(report.skipped) - MOST_SKIPPED) > 0:
        yield f"... and {more} more"


def _block(diagnosis: Diagnosis, lines: Lines | None, in_colour: bool, told: set[str]) -> Iterator[str]:
    finding = diagnosis.finding
    yield _headline(diagnosis, in_colour)
    yield from _source_line(diagnosis, lines, in_colour)
    if finding.code not in told:  # the reason is given once; what to do may differ
        yield from _paragraph("why", finding.why, in_colour)
        if evidence := best_first(page_of(finding.code).evidence, tool=diagnosis.tool):
            yield from _paragraph("evidence", sentence(evidence[0]), in_colour)
            if where := source(evidence[0]):
                yield " " * (_HEAD + 2) + where
    yield from _paragraph("fix", finding.fix + _option(diagnosis), in_colour)
    yield from _paragraph("more", f"trimtab explain {finding.code}", in_colour)


def _headline(diagnosis: Diagnosis, in_colour: bool) -> str:
    finding = diagnosis.finding
    severity = _painted(finding.severity, _COLOURS[finding.severity] + ";1", in_colour)
    code = _painted(f"{finding.code} {finding.name}", "1", in_colour)
    return f"{diagnosis.place} {code} {severity}: {finding.message}"


def _option(diagnosis: Diagnosis) -> str:
    if not diagnosis.edits:
        return ""
    return " (--fix)" if diagnosis.safety == "same training" else " (--fix --changes-training)"


def _source_line(diagnosis: Diagnosis, lines: Lines | None, in_colour: bool) -> Iterator[str]:
    place = diagnosis.place
    if (
        lines is None
        or not diagnosis.key
        or not 0 < place.line <= len(lines)
        or lines.path.endswith(".ipynb")
    ):
        return
    line = lines.line(place.line)
    length = place.end_column - place.column if place.end_line == place.line else 1
    start, stop = _window(len(line), place.column - 1, WIDTH - 10)
    shown, margin = "".join(map(_visible, line[start:stop])), " " * len(str(place.line))
    marks = "^" * max(1, min(length, stop - place.column + 1))
    yield f"  {margin} |"
    yield f"  {place.line} | {shown}"
    yield f"  {margin} | {' ' * (place.column - 1 - start)}{_painted(marks, '31;1', in_colour)}"


def _visible(character: str) -> str:
    """One for one, so that the marks below stay where they are; an escape code of a file rewrites no terminal."""
    if character.isprintable():
        return character
    return " " if character.isspace() else "\ufffd"


def _window(length: int, column: int, width: int) -> tuple[int, int]:
    if length <= width:
        return 0, length
    start = max(0, min(column - width // 3, length - width))
    return start, start + width


def _paragraph(word: str, text: str, in_colour: bool) -> Iterator[str]:
    if not text:
        return
    lines = textwrap.wrap(text, WIDTH - _HEAD - 2, break_long_words=False, break_on_hyphens=False)
    yield f"  {_painted(word.ljust(_HEAD), '2', in_colour)}{lines[0]}"
    for line in lines[1:]:
        yield " " * (_HEAD + 2) + line


def _painted(text: str, colour: str, in_colour: bool) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if in_colour else text
