"""What the user calls a checkpoint: `RUN` (its best), `RUN@last`, `RUN@500`, or the folder of a checkpoint itself; and
which of its weights: `RUN@ema`, `RUN@500:raw`; and which direction of a modular model: `RUN#en-de`."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

from trimtab.checkpoint.find import best_step, newest
from trimtab.checkpoint.load import Checkpoint, open_checkpoint
from trimtab.checkpoint.log_findings import log_finding
from trimtab.checkpoint.manifest import MANIFEST
from trimtab.checkpoint.nearby import near_names
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import list_damaged, list_steps, step_name
from trimtab.checkpoint.store_findings import newest_damaged
from trimtab.config.pretrained.place import CONFIG, HUB_NAME
from trimtab.config.run import Weights
from trimtab.errors import InputError, input_error, reading

_ALLOWED = "the folder of a run"
_MADE = "name a folder that `trimtab train` made"


def resolve_checkpoint(spec: str) -> Checkpoint:
    """The checkpoint that a user names; changes nothing, so a run may be training meanwhile.

    `RUN` alone is the best checkpoint, or the newest where nothing was evaluated; `RUN@best` insists on the best. With
    `:ema` or `:raw` behind, or in the place of a step, it remembers which weights were asked for.
    Raises InputError, saying what exists, where there is no such run or checkpoint; Damaged where it is not sound.
    """
    spec, direction = split_direction(spec)
    path, which, weights = _split(spec)
    with reading(path):
        if not which and (path / MANIFEST).is_file():
            return replace(open_checkpoint(path), weights=weights, direction=direction)
    run = run_at(path)
    steps = list_steps(run.checkpoints)
    if not steps:
        raise _without_checkpoints(run)
    step = _step(run.checkpoints, which)
    if step in steps:
        found = open_checkpoint(run.checkpoints / step_name(step))
        return replace(found, weights=weights, direction=direction)
    raise input_error(
        f"the run {path} has no checkpoint {which!r}",
        got=spec,
        allowed=", ".join(f"{path}@{each}" for each in ["last", *steps]),
        fix="name one of these, or only the run for its best",
    )


def _without_checkpoints(run: RunFolder) -> InputError:
    allowed = "a run that has committed a checkpoint"
    if damaged := list_damaged(run.checkpoints):
        return input_error(
            f"no checkpoint of the run {run.path} is sound",
            got=f"damaged and set aside: {', '.join(damaged)}",
            allowed=allowed,
            fix="restore a checkpoint from a copy, or train again with another --out",
            where=str(run.checkpoints),
        )
    if os.path.lexists(run.data_ledger):
        return input_error(
            f"the checkpoints of the run {run.path} are gone",
            got=f"none, though {run.data_ledger.name} was written with one",
            allowed=allowed,
            fix="put them back (is their disk mounted?), or train again with another --out",
            where=str(run.checkpoints),
        )
    return input_error(
        f"the run {run.path} has no checkpoint yet",
        got=f"none in {run.checkpoints}",
        allowed=allowed,
        fix="wait for the first one, or resume the run with `trimtab train ... --resume`",
    )


def split_direction(spec: str) -> tuple[str, str]:
    """A name without its direction, and this: `RUN@500#en-de` is `RUN@500` and `en-de`. A folder may have a # in its
    own name."""
    if os.path.exists(spec) or "#" not in spec:
        return spec, ""
    name, _, direction = spec.rpartition("#")
    return name, direction


def split_weights(spec: str) -> tuple[str, Weights | None]:
    """A name without its weights, and these: `RUN@500:ema` is `RUN@500` and `ema`, `RUN@ema` is `RUN` and `ema`."""
    for weights in get_args(Weights):
        if spec.endswith((f"@{weights}", f":{weights}")) and "@" in spec:
            return spec[: -len(weights) - 1], weights
    return spec, None


def _split(spec: str) -> tuple[Path, str, Weights | None]:
    # A folder may have an @ in its own name.
    if os.path.exists(spec):
        return Path(spec), "", None
    spec, weights = split_weights(spec)
    if os.path.exists(spec) or "@" not in spec:
        return Path(spec), "", weights
    path, _, which = spec.rpartition("@")
    return Path(path), which, weights


def run_at(path: Path) -> RunFolder:
    """The run in a folder, for reading; InputError, saying what is near, if there is none."""
    if not os.path.exists(path):
        near = near_names(path)
        fix = f"did you mean {' or '.join(near)}?" if near else "name the folder of a run"
        whole, at, _ = str(path).rpartition("@")
        if not near and HUB_NAME.fullmatch(str(path)) and not path.parent.exists():
            fix = _begin_with(path)
        if at and os.path.exists(whole):
            fix = f"name the run alone, {whole}, without a checkpoint"
        raise input_error(
            f"no such run: {path}", got="no file or folder at this path", allowed=_ALLOWED, fix=fix
        )
    run = RunFolder(path)
    with reading(path):
        if not run.recipe.is_file():
            raise _no_run(path)
    return run


def _begin_with(path: Path) -> str:
    return f"train a run that begins with this model, by `model: {{kind: pretrained, path: {path}}}` in its recipe"


def _no_run(path: Path) -> InputError:
    if not path.is_dir():
        return input_error(f"{path} is not a run", got="a file", allowed=_ALLOWED, fix=_MADE)
    if (path / CONFIG).is_file():
        got = f"{CONFIG} and no recipe.yaml: a pretrained model, or an export"
        return input_error(f"{path} is not a run", got=got, allowed=_ALLOWED, fix=_begin_with(path))
    inside = sorted(str(each.parent) for each in path.glob("*/recipe.yaml"))[:5]
    fix = f"did you mean {' or '.join(inside)}?" if inside else _MADE
    return input_error(f"{path} is not a run", got="no recipe.yaml in it", allowed=_ALLOWED, fix=fix)


def _step(checkpoints: Path, which: str) -> int | None:
    if re.fullmatch("[0-9]{1,18}", which):
        return int(which)
    match which:
        case "":
            tell_damage(checkpoints)
            best = best_step(checkpoints)
            return best if best is not None else list_steps(checkpoints)[-1]
        case "best":
            return best_step(checkpoints)
        case "last":
            # Where it is damaged, opening it says so; an older one in its place would be taken for it.
            return list_steps(checkpoints)[-1]
    return None


def tell_damage(checkpoints: Path) -> None:
    """Logs that the newest checkpoint is not sound, where the best is then only the best that an older one knows."""
    step, sound = list_steps(checkpoints)[-1], newest(checkpoints)
    if sound is not None and sound.step < step:
        log_finding(newest_damaged(checkpoints, newest=step_name(step), used=step_name(sound.step)))
