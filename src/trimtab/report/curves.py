"""Which curves a run has: what it wrote at each step, at each evaluation and at each look at its health."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trimtab.guard.outlier import NORMAL_MAD, OutlierRule
from trimtab.metrics.catalogue import METRICS
from trimtab.report.plain_values import is_number
from trimtab.report.run_data import RunData
from trimtab.report.series import Pack, counts_of, ends_of, points_of, steps_per_point

LEARNING, STEPS, SPEED, INSIDE, MORE = "Learning", "Steps", "Speed and memory", "Inside the model", "More"
MOST_MARKS = 400
"""Skipped steps, and steps with numbers that are not finite, that are marked one by one."""
MOST_SETS = 6
"""Validation sets whose curves of a run are shown from the beginning; of more, those that choose the best checkpoint
and come first, and the page has the others on request."""
TITLES = {
    "loss": (LEARNING, "Loss", ""),
    "learning_rate": (STEPS, "Learning rate", ""),
    "grad_norm": (STEPS, "Gradient norm", "before clipping"),
    "tokens_per_second": (SPEED, "Speed", ""),
    "gpu_memory": (SPEED, "GPU memory", "bytes"),
    "fill": (SPEED, "Fill of the batches", "share"),
    "target_tokens": (MORE, "Targets of a step", ""),
    "tokens": (MORE, "Size of a step", ""),
    "micro_batches": (MORE, "Micro-batches of a step", ""),
    "objective": (MORE, "Objective", "what is minimized, with smoothing and auxiliary terms"),
    "truncated": (MORE, "Targets truncated out of the loss", ""),
    "data_wait": (SPEED, "Waiting for data", "share of the time"),
    "clip_rate": (STEPS, "Clipped steps", "share since the process began"),
    "update_ratio_median": (INSIDE, "Update to weight", "median over tensors"),
    "activation_rms": (INSIDE, "Activations", "root mean square, largest layer"),
    "dead_units": (INSIDE, "Dead units", "share"),
    "largest_attention_logit": (INSIDE, "Largest attention logit", ""),
    "attention_sinks": (INSIDE, "Attention sinks", "share of heads"),
    "distinct_outputs": (LEARNING, "Distinct outputs", "share"),
    "repeated_4grams": (LEARNING, "Repeated 4-grams", "share"),
}
"""Group, title and unit of what a run writes down. Other numbers get a curve under their own name."""
MOST_OF_A_TITLE = 60
_BAND = re.compile(r"loss_(\d{1,3})_(\d{1,3})")
"""Of diffusion, as `tasks.diffusion.validation.name_of_band` writes them."""
NO_CURVES = {"step", "clipped", "skipped", "seconds", "epoch", "updates", "lines"}
EXACT = {"learning_rate", "micro_batches"}
LOGARITHMIC = {"grad_norm", "update_ratio_median"}


@dataclass(slots=True)
class Chart:
    """One chart as the page gets it."""

    key: str
    group: str
    title: str
    unit: str
    series: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    lines: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Horizontal lines: a label and a value."""
    log: bool = False
    """Whether it begins with a logarithmic axis."""
    digits: int = 4
    smooth: bool = True
    """Whether its noise hides its course; what follows a plan is drawn as it is."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {name: getattr(self, name) for name in Chart.__slots__}


@dataclass(slots=True)
class Curves:
    """All charts of one run or of several, with the arrays they refer to."""

    runs: list[dict[str, Any]]
    charts: list[dict[str, Any]]
    data: str
    """See `Pack`."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"runs": self.runs, "charts": self.charts, "data": self.data}


def curves_of(runs: Sequence[RunData]) -> Curves:
    """The charts of runs, a curve each."""
    pack, charts = Pack(), dict[str, Chart]()
    facts = [_Run(number, run, pack, charts).add() for number, run in enumerate(runs)]
    order = [LEARNING, STEPS, SPEED, INSIDE, MORE]
    names = ["loss", *(metric.name for metric in METRICS), *TITLES]
    rank = {name: number for number, name in reversed([*enumerate(names)])}
    ranked = sorted(
        charts.values(), key=lambda chart: (order.index(chart.group), rank.get(chart.key, len(names)))
    )
    return Curves(facts, [chart.to_dict() for chart in ranked], pack.text())


@dataclass(slots=True)
class _Run:
    """Adds the curves of one run."""

    number: int
    run: RunData
    pack: Pack
    charts: dict[str, Chart]
    width: int = 1

    def add(self) -> dict[str, Any]:
        steps = self.run.steps
        self.width = steps_per_point(steps.num_rows)
        axes = {"steps": self._axis_of_steps()} if steps.num_rows else {}
        for name in steps.names:
            if name not in NO_CURVES:
                self._add_steps(name)
        self._add_bounds()
        for kind, records in (("evaluations", self.run.evaluations), ("health", self.run.health)):
            axes |= self._add_records(kind, records)
        return {
            "name": self.run.name,
            "targets": self.run.task_facts.targets,
            "axes": axes,
            "width": self.width,
            "skips": list(self._skips()),
            "clips": self._clips(),
        }

    def chart(self, key: str) -> Chart:
        if key not in self.charts:
            group, title, unit = TITLES.get(key, (MORE, key[:MOST_OF_A_TITLE], ""))
            if band := _BAND.fullmatch(key):
                group, title = LEARNING, f"Loss at {band[1]} to {band[2]}% noise"
            digits = 4
            for metric in METRICS:
                if metric.name == key and key != "loss":
                    group, title, unit, digits = LEARNING, metric.label, "", metric.digits + 1
            self.charts[key] = Chart(
                key, group, title, unit, log=key in LOGARITHMIC, digits=digits, smooth=key not in EXACT
            )
        chart = self.charts[key]
        if (own := self._own_unit(key)) not in (
            "",
            *chart.unit.split("; "),
        ):  # runs of other tasks have others
            chart.unit = f"{chart.unit}; {own}" if chart.series else own
        return chart

    def _own_unit(self, key: str) -> str:
        """The unit of what each task counts in its own way; empty for everything else."""
        task = self.run.task_facts
        match key:
            case "loss":
                return task.loss_unit
            case _ if _BAND.fullmatch(key):
                return task.loss_unit
            case "tokens_per_second":
                return f"{task.tokens} per second"
            case "target_tokens":
                return task.targets
            case "tokens":
                return task.tokens
            case _:
                return ""

    def _axis_of_steps(self) -> dict[str, Any]:
        steps, width = self.run.steps, self.width
        number = _numbered(steps.column("step"))
        tokens = np.nancumsum(steps.column("target_tokens"))
        seconds = np.maximum.accumulate(np.nan_to_num(steps.column("seconds")))
        return {
            "step": self.pack.add(ends_of(number, width), kind="f8"),
            "tokens": self.pack.add(ends_of(tokens, width), kind="f8"),
            "seconds": self.pack.add(ends_of(seconds, width), kind="f8"),
        }

    def _add_steps(self, name: str) -> None:
        values = self.run.steps.column(name)
        odd = self.run.steps.not_finite(name)
        if not np.isfinite(values).any() and not len(odd):
            return
        points = points_of(values, self.width)
        series = {
            "run": self.number,
            "label": "training",
            "axis": "steps",
            "mean": self.pack.add(points.mean),
        }
        if points.lowest is not None and points.highest is not None:
            series |= {
                "lowest": self.pack.add(points.lowest),
                "highest": self.pack.add(points.highest),
                "lowest_at": self.pack.add(points.lowest_at, kind="u4"),
                "highest_at": self.pack.add(points.highest_at, kind="u4"),
            }
        if len(odd):
            steps = _numbered(self.run.steps.column("step"))
            series |= {"odd": steps[odd[:MOST_MARKS]].tolist(), "num_odd": len(odd)}
        self.chart(name).series.append(series)

    def _add_bounds(self) -> None:
        """The clip line and where the guard begins to skip."""
        run, at = self.run, self.run.value("step.clip.at")
        chart = self.charts.get("grad_norm")
        clips = run.value("step.clip.kind") == "global_norm" and isinstance(at, int | float)
        if chart is not None and clips and all(line["value"] != at for line in chart.lines):
            chart.lines.append({"label": f"clipped above {at:g}", "value": float(at)})
        bounds = guard_bounds(run, self.width)
        for name, values in zip(("loss", "grad_norm"), bounds or (), strict=False):
            if name in self.charts and np.isfinite(values).any():
                self.charts[name].series.append(
                    {
                        "run": self.number,
                        "label": "guard skips above",
                        "axis": "steps",
                        "mean": self.pack.add(values),
                        "bound": True,
                    }
                )

    def _add_records(self, kind: str, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
        axes = dict[str, Any]()
        of_step = _Places(self.run)
        sets = self._sets(records)
        for number, name in enumerate(sets):
            rows = [
                each for each in records if str(each.get("set", "")) == name and is_number(each.get("step"))
            ]
            rows = sorted({each["step"]: each for each in rows}.values(), key=lambda each: each["step"])
            axis = f"{kind} {name}"
            axes[axis] = {
                what: self.pack.add(column, kind="f8") for what, column in of_step.axis(rows).items()
            }
            for key in dict.fromkeys(key for row in rows for key, value in row.items() if _is_number(value)):
                if key in NO_CURVES:
                    continue
                column = np.array([_number(row.get(key)) for row in rows])
                label = name or "at evaluations"
                series: dict[str, Any] = {"run": self.number, "label": label, "axis": axis, "points": True}
                series["mean"] = self.pack.add(np.where(np.isfinite(column), column, np.nan))
                if odd := [row["step"] for row in rows if _is_odd(row.get(key))]:
                    series |= {"odd": odd[:MOST_MARKS], "num_odd": len(odd)}
                if number >= MOST_SETS:
                    series["hidden"] = True
                self.chart(key).series.append(series)
        return axes

    def _sets(self, records: Sequence[dict[str, Any]]) -> list[str]:
        """The sets of records, the one that chooses the best checkpoint first."""
        best = self.run.value("evaluate.best.set")
        names = dict.fromkeys(str(each.get("set", "")) for each in records)
        return sorted(names, key=lambda name: name != best)

    def _skips(self) -> Iterator[list[Any]]:
        steps = self.run.steps
        rows = np.flatnonzero(steps.column("skipped") > 0)
        number = _numbered(steps.column("step"))
        for row in rows[:MOST_MARKS].tolist():
            yield [number[row], steps.words.get("refused", {}).get(row, "skipped")[:40]]

    def _clips(self) -> dict[str, Any] | None:
        clipped = self.run.steps.column("clipped")
        if not (clipped > 0).any():
            return None
        return self.pack.add(counts_of(clipped, self.width), kind="u4")


@dataclass(slots=True)
class _Places:
    """Where a step is in tokens and seconds."""

    run: RunData

    def axis(self, rows: Sequence[dict[str, Any]]) -> dict[str, np.ndarray]:
        at = np.array([float(row["step"]) for row in rows])
        steps = self.run.steps
        if not steps.num_rows:
            return {"step": at, "tokens": at * np.nan, "seconds": at * np.nan}
        number = _numbered(steps.column("step"))
        tokens = np.nancumsum(steps.column("target_tokens"))
        seconds = np.maximum.accumulate(np.nan_to_num(steps.column("seconds")))
        return {
            "step": at,
            "tokens": np.interp(at, number, tokens, left=0.0),
            "seconds": np.interp(at, number, seconds, left=0.0),
        }


def guard_bounds(run: RunData, width: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The largest loss and gradient norm that the guard let pass at the first step of each point, as
    `trimtab.guard.outlier` computes them from the accepted steps before it; None where it is off."""
    steps = run.steps
    if run.value("guard.outliers", True) is not True or not steps.num_rows:
        return None
    window, active = (
        run.value(f"guard.{name}", most) for name, most in (("window", 128), ("active_from", 64))
    )
    factors = [
        run.value(f"guard.{name}", most) for name, most in (("loss_deviations", 8), ("norm_deviations", 10))
    ]
    if not all(_is_number(each) for each in (window, active, *factors)):
        return None
    loss, norm = steps.column("loss"), steps.column("grad_norm")
    accepted = np.flatnonzero((steps.column("skipped") != 1) & np.isfinite(loss) & np.isfinite(norm))
    starts = np.arange(0, steps.num_rows, width)
    known = np.searchsorted(accepted, starts)
    found = np.full((2, len(starts)), np.nan)
    rule = OutlierRule()
    logs = np.log(np.maximum(norm, 1e-30))
    for point, count in enumerate(known.tolist()):
        if count < max(1, min(active, window)):
            continue
        rows = accepted[max(0, count - int(window)) : count]
        middle, spread = _spread(loss[rows])
        found[0, point] = middle + factors[0] * max(spread, rule.least_loss_deviation * abs(middle))
        middle, spread = _spread(logs[rows])
        found[1, point] = math.exp(min(middle + factors[1] * max(spread, rule.least_norm_deviation), 80.0))
    return found[0], found[1]


def _spread(values: np.ndarray) -> tuple[float, float]:
    middle = _median(values)
    return middle, NORMAL_MAD * _median(np.abs(values - middle))


def _median(values: np.ndarray) -> float:
    """Of an even number the lower one, as the guard's."""
    return float(np.sort(values)[(len(values) - 1) // 2])


def _numbered(step: np.ndarray) -> np.ndarray:
    """Steps as an axis, which never falls: lines without a step follow the one before."""
    row = np.arange(1, len(step) + 1, dtype=np.float64)
    return np.maximum.accumulate(np.where(np.isfinite(step), step, 0.0)) if np.isfinite(step).any() else row


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("nan", "inf", "-inf")
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_odd(value: Any) -> bool:
    return _is_number(value) and not math.isfinite(_number(value))


def _number(value: Any) -> float:
    try:
        return float(value) if _is_number(value) else math.nan
    except OverflowError:
        return math.inf
