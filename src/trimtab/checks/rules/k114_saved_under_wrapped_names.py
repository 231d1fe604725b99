"""K114 saved-under-wrapped-names"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options, root
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torchvision.models import resnet18\nmodel = torch.nn.DataParallel(resnet18()).cuda()\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor x, y in loader:\n    optimizer.zero_grad()\n"
    "    torch.nn.functional.cross_entropy(model(x), y).backward()\n    optimizer.step()\n"
    "torch.save(model{module}.state_dict(), 'last.pt')\nplain = resnet18()\n"
    "plain.load_state_dict(torch.load('last.pt', weights_only=True))\n"
)

RULE = Rule(
    code="K114",
    name="saved-under-wrapped-names",
    severity="error",
    message="{fault}",
    why="DistributedDataParallel and DataParallel keep the model in their `module`, and `torch.compile` in its "
    "`_orig_mod`; the names in their `state_dict()` start with it. A model without the wrapper has other names: "
    "loading fails, and with `strict=False` it loads nothing and goes on with random weights.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/nn/modules/utils.py",
            "`consume_prefix_in_state_dict_if_present`: 'Given a `state_dict` from a DP/DDP model, a local model can "
            "load it by applying' it with 'module.'.",
        ),
        Arithmetic(
            "`DataParallel(nn.Linear(1, 1)).state_dict()` has `module.weight` and `module.bias`; of `torch.compile` it "
            "has `_orig_mod.weight` and `_orig_mod.bias`."
        ),
    ),
    fix=Fix("{fix}", safety="same training"),
    bad=Example("train.py", _SCRIPT.replace("{module}", "")),
    good=Example("train.py", _SCRIPT.replace("{module}", ".module")),
    symptoms=(
        'Missing key(s) in state_dict, Unexpected key(s) in state_dict: "module.',
        'Unexpected key(s) in state_dict: "_orig_mod.',
        "names of weights start with module after training on several GPUs",
        "model is random after loading with strict=False",
        "checkpoint of a compiled model cannot be loaded",
        "Error(s) in loading state_dict for",
    ),
)
_PREFIXES: Final = {
    "DistributedDataParallel": "module.",
    "DDP": "module.",
    "DataParallel": "module.",
    "compile": "_orig_mod.",
}
_HANDLED: Final = (
    "consume_prefix",
    '"module.',
    "'module.",
    '"_orig_mod',
    "'_orig_mod",
    "unwrap_model",
    "hasattr(",
    "isinstance(",
    "get_model_state_dict",
    "unwrap(",
    "removeprefix",
    '"module"',
    "'module'",
)
"""Words of scripts that take the wrapper or its names into account."""


class _Saved(NamedTuple):
    event: Event
    model: Value
    prefix: str
    key: object
    """Under which the weights are in a mapping; None where they are saved by themselves."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Weights that go from a wrapped model into one without the wrapper, or back: directly, or through a file that the
    script saves and loads; and as a note a wrapped model's weights that are saved and never loaded here."""
    if not says(run.document, "Parallel", "DDP", "torch.compile(") or not says(run.document, ".state_dict()"):
        return
    if says(run.document, *_HANDLED):
        return
    flow = flow_of(run.document)
    saved = list(_saved(flow))
    loads = [event for event in flow.named("load_state_dict") if event.value.argument(0, "state_dict")]
    for load in loads:
        model = _one(load.subject)
        source = _source(flow, load, saved)
        if model is None or source is None or not _is_known(model) or not _is_known(source.model):
            continue
        prefix = _prefix(model)
        if prefix != source.prefix and _inner(model) == _inner(source.model):
            fault, fix = _words(load, model, prefix, source)
            yield RULE.at(load.place, fault=fault, fix=fix)
            return
    if not loads:
        for each in saved:
            if each.prefix and _is_known(each.model):
                fault = f"the names of the saved weights start with `{each.prefix}`: no unwrapped model can load them"
                yield RULE.at(
                    each.event.place, severity="note", fault=fault, fix=_way(each.model, each.prefix)
                )
                return


def _words(load: Event, model: Value, prefix: str, source: _Saved) -> tuple[str, str]:
    strict = load.value.argument(1, "strict")
    is_silent = strict is not None and strict.constant is False
    end = "no weights are loaded, without an error" if is_silent else "loading fails"
    label = model.label or "the model"
    if source.prefix:
        fault = f"the names of the saved weights start with `{source.prefix}`, and those of `{label}` do not: {end}"
        return fault, _way(source.model, source.prefix)
    fault = f"the names of `{label}` start with `{prefix}`, and those of the saved weights do not: {end}"
    return fault, f"load them into `{label}.{prefix.rstrip('.')}`, or before the model is wrapped"


def _way(model: Value, prefix: str) -> str:
    inner = ".".join(part for part in prefix.split(".") if part)
    return f"save `{model.label or 'model'}.{inner}.state_dict()`"


def _saved(flow: Flow) -> Iterator[_Saved]:
    """Weights of each model that a file gets, by themselves or in a mapping."""
    for event in flow.named("save", "save_file"):
        if not event.value.name.startswith(("torch.", "safetensors.")) or not event.value.args:
            continue
        what = event.value.args[0]
        parts = what.keywords.items() if what.made == "dict" else ((None, what),)
        for key, each in parts:
            found = _weights(each)
            model = _one(found.of) if found is not None else None
            if model is not None:
                yield _Saved(event, model, _prefix(model), key)


def _weights(value: Value | None) -> Value | None:
    """The call of `state_dict()` that a value is."""
    is_one = value is not None and value.made == "call" and value.name == "state_dict" and not value.args
    return value if is_one else None


def _source(flow: Flow, load: Event, saved: list[_Saved]) -> _Saved | None:
    """Where the weights that are loaded come from; None where nobody can see it."""
    given = load.value.args[0] if load.value.args else load.value.keywords["state_dict"]
    direct = _weights(given)
    if direct is not None:
        model = _one(direct.of)
        return None if model is None else _Saved(load, model, _prefix(model), None)
    key: object = None
    if given.made == "item" and given.args:
        key, given = given.args[0].constant, given.of or given
    if given.made != "call" or given.last not in ("load", "load_file") or not given.args:
        return None
    path = given.args[0]
    found = [
        each
        for each in saved
        if each.key == key and len(each.event.value.args) > 1 and _is_same(each.event.value.args[1], path)
    ]
    return found[0] if found and len({each.prefix for each in found}) == 1 else None


def _is_same(one: Value, other: Value) -> bool:
    """Whether two paths are the same: one value, one text, or made of the same parts."""
    if one is other:
        return True
    if one.constant is not UNKNOWN or other.constant is not UNKNOWN:
        return one.constant is not UNKNOWN and one.constant == other.constant
    if (one.made, one.name) != (other.made, other.name) or one.made not in (
        "call",
        "binary",
        "attribute",
        "unknown",
    ):
        return False
    parts = one.parts(), other.parts()
    if not parts[0] or len(parts[0]) != len(parts[1]):
        return False
    return all(_is_same(each, match) for each, match in zip(*parts, strict=True))


def _one(value: Value | None) -> Value | None:
    """The one model that a value is; of `wrapped.module` the model inside."""
    found = options(value)
    if len(found) != 1:
        return None
    model = found[0]
    is_inside = model.made == "attribute" and model.of is not None and len(options(model.of)) == 1
    if is_inside and model.of is not None and _prefix(model.of) and model.name in ("module", "_orig_mod"):
        return model.of.args[0]
    return model


def _prefix(model: Value) -> str:
    """What the names of a model's weights start with because of its wrappers."""
    found = ""
    for _ in range(4):
        is_wrapper = model.made == "call" and model.name.startswith("torch.") and model.last in _PREFIXES
        if not is_wrapper or not model.args:
            return found
        found += _PREFIXES[model.last]
        model = model.args[0]
    return found


def _is_known(model: Value) -> bool:
    """Whether it is seen how a model was made, wrappers and all."""
    while _prefix(model):
        model = model.args[0]
    return model.made in ("call", "object")


def _inner(model: Value) -> str:
    """What the model in its wrappers is made by."""
    found = root(model)
    return "" if found is None else next((each.name for each in walk(found, most=1)), "")
