"""S144 decay-on-norms-and-biases"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Folklore
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import loaded_class, optimizers_made, options, root
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_GROUPS = (
    '[{"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": 0.1},\n'
    '     {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0}]'
)
_SCRIPT = (
    "import torch\nfrom model import GPT\nmodel = GPT(layers=12).cuda()\noptimizer = torch.optim.AdamW(\n"
    "    {params}, lr=6e-4, weight_decay=0.1)\nfor x, y in loader:\n    model(x, y).backward()\n"
    "    optimizer.step()\n    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="S144",
    name="decay-on-norms-and-biases",
    severity="note",
    message="{fault}",
    why="Decay is meant for matrices, whose size the next norm makes up for. The gain of a norm that is pulled "
    "towards zero scales its layer down, and a bias is no measure of complexity.",
    evidence=(
        Folklore(
            "nanoGPT, Megatron and the example scripts of transformers decay only what has two or more dimensions."
        ),
        Arithmetic(
            "Without a gradient a gain of 1 is exp(-0.1 x 6e-4 x 10,000) = 0.55 after 10,000 steps at this rate and "
            "decay of 0.1."
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.format(params="model.parameters()")),
    good=Example("train.py", _SCRIPT.format(params=_GROUPS)),
    symptoms=("loss rises slowly", "norms shrink"),
)
_PARTS = frozenset({"bias", "gamma", "beta", "LayerNorm.weight", "LayerNorm.bias", "layer_norm", "norm"})
_GROUPED = (
    "give two groups, one of parameters with two or more dimensions, one of the others with `weight_decay=0`"
)
_BY_PART = "ask for parts of the name: `any(part in n for part in no_decay)`"
STRONG = 0.1
"""From here on decay is strong enough to be seen within a usual run."""


def check(run: Description) -> Iterator[Diagnosis]:
    """AdamW with a strong decay over all parameters of a model that the script trains in a loop of its own and does
    not load from transformers, whose norms are known to bear it in short fine-tuning."""
    flow = flow_of(run.document)
    yield from _never_spared(flow)
    yield from _spared_by_default(flow)
    yield from _wrong_groups(flow)
    if not training_loops(flow):
        return
    for event in flow.named("AdamW"):
        decay, given = event.value.keywords.get("weight_decay"), event.value.argument(0, "params")
        if event.value.name != "torch.optim.AdamW" or decay is None or given is None:
            continue
        is_whole = given.made == "call" and given.name == "parameters" and given.of is not None
        is_strong = isinstance(decay.constant, float) and STRONG <= decay.constant < 1
        model = root(given.of)
        is_loaded = model is not None and model.last == "from_pretrained"
        if is_whole and is_strong and not is_loaded:
            fault = f"weight decay {decay.constant:g} pulls norms and biases towards zero as well"
            yield RULE.at(event.place, fault=fault, fix=_GROUPED)


def _never_spared(flow: Flow) -> Iterator[Diagnosis]:
    """Groups by `n in no_decay`, where `n` is the full name of a weight and the list has parts of names:
    no weight is in
    it."""
    for event in optimizers_made(flow):
        for group in walk(event.value.argument(0, "params"), most=80):
            test = group.fields.get("<tests>") if group.made == "element" else None
            if (
                test is None
                or test.made != "compare"
                or test.name not in ("In", "NotIn")
                or len(test.args) != 2
            ):
                continue
            names = test.args[1].args if test.args[1].made == "list" else ()
            parts = [name.constant for name in names if isinstance(name.constant, str)]
            if (
                parts
                and len(parts) == len(names)
                and set(parts) & _PARTS
                and test.args[0].made in ("item", "element")
            ):
                fault = "no name of a weight is in the list of parts of names: norms and biases decay like all others"
                yield RULE.at(event.place, severity="warning", fault=fault, fix=_BY_PART)
                return


def _wrong_groups(flow: Flow) -> Iterator[Diagnosis]:
    """Two groups by `any(part in name for part in no_decay)`: the decay on the wrong one, or on both, and parts of
    names that no norm of the model has."""
    for event in optimizers_made(flow):
        given = event.value.argument(0, "params")
        groups = given.args if given is not None and given.made == "list" and len(given.args) == 2 else ()
        parts = [_parts_of(group) for group in groups]
        if (
            not parts
            or any(each is None for each in parts)
            or {each.is_rest for each in parts if each} != {True, False}
        ):
            continue
        rest, spared = sorted(
            zip(groups, parts, strict=True), key=lambda pair: not (pair[1] and pair[1].is_rest)
        )
        decays = [_decay_of(group, event.value) for group, _ in (rest, spared)]
        if decays[0] == 0 and decays[1] is not None and decays[1] > 0:
            fault = "the groups are the wrong way round: norms and biases decay, and the matrices do not"
            yield RULE.at(
                event.place, severity="warning", fault=fault, fix="swap the `weight_decay` of the two groups"
            )
        elif decays[1] is not None and decays[1] > 0 and "weight_decay" not in spared[0].keywords:
            fault = f"the group without `weight_decay` gets the optimizer's, {decays[1]:g}: norms and biases decay"
            yield RULE.at(
                event.place, severity="warning", fault=fault, fix="give that group `weight_decay=0.0`"
            )
        elif spared[1] is not None and (norm := _unmatched(spared[1])) is not None:
            fault = f"no part of the list is in the names of the model's norms, such as `{norm}`: they decay"
            yield RULE.at(event.place, fault=fault, fix="add the part that their names have")
        else:
            continue
        return


class _Parts(NamedTuple):
    """How a group chooses parameters by their names."""

    is_rest: bool
    """Whether it takes those without a part of the list."""
    parts: tuple[str, ...]
    model: Value | None


_NORMS: Final = {
    "Bert": "encoder.layer.0.attention.output.LayerNorm.weight",
    "Roberta": "encoder.layer.0.attention.output.LayerNorm.weight",
    "XLMRoberta": "encoder.layer.0.attention.output.LayerNorm.weight",
    "Electra": "encoder.layer.0.attention.output.LayerNorm.weight",
    "GPT2": "transformer.h.0.ln_1.weight",
    "Llama": "model.layers.0.input_layernorm.weight",
    "Mistral": "model.layers.0.input_layernorm.weight",
    "Qwen2": "model.layers.0.input_layernorm.weight",
    "T5": "encoder.block.0.layer.0.layer_norm.weight",
    "OPT": "model.decoder.layers.0.self_attn_layer_norm.weight",
}
"""Of classes of transformers by how their names begin, one norm as `named_parameters` gives it."""
_CLASS: Final = re.compile(r"([A-Z]\w*?)(Model|For[A-Z]|LMHead|DoubleHeads)")


def _parts_of(group: Value) -> _Parts | None:
    """The choice that a group's comprehension makes; None where it makes another."""
    chosen = group.keywords.get("params") if group.made == "dict" else None
    test = chosen.fields.get("<tests>") if chosen is not None and chosen.made == "element" else None
    is_rest = test is not None and test.made == "binary" and test.name == "not"
    call = test.args[0] if test is not None and is_rest else test
    if chosen is None or call is None or call.made != "call" or call.last != "any" or not call.args:
        return None
    listed = call.args[0].of
    names = listed.args if listed is not None and listed.made == "list" else ()
    parts = tuple(name.constant for name in names if isinstance(name.constant, str))
    if not parts or len(parts) != len(names) or "bias" not in parts:
        return None
    models = [root(each.of) for each in walk(chosen.of, most=12) if each.last == "named_parameters"]
    return _Parts(is_rest, parts, models[0] if models else None)


def _decay_of(group: Value, optimizer: Value) -> float | None:
    given = group.keywords.get("weight_decay") or optimizer.keywords.get("weight_decay")
    if (
        given is None
        and optimizer.name == "torch.optim.AdamW"
        and not optimizer.has_rest
        and len(optimizer.args) < 5
    ):
        return 0.01
    return given.constant if given is not None and isinstance(given.constant, int | float) else None


def _unmatched(chosen: _Parts) -> str | None:
    """The name of a norm of a loaded model that has no part of the list; the classes of `auto` tell by their path."""
    model = root(chosen.model)
    is_theirs = model is not None and model.name.startswith("transformers.")
    found = _CLASS.match(loaded_class(model)) if is_theirs else None
    norm = _NORMS.get(found[1]) if found is not None else None
    return norm if norm is not None and not any(part in norm for part in chosen.parts) else None


def _spared_by_default(flow: Flow) -> Iterator[Diagnosis]:
    """AdamW without `weight_decay`, which is 0.01, whose other groups are given theirs: those without "
    "are not spared."""
    for event in flow.named("AdamW"):
        given = event.value
        if (
            given.name != "torch.optim.AdamW"
            or "weight_decay" in given.keywords
            or len(given.args) > 4
            or given.has_rest
        ):
            continue
        first = given.argument(0, "params")
        if first is None or first.made == "dict" or any(each.made == "dict" for each in first.args):
            continue
        added = [
            each.value.args[0]
            for each in flow.named("add_param_group")
            if each.value.args and _adds_to(each, given)
        ]
        if any("weight_decay" in group.keywords for group in added if group.made == "dict"):
            fault = (
                "AdamW decays by 0.01 unless told otherwise, also the groups that are given no `weight_decay`"
            )
            yield RULE.at(event.place, fault=fault, fix="give AdamW `weight_decay=0.0`")
            return


def _adds_to(event: Event, optimizer: Value) -> bool:
    return any(each is optimizer for each in options(event.subject))
