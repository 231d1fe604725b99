"""A greedy soup: checkpoints or runs are averaged one by one, as long as the validation set says that it helps."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from trimtab.averaging.card import write_card
from trimtab.averaging.compatibility import check_compatible, different_start
from trimtab.averaging.members import Member, fewer_than_asked, open_members
from trimtab.averaging.report import AverageReport, Tried
from trimtab.averaging.result_folder import check_result_place, plain_tokenizer, write_result
from trimtab.averaging.validation_scores import ValidationScorer, ValidationScores, check_metric, compared
from trimtab.averaging.weight_sum import WeightSum
from trimtab.config.run import Weights
from trimtab.errors import input_error
from trimtab.metrics.catalogue import MetricName


@dataclass(frozen=True, slots=True)
class Soup:
    """What came of it."""

    weights: dict[str, Tensor]
    members: tuple[Member, ...]
    tried: tuple[Tried, ...]


def greedy_soup(
    checkpoints: Sequence[str],
    *,
    out: Path | str,
    last: int | None = None,
    weights: Weights | None = None,
    metric: MetricName | None = None,
    across_starts: str = "",
) -> AverageReport:
    """Averages those of the checkpoints or runs that help each other on the validation set, and makes a run folder of
    the mean. Source: Wortsman et al. 2022, arXiv 2203.05482, recipe 1.

    They are sorted by their score, by `metric` or what the first recipe chooses its best checkpoint by. The soup begins
    with the best, and each next one is added if the score of the soup does not fall. It so has at least the score of
    the best single one, on this set: another set says more about what was gained. Different first weights are a note,
    with the reason in `across_starts` if there is one.

    Raises InputError as `average` does, and where the validation sets cannot be read or no score is a number.
    """
    check_result_place(Path(out))
    members = open_members(checkpoints, last=last, weights=weights, least=2)
    check_compatible(members)
    unlike = different_start(members)
    reason = across_starts.strip() or "only what helped was averaged"
    notes = fewer_than_asked(members, last)
    notes += (f"{unlike.problems[0].what}; {reason}",) if unlike else ()
    check_metric(members[0], metric)
    scorer = ValidationScorer.of(members[0], metric=metric)
    singles = {member.label: scorer.measure(member.load()) for member in members}
    soup = cook(members, singles, scorer)
    newest = max(soup.members, key=lambda member: member.checkpoint.step)
    tokenizer = plain_tokenizer(newest)
    write_result(Path(out), soup.weights, like=newest, members=soup.members, tokenizer=tokenizer)
    labels = tuple(member.label for member in soup.members)
    report = AverageReport(Path(out), labels, {}, kind="greedy soup", tried=soup.tried, notes=notes)
    report = compared(report, scorer, soup.weights, singles)
    write_card(report, step=newest.checkpoint.step, recipe=newest.recipe)
    return report


def cook(
    members: Sequence[Member], singles: Mapping[str, ValidationScores], scorer: ValidationScorer
) -> Soup:
    """The soup of the members, whose scores are known; InputError if none is a number."""
    scores = {member.label: singles[member.label].score for member in members}
    sound = [
        member for member in members if (score := scores[member.label]) is not None and math.isfinite(score)
    ]
    if not sound:
        raise input_error(
            f"soup: no checkpoint has a {scorer.metric} that is a number on {scorer.chosen}",
            got=", ".join(f"{label} {score}" for label, score in scores.items()),
            allowed="at least one",
            fix="leave out the checkpoints of a run that diverged, or choose another --metric",
        )
    sound.sort(key=lambda member: scores[member.label] or 0.0, reverse=not scorer.lower_is_better)
    total = WeightSum(sound[0].load())
    best, taken = scores[sound[0].label], [sound[0]]
    tried = [Tried(label=sound[0].label, score=best, with_it=best, taken=True)]
    for member in sound[1:]:
        weights = member.load()
        score = scorer.measure(total.mean_with(weights)).score
        helps = scorer.holds(score, best)
        if helps:
            total.add(weights)
            taken.append(member)
            best = score
        tried.append(Tried(label=member.label, score=scores[member.label], with_it=score, taken=helps))
    cooked = {each.label for each in tried}
    tried += [
        Tried(label=member.label, score=scores[member.label], with_it=None, taken=False)
        for member in members
        if member.label not in cooked
    ]
    return Soup(total.mean(), tuple(taken), tuple(tried))
