"""The page of all experiments, `docs/lab.md`, with a plot of each: made of results alone."""

import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

from trimtab.checks.say.tips import SEEDS
from trimtab.lab.plot import plot
from trimtab.lab.table import NOT_RUN, Row, sentence, table_of
from trimtab.lab.verdict import Comparison

PAGE, PLOTS = "docs/lab.md", "docs/images/lab"
BEGIN, END = "<!-- experiments, written by tools/write_pages.py -->", "<!-- end of experiments -->"
SHOWN = ("positions", "encoder_decoder", "dropout", "qk_norm", "warm_up")
"""The experiments in the README, in this order."""
_DOCUMENTS = {"000_8e8c325d426680ef": "S0"}
"""The seed documents by the ids that experiments give as sources; results record the hash of `experiment.yaml`, so the
ids stay there."""


def lab_pages(folder: Path) -> dict[str, str]:
    """The page and its plots by their paths; `folder` is that of the experiments."""
    table = table_of(folder)
    pages = {PAGE: "\n".join(_page(table)) + "\n"}
    for row in table:
        if row.comparisons:
            pages[f"{PLOTS}/{row.name}.svg"] = plot(row)
    return pages


def _page(table: Sequence[Row]) -> Iterator[str]:
    yield "# Experiments"
    yield ""
    yield "<!-- Written by tools/write_pages.py from experiments/. -->"
    yield ""
    yield (
        "Each experiment trains arms that differ in one thing, with several seeds; the arms of a seed read the same "
        "data in the same order. Predictions and margins were committed before the first run. An effect is the "
        "difference in the measure, positive if the arm is better, with its 95% interval from a paired t-test; "
        "p-values are corrected over the whole table (Holm). *No effect at this scale* means that the interval "
        "lies within the margin. "
        "A verdict holds only at its scale: a small model on a small corpus says nothing about large ones. "
        "[Run experiments and write your own](how_to/lab.md)."
    )
    yield ""
    if run := [row for row in table if row.verdict != NOT_RUN]:
        yield "| claim | tips | effect | scale | seeds | minutes | verdict | run it again |"
        yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
        yield from map(_line, run)
        yield ""
        yield (
            "An experiment without an effect measures libraries and arithmetic with a script of its own; its "
            "section lists what it found."
        )
        yield ""
    waiting = [row.name for row in table if row.verdict == NOT_RUN]
    if waiting:
        yield f"Not run yet: {', '.join(waiting)}."
        yield ""
    for row in table:
        if row.verdict != NOT_RUN:
            yield from _section(row)


def _line(row: Row) -> str:
    result = row.result
    assert result is not None, "an experiment that was run"
    measure = row.loaded.experiment.measure
    effects = "<br>".join(_effect(each) for each in row.comparisons) or "–"
    effects = f"{measure.metric}: {effects}" if measure is not None else effects
    minutes = result.get("minutes") or result.get("seconds", 0) / 60
    cells = (
        f"[{_cell(row.loaded.experiment.claim)}](#{row.name})",
        ", ".join(f"[{tip}](tips.md)" for tip in row.loaded.experiment.tips),
        effects,
        f"`{result['scale']}`, {_text(str(result['hardware']))}"
        if "scale" in result
        else _text(result["hardware"]),
        str(_seeds(row)),
        f"{minutes:.0f}" if minutes >= 1 else "under 1",
        f"**{row.verdict}**",
        f"`trimtab lab run {quote(row.name)}`",
    )
    return f"| {' | '.join(cells)} |"


def _seeds(row: Row) -> int:
    """Those of the comparison that has the fewest, or of the script."""
    if row.loaded.experiment.script is not None:
        return len((row.result or {}).get("seeds", ()))
    return min((each.result.count for each in row.comparisons), default=0)


def readme_with_rows(readme: str, folder: Path) -> str:
    """The README with the lines of `SHOWN` between its two marks. Raises ValueError where it has no marks."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the README has no lines {BEGIN} and {END}")
    rows = {row.name: row for row in table_of(folder)}
    lines = [
        "| claim | effect, with its 95% interval | verdict |",
        "| --- | --- | --- |",
        *(_short_line(rows[name]) for name in SHOWN if rows[name].verdict != NOT_RUN),
    ]
    return f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}"


def _short_line(row: Row) -> str:
    measure = row.loaded.experiment.measure
    assert measure is not None, "an experiment with arms"
    effects = "; ".join(_effect(each) for each in row.comparisons)
    claim = _cell(row.loaded.experiment.claim)
    return f"| [{claim}]({PAGE}#{row.name}) | {measure.metric}: {effects} | **{row.verdict}** |"


def _effect(comparison: Comparison) -> str:
    result, prediction = comparison.result, comparison.prediction
    return (
        f"{_cell(prediction.arm)} against {_cell(prediction.than)}: {result.mean:+.3f} "
        f"({result.low:+.3f} to {result.high:+.3f})"
    )


def _section(row: Row) -> Iterator[str]:
    experiment, result = row.loaded.experiment, row.result
    assert result is not None, "an experiment that was run"
    yield f"## {row.name}"
    yield ""
    yield f"{experiment.question} *{_text(experiment.claim)}* {row.verdict[:1].upper()}{row.verdict[1:]}."
    yield ""
    if experiment.sources:
        yield f"Sources: {_text('; '.join(map(_source, experiment.sources)))}." + (
            f" Tips: {', '.join(experiment.tips)}." if experiment.tips else ""
        )
        yield ""
    if experiment.script is not None:
        yield from (
            f"- {'yes' if each['holds'] else '**no**'}: {_text(each['text'])}"
            for each in result["verdict"]["claims"]
        )
        yield ""
        yield f"`trimtab lab run {quote(row.name)}`; {_text(result['hardware'])}."
        yield ""
        return
    measure = experiment.measure
    assert measure is not None, "an experiment with arms"
    if row.comparisons:
        yield f"![differences of {measure.metric} by seed](images/lab/{row.name}.svg)"
        yield ""
    for arm, overrides in experiment.arms.items():
        scores = row.scores.get(arm, {})
        own = (
            ", ".join(f"`{key}: {_shown(value)}`" for key, value in overrides.items())
            or "the recipe as it is"
        )
        mean = f"; {measure.metric} {sum(scores.values()) / len(scores):.3f}" if scores else ""
        yield f"- {_text(arm)}: {own}{mean}"
    yield ""
    for each, p in zip(row.comparisons, row.adjusted, strict=True):
        word = "the same as" if each.prediction.expect == "same" else f"{each.prediction.expect} than"
        yield (
            f"Predicted: {_text(each.prediction.arm)} is {word} {_text(each.prediction.than)}, margin "
            f"{each.prediction.margin:g}. Found: {_text(sentence(each, p))}."
        )
        yield ""
    floor = (
        ""
        if row.noise is None
        else (
            " Two runs that differ in their first weights alone are apart by "
            f"{row.noise.deviation:.3g} (standard deviation)."
        )
    )
    yield (
        f"Measure: {measure.metric} on {_text(measure.set)}.{floor} Scale: `{result['scale']}`, "
        f"{_text(str(result['hardware']))}, {result['minutes']:.0f} minutes of runs. `{result['command']}`"
    )
    yield ""


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text(text: str) -> str:
    return html.escape(text, quote=False)


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|").replace("\n", " ")


def _source(text: str) -> str:
    """A source with the name of its document in place of an id."""
    document, colon, said = text.partition(":")
    if document not in _DOCUMENTS:
        return text
    seed = _DOCUMENTS[document]
    return f"{SEEDS[seed]} (docs/tips.md, {seed}){colon}{said}"
