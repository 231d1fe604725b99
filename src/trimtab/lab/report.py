"""Experiments as one page: each question, what was predicted, the differences by seed, the loss of each arm, and how to
run it again. `trimtab report --lab`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from trimtab.errors import input_error
from trimtab.lab.experiment import FILE
from trimtab.lab.plot import plot
from trimtab.lab.table import NOT_RUN, Row, sentence, table_of
from trimtab.report.log_files import open_plain
from trimtab.report.page import render_page
from trimtab.report.plain_values import count, is_number, items, mapping, text
from trimtab.report.run_list import check_folder

MOST_RESULTS, MOST_CLAIMS, MOST_ARMS, MOST_SEEDS, MOST_POINTS = 500, 60, 60, 100, 400
MOST_BYTES = 32 * 2**20
WIDTH, HEIGHT, LEFT = 420, 190, 40
FAILS = ("does not hold", "bad")
TONES = {"confirmed": "good", "as predicted": "good", "refuted": "bad", "not as predicted": "bad"}
"""Every other verdict leaves a claim open."""


@dataclass(frozen=True, slots=True)
class ShownClaim:
    """A sentence with its numbers."""

    text: str
    word: str
    """What became of it, such as `confirmed`, `no effect` or `holds`."""
    tone: str
    """`good`, `bad` or `open`."""


@dataclass(frozen=True, slots=True)
class Arm:
    """The runs that differ in the seed alone."""

    name: str
    changes: str
    """What it overrides of the recipe; empty for none, or where it is not known."""
    mean: str
    """Its mean score."""
    seeds: int
    failed: int
    """Runs that did not end well, such as diverged ones."""
    line: str
    """The mean training loss of its runs as points of a line in the box of `Result.courses`; empty for none."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one experiment."""

    file: str
    name: str
    question: str
    claim: str
    expect: str
    rule: str
    verdict: str
    claims: Sequence[ShownClaim]
    arms: Sequence[Arm]
    setup: Sequence[str]
    """What a script compared, in its words."""
    losses: tuple[float, float] | None
    """Lowest and highest loss of the lines of the arms."""
    steps: int
    """The last step of those lines."""
    differences: Markup
    """The differences by seed as a picture; empty for none."""
    seeds: int
    command: str
    hardware: str
    versions: Sequence[tuple[str, str]]
    seconds: float

    @property
    def tone(self) -> str:
        """`good`, `bad` or `open`."""
        return TONES.get(self.verdict, "open")

    @property
    def num_holding(self) -> int:
        """Claims that hold."""
        return sum(each.tone == "good" for each in self.claims)


def results_in(folder: Path) -> list[Result]:
    """The experiments of a folder that were run, and results without an experiment beside them, in it and one level
    below, by name; files that are none are left out. Raises InputError where there is none, or for a wrong experiment.
    """
    check_folder(folder)
    rows = table_of(folder) if any(folder.glob(f"*/{FILE}")) else []
    own = {row.loaded.result.resolve() for row in rows}
    found = [_of_row(row, folder) for row in rows if row.verdict != NOT_RUN]
    for path in [*sorted(folder.glob("*.json")), *sorted(folder.glob("*/*.json"))]:
        if path.resolve() not in own:
            found += _of_file(path, folder)
    if not found:
        raise input_error(
            f"--lab: no result of an experiment in {folder}",
            got=f"{len(rows)} experiments that were not run"
            if rows
            else "no experiment, and no JSON file of a result",
            allowed="a folder of experiments that were run, such as experiments/, or of their results",
            fix="run them by `trimtab lab run NAME`"
            if rows
            else "name the folder that the experiments wrote to",
        )
    return sorted(found, key=lambda each: (each.name, each.file))[:MOST_RESULTS]


def waiting_in(folder: Path) -> list[str]:
    """The experiments that were not run."""
    if not any(folder.glob(f"*/{FILE}")):
        return []
    return [row.name for row in table_of(folder) if row.verdict == NOT_RUN]


def _of_row(row: Row, folder: Path) -> Result:
    assert row.result is not None, "an experiment that was run"
    experiment, file = row.loaded.experiment, _below(row.loaded.result, folder)
    if experiment.script is not None:
        return _of_script(file, row.result, claim=experiment.claim)
    claims = [
        ShownClaim(sentence(each, p), each.outcome(p=p), TONES.get(each.outcome(p=p), "open"))
        for each, p in zip(row.comparisons, row.adjusted, strict=True)
    ]
    changes = {
        arm: ", ".join(f"{key}: {_plain(value)}" for key, value in overrides.items())
        for arm, overrides in experiment.arms.items()
    }
    assert experiment.measure is not None, "an experiment with arms"
    scores = {
        arm: f"{experiment.measure.metric} {sum(found.values()) / len(found):.4g}"
        for arm, found in row.scores.items()
        if found
    }
    predicted = "; ".join(
        f"{each.arm} is {each.expect} {'as' if each.expect == 'same' else 'than'} {each.than}, margin {each.margin:g}"
        + (f", because {each.because}" if each.because else "")
        for each in experiment.predictions
    )
    return _result(
        file,
        row.result,
        {
            "question": experiment.question,
            "claim": experiment.claim,
            "expect": predicted,
            "verdict": row.verdict,
            "claims": claims,
            "differences": Markup(plot(row)) if row.comparisons else Markup(""),
        },
        _arms(row.result, changes, scores),
    )


def _of_file(path: Path, folder: Path) -> Iterator[Result]:
    file = open_plain(path)
    if file is None:
        return
    with file:
        content = file.read(MOST_BYTES)
    try:
        tree = mapping(json.loads(content))
    except (ValueError, RecursionError):
        return
    if not tree.get("experiment"):
        return
    if tree.get("question") and "claims" in mapping(tree.get("verdict")):
        yield _of_script(_below(path, folder), tree)
    elif (arms := mapping(tree.get("arms"))) and all(mapping(seeds) for seeds in arms.values()):
        note = {
            "verdict": "not judged: its experiment.yaml is not in this folder",
            "question": tree["experiment"],
        }
        yield _result(_below(path, folder), tree, note, _arms(tree, {}, {}))


def _of_script(file: str, tree: Mapping[str, Any], *, claim: str = "") -> Result:
    verdict = mapping(tree.get("verdict"))
    claims = [
        ShownClaim(text(each.get("text"), 2000), *(("holds", "good") if each.get("holds") is True else FAILS))
        for each in map(mapping, items(verdict.get("claims"), MOST_CLAIMS))
    ]
    said = "as predicted" if verdict.get("as predicted") is True else "not as predicted"
    known = {name: tree.get(name) for name in ("question", "expect", "rule")}
    return _result(file, tree, {**known, "claim": claim, "verdict": said, "claims": claims}, [])


def _result(file: str, tree: Mapping[str, Any], said: Mapping[str, Any], arms: Sequence["_Course"]) -> Result:
    losses = [loss for each in arms for _, loss in each.points]
    bounds = (min(losses), max(losses)) if losses else None
    steps = max((step for each in arms for step, _ in each.points), default=0.0)
    by_seed = mapping(tree.get("seeds"))
    return Result(
        file=file,
        name=text(tree.get("experiment"), 200),
        question=text(said.get("question"), 1000),
        claim=text(said.get("claim"), 1000),
        expect=text(said.get("expect"), 4000),
        rule=text(said.get("rule"), 4000),
        verdict=said["verdict"],
        claims=said.get("claims", ()),
        arms=[each.arm(bounds, steps) for each in arms],
        setup=[text(each, 200) for each in items(tree.get("arms"), MOST_ARMS)],
        losses=bounds,
        steps=int(steps),
        differences=said.get("differences", Markup("")),
        seeds=len(by_seed) or max((each.seeds for each in arms), default=0),
        command=text(tree.get("command"), 500),
        hardware=text(tree.get("hardware"), 200),
        versions=[(str(name)[:60], str(each)[:60]) for name, each in mapping(tree.get("versions")).items()],
        seconds=60 * _float(tree.get("minutes")) or _float(tree.get("seconds")),
    )


@dataclass(frozen=True, slots=True)
class _Course:
    """An arm before the range of all arms is known."""

    name: str
    changes: str
    mean: str
    seeds: int
    failed: int
    points: Sequence[tuple[float, float]]
    """Step and mean loss."""

    def arm(self, bounds: tuple[float, float] | None, steps: float) -> Arm:
        line = ""
        if bounds is not None and len(self.points) > 1:
            low, high = bounds
            scale = (HEIGHT - 30) / (high - low) if high > low else 0.0
            line = " ".join(
                f"{LEFT + (WIDTH - LEFT - 8) * step / max(1.0, steps):.1f},{10 + (high - loss) * scale:.1f}"
                for step, loss in self.points
            )
        return Arm(self.name, self.changes, self.mean, self.seeds, self.failed, line)


def _arms(tree: Mapping[str, Any], changes: Mapping[str, str], scores: Mapping[str, str]) -> list[_Course]:
    found: list[_Course] = []
    for name, seeds in [*mapping(tree.get("arms")).items()][:MOST_ARMS]:
        runs = [mapping(each) for each in [*mapping(seeds).values()][:MOST_SEEDS]]
        failed = sum(each.get("ended") != "finished" for each in runs)
        own = changes.get(name, "")
        found.append(
            _Course(str(name)[:200], own[:1000], scores.get(name, ""), len(runs), failed, _mean_course(runs))
        )
    return found


def _mean_course(runs: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """The mean loss at the steps that all runs have."""
    courses: list[dict[int, float]] = [
        {count(pair[0]): pair[1] for pair in items(run.get("course"), MOST_POINTS) if _is_pair(pair)}
        for run in runs
    ]
    courses = [each for each in courses if each]
    shared = [step for step in courses[0] if all(step in each for each in courses)] if courses else []
    return [(float(step), sum(each[step] for each in courses) / len(courses)) for step in sorted(shared)]


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_number, value))


def _float(value: Any) -> float:
    """The number; 0 for anything else."""
    return float(value) if is_number(value) else 0.0


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _below(path: Path, folder: Path) -> str:
    try:
        return str(path.resolve().relative_to(folder.resolve()))
    except ValueError:
        return str(path)


def lab_html(folder: Path) -> str:
    """The page of a folder of experiments."""
    box = {"width": WIDTH, "height": HEIGHT, "left": LEFT}
    return render_page(
        "lab.html", (), folder=str(folder), results=results_in(folder), waiting=waiting_in(folder), box=box
    )
