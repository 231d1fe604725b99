"""What was understood of a file, in a few lines, so that "nothing found" is believed for the right reason."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN, Document
from trimtab.checks.read.flow.loops import Loop, stepped, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_periodic, is_schedule, options, root
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.setting import Setting
from trimtab.units import counted

MOST_NAMED: Final = 6
"""Names of one kind that are written out; more are counted."""


def reading(runs: Sequence[Description]) -> tuple[str, ...]:
    """Lines about one file: each run, each training loop, then what could not be followed."""
    if not runs:
        return ()
    lines = [_run(run) for run in runs]
    document = runs[0].document
    if document.syntax == "python":
        flow = flow_of(document)
        lines += [_loop(flow, loop) for loop in training_loops(flow)]
        lines += _unseen(document, flow)
    return tuple(lines)


def _run(run: Description) -> str:
    parts = [part for part in _parts(run) if part]
    return f"{run.tool}: {', '.join(parts) or 'nothing that trimtab has a word for'}"


def _parts(run: Description) -> Iterator[str]:
    yield _said(run, "model_name", "{}")
    yield _optimizer(run)
    yield _said(run, "schedule", "schedule {}")
    yield _warmup(run)
    yield _said(run, "micro_batch", "{} in a micro-batch")
    yield _said(run, "accumulation", "accumulation {}")
    yield _said(run, "clip", "clipped at {}")
    yield _said(run, "weights_dtype", "{} weights")
    yield _said(run, "autocast", "autocast {}")
    yield _said(run, "adapter", "adapter {}")
    yield _said(run, "gradient_checkpointing", "checkpointing {}")
    yield _said(run, "packing", "packing {}")
    yield _said(run, "steps", "{} steps")
    yield _said(run, "epochs", "{} epochs")
    if run.setting("learning_rate") is None:
        yield _said(run, "beam", "beam {}")


def _optimizer(run: Description) -> str:
    name, rate = run.setting("optimizer"), run.setting("learning_rate")
    if name is None and rate is None:
        return ""
    told = "optimizer not known" if name is None else _word(run, "optimizer", name)
    return f"{told} at {_shown(rate)}" if rate is not None else f"{told}, learning rate not known"


def _warmup(run: Description) -> str:
    steps, share = run.value("warmup_steps"), run.value("warmup_ratio")
    if steps:
        return f"{steps:g} warm-up steps" if isinstance(steps, int | float) else ""
    if share:
        return f"warm-up {share:g} of the run" if isinstance(share, int | float) else ""
    return "no warm-up" if steps == 0 or share == 0 else ""


def _said(run: Description, concept: str, form: str) -> str:
    setting = run.setting(concept)
    return "" if setting is None else form.format(_shown(setting))


def _word(run: Description, concept: str, setting: Setting) -> str:
    variant = run.setting(f"{concept}_variant")
    return _shown(variant if variant is not None else setting)


def _shown(setting: Setting) -> str:
    value: Any = setting.value
    text = {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    text = f"{value:g}" if isinstance(value, float) else text
    return text if setting.is_written else f"{text} (default)"


def _loop(flow: Flow, loop: Loop) -> str:
    """`loop at line 12: AdamW at 1e-05, steps every 8 turns, ...`."""
    place = loop.block.place or loop.backward.place
    parts = [part for part in _loop_parts(flow, loop) if part]
    return f"loop at line {place.line}: {', '.join(parts)}"


def _loop_parts(flow: Flow, loop: Loop) -> Iterator[str]:
    steps = list(loop.steps())
    yield _made(flow, stepped(steps[0])) if steps else "no step of an optimizer is seen"
    if steps:
        yield f"steps {_every(loop, steps[0])}"
    schedules = list(loop.schedule_steps())
    yield f"schedule steps {_every(loop, schedules[0])}" if schedules else "no schedule steps in it"
    yield (
        "clears gradients"
        if any(loop.called("zero_grad", "zero_gradients"))
        else "clears no gradients itself"
    )
    clips = list(loop.called("clip_grad_norm_", "clip_grad_value_"))
    yield "clips" if clips else ""


def _every(loop: Loop, event: Event) -> str:
    period = next((block for block in event.below(loop.block) if is_periodic(block)), None)
    if period is None:
        inside = [block for block in event.below(loop.block) if block.kind in ("if", "else", "for", "while")]
        return "under a condition" if inside else "in every turn"
    number = next((each for each in _numbers(period.value)), None)
    return f"every {number} turns" if number else "every so many turns"


def _numbers(test: Value | None) -> Iterator[int]:
    for each in walk(test):
        if each.made == "binary" and each.name == "%" and type(each.args[1].constant) is int:
            yield each.args[1].constant


def _made(flow: Flow, optimizer: Value | None) -> str:
    made = next((each for each in options(optimizer) if each.made == "call"), None)
    if made is None:
        return "an optimizer that is made elsewhere"
    rate = made.keywords.get("lr") or (made.args[1] if len(made.args) > 1 else None)
    if rate is None:
        return made.last
    number = rate.constant
    if isinstance(number, int | float) and not isinstance(number, bool):
        return f"{made.last} at {number:g}"
    default = _default(flow, rate)
    shown = "" if default is UNKNOWN else f", {default} by default"
    return f"{made.last} at `{rate.label or rate.name or '?'}`{shown}"


def _default(flow: Flow, value: Value) -> Any:
    """What a parameter, or an option of `argparse`, is where nobody gives it; UNKNOWN where that is not written."""
    if value.made == "parameter" and "default" in value.keywords:
        return value.keywords["default"].constant
    for event in flow.named("add_argument"):
        names = [str(each.constant).lstrip("-").replace("-", "_") for each in event.value.args]
        if value.made == "attribute" and value.name in names and "default" in event.value.keywords:
            return event.value.keywords["default"].constant
    return UNKNOWN


def _unseen(document: Document, flow: Flow) -> Iterator[str]:
    """What a reader of the script would look at, and trimtab does not."""
    if document.flow is None:
        yield "not followed: it imports none of the libraries that are followed"
    elif not flow.is_whole:
        yield "followed only in part: it is too long"
    own = sorted(name for name, packages in document.sources.items() if "" in packages)
    if flow.texts:
        yield f"followed into {counted(len(flow.texts), 'other file')} of the folder"
    elif own:
        yield f"not followed into other files: {_named(own)}"
    rest = sorted({call.name for call in document.calls if call.has_rest and call.name[:1].isupper()})
    if rest:
        yield f"arguments that are not written out: {_named(rest)}"
    unknown = sorted({_name(event.subject) for event in flow.named("backward") if _is_unknown(event.subject)})
    if unknown:
        yield f"losses that come from code that is not followed: {_named([name for name in unknown if name])}"


def _is_unknown(value: Value | None) -> bool:
    found = root(value)
    return found is None or (found.made in ("unknown", "parameter") and not is_schedule(found))


def _name(value: Value | None) -> str:
    return "" if value is None else value.label or value.name


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:MOST_NAMED])
    return shown if len(names) <= MOST_NAMED else f"{shown} and {len(names) - MOST_NAMED} more"
