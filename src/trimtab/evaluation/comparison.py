"""Scores translations that exist already, and compares systems on the same lines."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trimtab.config.given_path import RUN, path_text, path_texts
from trimtab.data.cache import default_cache
from trimtab.data.formats.text import texts_of
from trimtab.data.lines import open_lines, refuse_long_lines
from trimtab.data.spool import STANDARD_INPUT, spooled
from trimtab.data.tags import meant_tags
from trimtab.decode.search import Search
from trimtab.errors import InputError, input_error
from trimtab.evaluation.repetition import LEAST_DISTINCT, distinct_outputs, repeated_4grams
from trimtab.evaluation.report import ALWAYS, BLEU_AND_CHRF, RequestedMetrics
from trimtab.evaluation.significance import PairedTest, interval, no_test, paired_tests
from trimtab.inference import ExportedModel, LoadedModel, open_model
from trimtab.metrics.chrf import chrf_metric
from trimtab.metrics.metric import Score, Translations

SYSTEM = f"{RUN}; or a file of translations, one for each line of the reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemReport:
    """How well one system translates the set."""

    system: str
    """As it was named: a model, or the file of its translations."""
    scores: dict[str, Score]
    """By the metric's name."""
    repeated_4grams: float
    """Share of 4-grams that repeat one earlier in the line."""
    distinct_outputs: float | None
    """Share of different translations among different sources; None where the source is not known."""
    tests: tuple[PairedTest, ...] = ()
    """Beside the baseline; none for the baseline itself, and where there is none."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON has."""
        return {
            "system": self.system,
            **{name: score.value for name, score in self.scores.items()},
            "repeated_4grams": self.repeated_4grams,
            "distinct_outputs": self.distinct_outputs,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Systems on the same lines, the baseline, if there is one, apart."""

    lines: int
    systems: tuple[SystemReport, ...]
    against: SystemReport | None = None
    """The baseline."""
    texts: "Texts | None" = field(default=None, repr=False)
    """What was compared, line by line."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON has."""
        signatures = {f"{name}_signature": score.signature for name, score in self.systems[0].scores.items()}
        systems = [
            {**each.to_dict(), "tests": [self._test(each, test) for test in each.tests]}
            if self.against
            else each.to_dict()
            for each in self.systems
        ]
        against = {"against": self.against.to_dict()} if self.against else {}
        return {"lines": self.lines, **signatures, **against, "systems": systems}

    def _test(self, system: SystemReport, test: PairedTest) -> dict[str, Any]:
        assert self.against is not None
        return {**test.to_dict(), "sentence": test.sentence(system.system, self.against.system)}

    def render(self) -> str:
        """A table, a sentence for each test, and the signatures; no line break at its end."""
        rows = [["", *(score.name for score in self.systems[0].scores.values()), "repeated 4-grams"]]
        rows += [self._row(each) for each in (self.against, *self.systems) if each is not None]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = [
            "  ".join(
                [
                    name.ljust(widths[0]),
                    *(text.rjust(width) for text, width in zip(row, widths[1:], strict=True)),
                ]
            )
            for name, *row in rows
        ]
        said = [self._test(each, test)["sentence"] for each in self.systems for test in each.tests]
        said += filter(None, (_collapse(each) for each in (self.against, *self.systems) if each is not None))
        marks = [f"{score.name}: {score.signature}" for score in self.systems[0].scores.values()]
        if said:
            tests = self.systems[0].tests
            marks += [f"{test.label}, bootstrap: {test.bootstrap_signature}" for test in tests]
            marks += [f"{test.label}, randomization: {test.randomization_signature}" for test in tests]
        parts = [[f"lines {self.lines:,}", *table], said, marks]
        return "\n\n".join("\n".join(part) for part in parts if part)

    def _row(self, system: SystemReport) -> list[str]:
        margins = {test.metric: test.margin for test in system.tests}
        if system is self.against:
            margins = {test.metric: test.baseline_margin for test in self.systems[0].tests}
        name = f"{system.system} (baseline)" if system is self.against else system.system
        scores = [
            interval(score.value, margins.get(metric), digits=score.digits)
            for metric, score in system.scores.items()
        ]
        return [name, *scores, f"{system.repeated_4grams:.1%}"]


def _collapse(system: SystemReport) -> str:
    """What to say of a system that translates most sources alike; empty of any other."""
    share = system.distinct_outputs
    if share is None or share >= LEAST_DISTINCT:
        return ""
    return (
        f"{system.system} writes the same few translations for many sources ({share:.1%} of the distinct sources have "
        "a translation of their own), so its scores and tests mean little; read some of its translations."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The translations of each system, by its name, the baseline first, beside the references."""

    outputs: Mapping[str, Sequence[str]]
    references: Sequence[str]
    sources: Sequence[str] | None

    def side_by_side(self) -> str:
        """A table for reading, as TSV with a header: the number of each line, its source where it is known, the
        reference, and the translation of each system with the chrF of that line. White space in a text is one space."""
        score = chrf_metric().sentence_score
        head = ["line", *(["source"] if self.sources is not None else []), "reference"]
        rows = [[*head, *(cell for name in self.outputs for cell in (name, f"chrF of {name}"))]]
        for place, reference in enumerate(self.references):
            row = [str(place + 1), *([self.sources[place]] if self.sources is not None else []), reference]
            for lines in self.outputs.values():
                row += [lines[place], f"{score(lines[place], [reference]).score:.1f}"]
            rows.append(row)
        return "".join("\t".join(" ".join(cell.split()) for cell in row) + "\n" for row in rows)


def compare(
    systems: str | Path | Sequence[str | Path],
    *,
    reference: Path | str,
    against: Path | str | None = None,
    source: Path | str | None = None,
    beam: int = 4,
    tags: Sequence[str] = (),
    metrics: RequestedMetrics = BLEU_AND_CHRF,
) -> Comparison:
    """Scores systems on the same lines and, with `against`, tests each of them against that baseline.

    A system is a file of translations, one for each line of `reference`, or else a model: `RUN`, `RUN@last`,
    `RUN@500` or the folder of an export, which translates `source`. The tests are sacreBLEU's paired bootstrap
    resampling (1,000 resamples) and paired approximate randomization (10,000 trials).

    Files may be plain, .gz, .xz or .zst, and one of them `-`, which is standard input. Raises InputError if they are
    missing, unequal, empty or not UTF-8, if a model has no `source` to translate, and for COMET with `against`.
    """
    metrics.check()  # fails before the work where a library is missing
    names = path_texts(systems, name="systems", allowed=SYSTEM)
    base = None if against is None else path_text(against, name="against", allowed=SYSTEM)
    chosen = (*ALWAYS, *metrics.more)
    for metric in chosen if base is not None else ():
        if metric.sacrebleu_metric is None:
            raise no_test(metric)
    _one_standard_input([*names, base, source, reference])
    references = _read(reference, name="reference")
    sources = None if source is None else _read(source, name="source", beside=(reference, references))
    if sources is None and any(metric.name == "comet" for metric in chosen):
        raise _needs_source("COMET reads the source of each line")
    systems_named = dict.fromkeys([*([base] if base is not None else []), *names])
    # All of them before the first translates, so that a wrong name does not wait for hours.
    opened = {name: _opened(name, sources, (reference, references)) for name in systems_named}
    outputs = {
        name: _translated(found, sources or [], beam=beam, tags=tags) for name, found in opened.items()
    }
    reports = {
        name: _report(name, few, references, sources, metrics=metrics) for name, few in outputs.items()
    }
    texts = Texts(outputs=outputs, references=references, sources=sources)
    if base is None:
        systems_alone = tuple(reports[name] for name in names)
        return Comparison(lines=len(references), systems=systems_alone, texts=texts)
    tests = paired_tests(
        {name: outputs[name] for name in names},
        baseline=outputs[base],
        references=references,
        metrics=chosen,
        settings=metrics.settings,
    )
    tested = tuple(replace(reports[name], tests=tuple(tests[name])) for name in names)
    return Comparison(lines=len(references), systems=tested, against=reports[base], texts=texts)


def _report(
    name: str,
    outputs: Sequence[str],
    references: Sequence[str],
    sources: Sequence[str] | None,
    *,
    metrics: RequestedMetrics,
) -> SystemReport:
    lines = Translations(
        outputs=outputs, references=references, sources=sources or references, settings=metrics.settings
    )
    return SystemReport(
        system=name,
        scores={metric.name: metric.compute(lines) for metric in (*ALWAYS, *metrics.more)},
        repeated_4grams=repeated_4grams(outputs),
        distinct_outputs=None if sources is None else distinct_outputs(sources, outputs),
    )


def _opened(
    name: str, sources: Sequence[str] | None, reference: tuple[Path | str, Sequence[str]]
) -> list[str] | LoadedModel | ExportedModel:
    """The translations in a file, or a model."""
    if name == STANDARD_INPUT or Path(name).is_file():
        return _read(name, name="translations", beside=reference)
    model = open_model(name)
    if sources is None:
        raise _needs_source(f"{name} is a model, which needs a text to translate")
    return model


def _translated(
    found: list[str] | LoadedModel | ExportedModel,
    sources: Sequence[str],
    *,
    beam: int,
    tags: Sequence[str],
) -> list[str]:
    if isinstance(found, list):
        return found
    meant = meant_tags(tags, found.tokenizers.source, config=found.recipe.data)
    return found.translator(search=Search(beam=beam), tags=meant).translate(sources)


def _read(
    path: Path | str, *, name: str, beside: tuple[Path | str, Sequence[str]] | None = None
) -> list[str]:
    """All lines of a file; InputError where it has none, or not as many as the file beside it."""
    path = Path(path_text(path, name=name, allowed="a text file, one sentence per line; - is standard input"))
    cache = default_cache()
    place = spooled(sys.stdin.buffer, cache=cache) if str(path) == STANDARD_INPUT else path
    lines = open_lines(place, cache=cache)
    refuse_long_lines(lines, name=str(path))
    read = list(texts_of(lines, range(len(lines))))
    if beside is None and not read:
        raise input_error(
            f"{path}: is empty",
            got="0 lines",
            allowed="at least one line",
            fix="name the file of the reference",
        )
    if beside is not None and len(read) != len(beside[1]):
        raise input_error(
            f"{path} and {beside[0]} have different numbers of lines",
            got=f"{len(read):,} and {len(beside[1]):,} lines",
            allowed="one line for each line of the reference, an empty one where there is no translation",
            fix="check that both come from the same set and that neither was filtered alone",
        )
    return read


def _one_standard_input(paths: Sequence[Path | str | None]) -> None:
    if sum(str(path) == STANDARD_INPUT for path in paths) > 1:
        raise input_error(
            "several files are standard input",
            got="- more than once",
            allowed="- for one of them",
            fix="name files for the others",
        )


def _needs_source(why: str) -> InputError:
    return input_error(
        f"evaluate: {why}",
        got="no --source",
        allowed="--source FILE, with as many lines as the reference",
        fix="add --source FILE",
    )
