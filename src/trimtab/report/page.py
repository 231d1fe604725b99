"""The page: everything that a report says, put into one HTML file that loads nothing and runs only its own script."""

import base64
import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from trimtab import __version__
from trimtab.checkpoint.durable import replace_file
from trimtab.report.costs import Memory, memory_of, time_of
from trimtab.report.curves import Curves, curves_of
from trimtab.report.data_facts import CorpusFacts, SideFacts, corpora_of, dropped_words, quarantined, sides_of
from trimtab.report.findings import ShownFinding, findings_of
from trimtab.report.layer_tables import LayerTables, layer_tables
from trimtab.report.overview import Overview, duration, human, num_bytes, overview_of
from trimtab.report.plain_values import count, items, mapping, text
from trimtab.report.recipes import Difference, differences
from trimtab.report.run_data import RunData, name_apart
from trimtab.report.samples import (
    MOST_OF_ALL,
    Pictures,
    SampleLine,
    comparison_of,
    pictures_of,
    samples_of,
)
from trimtab.report.scores import ScoreTable, scores_of
from trimtab.report.sentences import Sentences, sentences_of

SCRIPTS = ("vendor/uPlot.iife.min.js", "templates/sort.js", "templates/chart.js", "templates/report.js")
STYLES = ("vendor/uPlot.min.css", "templates/report.css")
_SHOWN = "\n\t\u200c\u200d"
"""Zero-width joiners are part of how Persian, Hindi and emoji are written."""
SECTIONS = ("overview", "differences", "scores", "samples", "sentences", "data", "inside", "costs", "recipe")
"""Parts of the page that a live page replaces when they change; the curves are between the second and the third."""


@dataclass(frozen=True, slots=True)
class RunPage:
    """One run as the templates take it."""

    run: RunData
    overview: Overview
    findings: Sequence[ShownFinding]
    scores: ScoreTable | None
    samples: Sequence[SampleLine]
    pictures: Pictures
    corpora: Sequence[CorpusFacts]
    quarantine: Sequence[Mapping[str, Any]]
    time: Sequence[tuple[str, float, str]]
    sides: Sequence[SideFacts]
    sentences: Sentences | None
    inside: LayerTables | None
    memory: Memory | None

    @property
    def machine(self) -> list[str]:
        """What it was trained on, in words."""
        known = mapping(self.run.facts.get("machine"))
        cores = f"{count(known.get('cores'))} cores" if count(known.get("cores")) else ""
        cuda = f"CUDA {text(known.get('cuda'), 40)}" if known.get("cuda") else ""
        return [
            part
            for part in (text(known.get("device"), 80), text(known.get("system"), 80), cores, cuda)
            if part
        ]

    @property
    def command(self) -> str:
        """The command line that began it."""
        return " ".join(quote(text(word, 400)) for word in items(self.run.facts.get("command"), 100))


@dataclass(frozen=True, slots=True)
class Report:
    """All that a page says, of one run or of several."""

    runs: Sequence[RunPage]
    differences: Sequence[Difference]
    curves: Curves

    @property
    def title(self) -> str:
        """The runs by name."""
        return " and ".join(page.overview.name for page in self.runs)

    @property
    def targets(self) -> str:
        """What counts in the loss of all runs."""
        found = {page.run.task_facts.targets for page in self.runs}
        return found.pop() if len(found) == 1 else "targets"

    @property
    def compares_texts(self) -> bool:
        """Whether any sample has a percentage beside it."""
        return any(page.samples and comparison_of(page.run) == "text" for page in self.runs)


def report_of(runs: Sequence[RunData]) -> Report:
    """What a page says of runs that were read."""
    name_apart(runs)
    pages = [_page_of(run, picture_bytes=MOST_OF_ALL // len(runs)) for run in runs]
    return Report(pages, differences(runs) if len(runs) > 1 else (), curves_of(runs))


def _page_of(run: RunData, *, picture_bytes: int) -> RunPage:
    findings = findings_of(run)
    return RunPage(
        run,
        overview_of(run, findings),
        findings,
        scores_of(run),
        samples_of(run),
        pictures_of(run, most_bytes=picture_bytes),
        corpora_of(run),
        quarantined(run),
        time_of(run),
        sides_of(run),
        sentences_of(run),
        layer_tables(run),
        memory_of(run),
    )


def page_html(report: Report, *, live: bool = False) -> str:
    """The whole page. With `live` it asks the server that sent it for what is new."""
    return render_page(
        "page.html",
        SCRIPTS,
        connect="'self'" if live else "'none'",
        report=report,
        data=script_json({**report.curves.to_dict(), "live": live}),
        sections=sections_of(report),
        live=live,
    )


def render_page(template: str, scripts: Sequence[str], *, connect: str = "'none'", **values: Any) -> str:
    """A page by its template, with these scripts and the styles of all pages; it runs no other script and loads
    nothing."""
    texts = [_file(name) for name in scripts]
    hashes = " ".join(f"'sha256-{_digest(text)}'" for text in texts)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )
    return (
        _environment()
        .get_template(template)
        .render(
            policy=policy,
            styles=Markup("\n".join(_file(name) for name in STYLES)),
            scripts=[Markup(text) for text in texts],
            version=__version__,
            **values,
        )
    )


def sections_of(report: Report) -> dict[str, Markup]:
    """The HTML of each part of the page but the curves, by name."""
    environment = _environment()
    return {name: Markup(environment.get_template(f"{name}.html").render(report=report)) for name in SECTIONS}


def script_json(value: Any) -> Markup:
    """JSON for the inside of a script element: no text can end it, or begin a comment."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    for each in "<>&\u2028\u2029":
        text = text.replace(each, f"\\u{ord(each):04x}")
    return Markup(text.encode("utf-8", "backslashreplace").decode())


@cache
def _environment() -> Environment:
    found = Environment(
        loader=FunctionLoader(lambda name: _file(f"templates/{name}")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "duration": duration,
        "human": human,
        "bytes": num_bytes,
        "quote": lambda value: quote(str(value)),
        "code": with_code,
        "plain": plain,
        "repr": repr,
        "dropped": dropped_words,
    }
    return found


def with_code(text: str) -> Markup:
    """A sentence in which what is between backticks is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )


def plain(text: str) -> str:
    """Text of data for people: what cannot be seen, such as control characters, marks that turn the direction of a line
    and half characters, as its code. Spaces of any width and the joiners that many scripts need stay."""
    if text.isprintable():
        return text
    return "".join(each if _is_shown(each) else _coded(each) for each in text)


def _is_shown(character: str) -> bool:
    return character.isprintable() or character in _SHOWN or unicodedata.category(character) == "Zs"


def _coded(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 2**16 else f"\\U{number:08x}"


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _file(name: str) -> str:
    return (files("trimtab.report") / name).read_text(encoding="utf-8")


def write_page(runs: Sequence[RunData], out: Path) -> int:
    """Writes the report of runs as one file, in place of what was there; gives its size in bytes. A reader sees the old
    file or the new one. Raises DiskFull, and OSError where it cannot be written."""
    return write_html(page_html(report_of(runs)), out)


def write_html(html: str, out: Path) -> int:
    """Writes a page in place of what was there; see `write_page`."""
    content = html.encode("utf-8", "backslashreplace")
    if out.exists() and not out.is_file():  # a pipe or a device
        out.write_bytes(content)
    else:
        replace_file(out, content)
    return len(content)
