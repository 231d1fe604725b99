"""What a tensor went through last: an activation, a linear layer, or something unknown."""

from typing import Final

from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.slices import plain
from trimtab.checks.read.flow.values import Value

_DEEPEST: Final = 6
_MODULES: Final = {
    "Softmax": "softmax",
    "LogSoftmax": "log_softmax",
    "Sigmoid": "sigmoid",
    "LogSigmoid": "logsigmoid",
    "Linear": "linear",
    "LazyLinear": "linear",
    "ReLU": "relu",
    "Tanh": "tanh",
}
_CLASSIFIERS: Final = tuple(
    f"torchvision.models.{name}"
    for name in (
        "resnet",
        "vgg",
        "densenet",
        "mobilenet",
        "efficientnet",
        "vit_",
        "swin_",
        "alexnet",
        "convnext",
    )
)
"""Functions whose networks end in a linear layer, unless the script replaces it."""
_HEADS: Final = ("fc", "classifier", "head", "heads")
"""What scripts replace in them."""
_FUNCTIONS: Final = frozenset({"softmax", "log_softmax", "sigmoid", "logsigmoid", "linear"})


def last_of(value: Value | None) -> str:
    """`softmax`, `log_softmax`, `sigmoid`, `linear`: the function or module that made a tensor, also inside a
    Sequential and inside the `forward` of a class of the script; empty where it is something else or unknown."""
    made = end_of(value)
    return "" if made is None else _MODULES.get(made.last, made.last if made.last in _FUNCTIONS else "linear")


def end_of(value: Value | None, *, depth: int = 0) -> Value | None:
    """The call of the function, or of the constructor of the module, that made a tensor; None where it is unknown or
    none of those that `last_of` names."""
    value = plain(value)
    if value is None or value.made != "call" or depth > _DEEPEST:
        return None
    if value.last in _FUNCTIONS and not (value.of is not None and value.of.made == "object"):
        return value
    if "<returned>" in value.fields:
        return end_of(value.fields["<returned>"], depth=depth + 1)
    if value.name != "__call__" or value.of is None:
        return None
    module = root(value.of)
    return None if module is None else _of_module(module)


def _of_module(module: Value) -> Value | None:
    if module.made == "call" and module.name.startswith(_CLASSIFIERS):
        heads = [module.fields[name] for name in _HEADS if name in module.fields]
        replaced = [each for each in heads if each.made != "attribute"]
        if replaced:
            return _of_module(replaced[-1])
        return None if any(each.fields for each in heads) else module  # `classifier[6] = ...`
    if module.made != "call" or not module.name.startswith("torch.nn."):
        return None
    if module.last == "Sequential" and module.args and not module.has_rest:
        return _of_module(module.args[-1])
    return module if module.last in _MODULES else None
