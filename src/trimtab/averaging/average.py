"""The mean of several checkpoints' weights, or the moving average of one, as a model of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from trimtab.averaging.card import write_card
from trimtab.averaging.compatibility import check_compatible, different_start
from trimtab.averaging.members import Member, best_of_run, fewer_than_asked, open_members
from trimtab.averaging.report import AverageReport
from trimtab.averaging.result_folder import check_result_place, plain_tokenizer, write_result
from trimtab.averaging.validation_scores import ValidationScorer, check_metric, compared
from trimtab.averaging.weight_sum import mean_of, not_finite
from trimtab.errors import InputError, Problem, input_error
from trimtab.metrics.catalogue import MetricName


def average(
    checkpoints: Sequence[str],
    *,
    out: Path | str,
    last: int | None = None,
    ema: bool = False,
    metric: MetricName | None = None,
    across_starts: str = "",
) -> AverageReport:
    """Averages the weights of `RUN@STEP`, or of the `last` checkpoints of one run, and makes a run folder of the mean
    that `translate`, `evaluate` and `score` take like any other. With `ema` the weights are the moving averages that
    the runs kept (`step.ema`), and one checkpoint is enough.

    The mean is taken in float64. Averaging the checkpoints at the end of a run is that of Vaswani et al. 2017
    (arXiv 1706.03762, section 6.1), within one run or over runs that began from the same weights (arXiv 2203.05482).
    The report and the card in the folder compare it with the single ones on the validation sets, by `metric` or what
    the run chooses its best checkpoint by.

    Raises InputError if fewer than two are named, where model, vocabulary, element types or first weights differ,
    where there are batch norms, where `metric` is of translations and there is nothing to translate, and where `out`
    holds a run; where a file of the tokenizer is no plain one, and where the mean is not finite. Then nothing is made.
    `across_starts` says why different first weights may be averaged anyway; the card says so.
    """
    check_result_place(Path(out))
    weights = "ema" if ema else None
    members = open_members(checkpoints, last=last, weights=weights, least=1 if ema else 2)
    check_compatible(members)
    notes = (*fewer_than_asked(members, last), *_overridden(different_start(members), across_starts))
    newest = max(members, key=lambda member: member.checkpoint.step)
    check_metric(newest, metric)
    tokenizer = plain_tokenizer(newest)
    mean = mean_of([member.load for member in members])
    _check_finite(mean)
    write_result(Path(out), mean, like=newest, members=members, tokenizer=tokenizer)
    report = AverageReport(
        Path(out),
        tuple(member.label for member in members),
        {},
        kind="moving average" if len(members) == 1 else "mean",
        notes=notes,
    )
    report = _measured(report, members, mean, metric=metric)
    write_card(report, step=newest.checkpoint.step, recipe=newest.recipe)
    return report


def _measured(
    report: AverageReport, members: Sequence[Member], mean: Mapping[str, Tensor], *, metric: MetricName | None
) -> AverageReport:
    """With the single ones beside it; where the sets cannot be read, with the reason."""
    newest = max(members, key=lambda member: member.checkpoint.step)
    singles = [members[0].with_weights("raw")] if len(members) == 1 else [*members]
    best = best_of_run(singles)
    try:
        scorer = ValidationScorer.of(newest, metric=metric)
        found = {each.label: scorer.measure(each.load()) for each in (*singles, *([best] if best else []))}
        return compared(report, scorer, mean, found)
    except InputError as error:
        return replace(report, unread=_in_a_line(error.problems[0]))


def _in_a_line(problem: Problem) -> str:
    """What is wrong and what helps, in a line."""
    return f"{problem.what}; {problem.fix}" if problem.fix else problem.what


def _overridden(unlike: InputError | None, reason: str) -> tuple[str, ...]:
    """A note about different first weights; raises where no reason is given."""
    if unlike is None:
        return ()
    if not reason.strip():
        raise unlike
    return (f"{unlike.problems[0].what}, averaged anyway: {reason}",)


def _check_finite(mean: Mapping[str, Tensor]) -> None:
    if bad := not_finite(mean):
        raise input_error(
            "average: the mean is not finite",
            got=f"infinities or NaN in {len(bad)} of {len(mean)} tensors, such as {bad[0]}",
            allowed="checkpoints whose weights are finite",
            fix="leave out checkpoints of a run that diverged",
        )
