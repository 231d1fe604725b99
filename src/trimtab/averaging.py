"""The mean of several checkpoints' weights, as a model of its own."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trimtab.checkpoint.durable import replace_file
from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import list_steps
from trimtab.checkpoint.store import CheckpointStore
from trimtab.config.load import load_recipe
from trimtab.config.run import Recipe
from trimtab.data.cache import default_cache
from trimtab.data.corpus import open_corpus
from trimtab.data.input_file import open_input
from trimtab.data.tokenizers import load_tokenizers
from trimtab.errors import InputError, input_error
from trimtab.evaluation import reference_loss
from trimtab.translator import LoadedModel, load_model


@dataclass(frozen=True, slots=True)
class Member:
    """One checkpoint that goes into the mean."""

    label: str
    """`RUN@STEP`."""
    checkpoint: Checkpoint
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class AverageReport:
    """What was averaged, and what it gained."""

    folder: Path
    members: tuple[str, ...]
    losses: dict[str, dict[str, float | None]]
    """For each validation set the loss (nats per target token) of each member, and of the mean under `average`; empty
    where the sets cannot be read any more."""
    unread: str = ""
    """Why there are none."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"folder": str(self.folder)}

    def render(self) -> str:
        """Lines for people."""
        lines = [f"{self.folder}: the mean of {len(self.members)} checkpoints"]
        for name, losses in self.losses.items():
            width = max(map(len, losses))
            lines.append(f"loss on {name}:")
            lines += [f"  {label:{width}}  " + _number(loss) for label, loss in losses.items()]
            known = [loss for label, loss in losses.items() if label != "average" and loss is not None]
            mean = losses["average"]
            if known and mean is not None:
                gain = min(known) - mean
                lines.append(f"  {gain:+.4f} nats against the best of them" if gain > 0 else "  no gain")
        return "\n".join([*lines, *([f"not scored: {self.unread}"] if self.unread else [])])


def average(checkpoints: Sequence[str], *, out: Path | str, last: int | None = None) -> AverageReport:
    """Averages the weights of `RUN@STEP`, or of the `last` checkpoints of one run, and makes a run folder of the mean
    that `translate`, `evaluate` and `score` take like any other.

    The mean is taken in float64. Averaging the checkpoints at the end of a run is that of Vaswani et al. 2017
    (arXiv 1706.03762, section 6.1), within one run or over runs that began from the same weights (arXiv 2203.05482).
    Raises InputError where fewer than two are named, where model, vocabulary or first weights differ, and where `out`
    holds a run; where a file of the tokenizer is no plain one, and where the mean is not finite. Then nothing is made.
    """
    members = _members(checkpoints, last)
    _check_alike(members)
    newest = max(members, key=lambda member: member.checkpoint.step)
    folder, home = Path(out), RunFolder(newest.checkpoint.run)
    tokenizer = _plain_files(home.tokenizer)
    mean = mean_of([member.checkpoint.load_model for member in members])
    _check_finite(mean)
    with RunFolder.create(folder) as run:
        run.write_recipe(home.recipe.read_text(encoding="utf-8"))
        for name, content in tokenizer.items():
            (run.tokenizer / name).parent.mkdir(parents=True, exist_ok=True)
            replace_file(run.tokenizer / name, content)
        CheckpointStore(run.checkpoints, keep=1).save(
            replace(newest.checkpoint.load_state(), best={}, guard={}),
            model=mean,
            optimizer={},
            # There are no moments to go on with: this is what a resumed run is told.
            fingerprints={
                **newest.checkpoint.fingerprints,
                "averaged": ", ".join(member.label for member in members),
            },
        )
    labels = tuple(member.label for member in members)
    try:
        losses = _losses(newest.recipe, {**{label: label for label in labels}, "average": str(folder)})
    except InputError as error:
        return AverageReport(folder, labels, {}, error.problems[0].what)
    return AverageReport(folder, labels, losses)


def mean_of(models: Sequence[Callable[[], Mapping[str, Tensor]]]) -> dict[str, Tensor]:
    """The mean of the models' tensors, one model in memory at a time beside the sum; what is no floating-point number
    is that of the first."""
    first = models[0]()
    sums = {name: tensor.double() for name, tensor in first.items() if tensor.is_floating_point()}
    for load in models[1:]:
        other = load()
        for name, total in sums.items():
            total += other[name].double()
    kept = {name: tensor for name, tensor in first.items() if name not in sums}
    return kept | {name: (total / len(models)).to(first[name].dtype) for name, total in sums.items()}


def _plain_files(folder: Path) -> dict[str, bytes]:
    """What the files of a tokenizer's folder hold; InputError for a pipe, a device, or a link."""
    held: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise input_error(
                f"{path}: is a link",
                got=f"a link to {os.readlink(path)}",
                allowed="plain files in the tokenizer's folder of a run",
                fix="put the file itself in its place",
            )
        if not path.is_dir():
            with open_input(path) as file:
                held[str(path.relative_to(folder))] = file.read()
    load_tokenizers(folder)
    return held


def _check_finite(mean: Mapping[str, Tensor]) -> None:
    if bad := [name for name, tensor in mean.items() if not tensor.isfinite().all()]:
        raise input_error(
            "average: the mean is not finite",
            got=f"infinities or NaN in {len(bad)} of {len(mean)} tensors, such as {bad[0]}",
            allowed="checkpoints whose weights are finite",
            fix="leave out the checkpoints of a run that diverged",
        )


def _members(specs: Sequence[str], last: int | None) -> list[Member]:
    if last is not None:
        if len(specs) != 1:
            raise input_error(
                "--last: is for the checkpoints of one run",
                got=f"{len(specs)} runs",
                allowed="one",
                fix="name one run, or the checkpoints themselves: RUN@500 RUN@1000",
            )
        run = resolve_checkpoint(specs[0]).run
        specs = [f"{run}@{step}" for step in list_steps(RunFolder(run).checkpoints)[-last:]]
    found = [resolve_checkpoint(spec) for spec in specs]
    different = {str(each.folder.resolve()): each for each in found}
    if len(different) < 2:
        raise input_error(
            "average: needs at least two different checkpoints",
            got=", ".join(f"{each.run}@{each.step}" for each in different.values()) or "none",
            allowed="two or more, such as RUN@500 RUN@1000",
            fix="name more of them; `checkpoint.keep` says how many a run keeps",
        )
    return [
        Member(f"{each.run}@{each.step}", each, load_recipe(RunFolder(each.run).recipe).recipe)
        for each in different.values()
    ]


def _check_alike(members: Sequence[Member]) -> None:
    """InputError where a mean of the weights means nothing, with the first member that is unlike the first of all."""
    first = members[0]
    for member in members[1:]:
        for what, ours, theirs in (
            ("model", _shape(first), _shape(member)),
            ("vocabulary", _vocabulary(first), _vocabulary(member)),
            ("first weights", _beginning(first), _beginning(member)),
        ):
            if ours != theirs:
                keys = [key for key in ours if ours[key] != theirs.get(key)]
                raise input_error(
                    f"{member.label} and {first.label} cannot be averaged: another {what}",
                    got=", ".join(f"{key} {theirs.get(key)}" for key in keys),
                    allowed=", ".join(f"{key} {ours[key]}" for key in keys),
                    fix="average checkpoints of one run, or of runs that began from the same weights",
                )


def _shape(member: Member) -> dict[str, Any]:
    shape = member.recipe.model.model_dump(mode="json")
    for free in ("preset", "dropout", "warm_start", "warm_start_sha256"):
        shape.pop(free, None)
    return shape


def _vocabulary(member: Member) -> dict[str, Any]:
    marks = member.checkpoint.fingerprints
    return {key: marks.get(key, "none")[:16] for key in ("tokenizer", "source_tokenizer")}


def _beginning(member: Member) -> dict[str, Any]:
    """Weights that were drawn from different seeds lie in different valleys, and their mean on the hill between."""
    model = member.recipe.model
    warm = model.warm_start_sha256 if model.warm_start else None
    return {"warm_start": warm} if warm else {"seed": member.recipe.seed}


def _losses(recipe: Recipe, models: Mapping[str, str]) -> dict[str, dict[str, float | None]]:
    """The loss of each model on each validation set; InputError where a set cannot be read."""
    sets = {
        name: open_corpus(files, root=Path.cwd(), cache=default_cache())
        for name, files in recipe.data.valid.items()
    }
    losses: dict[str, dict[str, float | None]] = {name: {} for name in sets}
    for label, spec in models.items():
        model: LoadedModel = load_model(spec)
        for name, corpus in sets.items():
            pairs = [corpus.pair(line) for line in range(len(corpus))]
            with torch.inference_mode():
                losses[name][label] = reference_loss(
                    model, [pair[0] for pair in pairs], [pair[1] for pair in pairs], tags=corpus.tags
                )
    return losses


def _number(loss: float | None) -> str:
    return "no pair fits" if loss is None else f"{loss:.4f}"
