"""`--reset`: which parts of a resumed run may start over, and which settings may then change."""

from collections.abc import Collection, Mapping, Sequence
from shlex import quote
from typing import Any, Literal, cast, get_args

from trimtab.errors import InputError, input_error

Reset = Literal["optimizer", "learning_rate", "schedule", "data", "best"]
"""The moments and the moving average; the peak of the learning rate, whose schedule continues; schedule and length;
where in which data; the best evaluation so far."""
RESETS: tuple[Reset, ...] = get_args(Reset)
Needed = Reset | Literal["nothing", "another run"]

CHANGES: Mapping[str, Needed] = {
    "recipe.length": "nothing",
    "recipe.evaluate": "nothing",
    "recipe.checkpoint": "nothing",
    "recipe.export": "nothing",
    "recipe.log": "nothing",
    "recipe.guard": "nothing",
    "recipe.parallel": "nothing",
    "recipe.step.compile": "nothing",
    "recipe.step.cuda_graph": "nothing",
    "recipe.step.recompute": "nothing",
    "recipe.step.offload": "nothing",
    "recipe.step.gradients": "nothing",
    "recipe.data.workers": "nothing",
    "recipe.data.valid": "nothing",
    "data.valid": "nothing",
    # Moments are means over gradients of the old objective.
    "recipe.step.optimizer": "optimizer",
    "recipe.step.clip": "optimizer",
    "recipe.step.ema": "optimizer",
    "recipe.loss": "optimizer",
    "recipe.model.dropout": "optimizer",
    "recipe.step.neftune_alpha": "optimizer",
    "recipe.step.position_shift": "optimizer",
    "recipe.step.stochastic_depth": "optimizer",
    "recipe.step.optimizer.learning_rate": "learning_rate",
    "recipe.step.optimizer.learning_rate_multipliers": "learning_rate",
    "recipe.step.schedule": "schedule",
    "recipe.data": "data",
    "data.train": "data",
    "recipe.seed": "data",
    "recipe.step.tokens_per_step": "data",
    "recipe.step.batch_warmup": "data",
    "recipe.step.tokens_per_micro_batch": "data",
    "recipe.step.source_tokens_per_micro_batch": "data",
    # The weights are of these vocabularies.
    "recipe.data.tokenizer": "another run",
    "recipe.data.source_tokenizer": "another run",
    "recipe.data.source_factors": "another run",
}
"""What a resumed run may change, and what has to be reset for it. Of several names the longest that a
difference begins with decides; what none begins would make it another run."""
MAY_CHANGE = tuple(name for name, needed in CHANGES.items() if needed == "nothing")


def needed_for(name: str) -> Needed:
    """What has to be reset where the fingerprint of this name differs, such as `recipe.loss.label_smoothing`."""
    begun = name.split(" ")[0]  # of `data.train.1 reversed`
    while begun:
        if begun in CHANGES:
            return CHANGES[begun]
        begun = begun.rpartition(".")[0]
    return "another run"


def may_change(reset: Collection[Reset]) -> tuple[str, ...]:
    """The names of the table that may differ with these resets."""
    return tuple(name for name, needed in CHANGES.items() if needed in ("nothing", *_with_implied(reset)))


def _with_implied(reset: Collection[Reset]) -> tuple[Reset, ...]:
    """A schedule that starts over may do so with another learning rate."""
    return (*reset, "learning_rate") if "schedule" in reset else (*reset,)


def fixes_for(names: Sequence[str], reset: Collection[Reset], *, pretrained_run: str = "") -> dict[str, str]:
    """The fix for each name that differs, given that `reset` is reset already. `pretrained_run` is the path of a run
    with a pretrained model: another recipe begins with its weights only if `model.path` is an export of the run."""
    needed = {name: needed_for(name) for name in names}
    asked = {*reset, *needed.values()}
    wanted = [
        each for each in RESETS if each in asked and not (each == "learning_rate" and "schedule" in asked)
    ]
    words = ",".join(wanted)
    restore = "restore it (repeat it if it came from the command line)"
    anew = "start a new run with another --out, whose `model.warm_start` takes these weights"
    if pretrained_run:
        anew = (
            f"merge what it has learned with `trimtab export {quote(pretrained_run)} --to hf --out MERGED`, and start "
            "a new run with another --out and `model.path: MERGED`"
        )
    return {
        name: f"{restore}, or {anew}"
        if needed[name] == "another run"
        else f'{restore}, or continue with it: `--resume --reset {words}` (in Python reset="{words}")'
        for name in names
    }


def parse_reset(given: str | Collection[str]) -> tuple[Reset, ...]:
    """The resets that are named, as words or as one text with commas, in their order; InputError for other words."""
    words = given.split(",") if isinstance(given, str) else [*given]
    words = [str(word).strip() for word in words]
    if strange := [word for word in words if word and word not in RESETS]:
        raise _wrong(", ".join(strange))
    if given and not any(words):
        raise _wrong(repr(given))
    return tuple(cast("Any", each) for each in RESETS if each in words)


def check_resumes(reset: Sequence[Reset], *, resume: bool | Literal["auto"]) -> None:
    """InputError where nothing can be reset, or would be again at each start of a job."""
    if not reset or resume is True:
        return
    words = ",".join(reset)
    if resume == "auto":
        raise input_error(
            "--reset: cannot be combined with --auto-resume",
            got=f"--auto-resume --reset {words}",
            allowed="--resume --reset, once; a requeued job would reset each time",
            fix=f"start once with `--resume --reset {words}`, then continue with --auto-resume",
        )
    raise input_error(
        "--reset: only for a run that resumes",
        got=f"--reset {words} without --resume",
        allowed=f"--resume --reset {words}",
        fix="add --resume, or drop --reset: a new run has nothing to reset",
    )


def _wrong(got: str) -> InputError:
    return input_error(
        "--reset: unknown part of a run",
        got=got,
        allowed=f"{', '.join(RESETS)}, several with commas between them",
        fix="write `--reset optimizer,schedule`",
    )
