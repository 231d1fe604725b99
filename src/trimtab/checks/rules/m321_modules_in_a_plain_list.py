"""M321 modules-in-a-plain-list"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.modules import is_module, is_module_class
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch import nn\nclass Stack(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.layers = {list}\n        self.head = nn.Linear(8, 2)\n    def forward(self, x):\n"
    "        for layer in self.layers:\n            x = torch.relu(layer(x))\n        return self.head(x)\n"
    "model = Stack()\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
)

RULE = Rule(
    code="M321",
    name="modules-in-a-plain-list",
    severity="error",
    message="`self.{name}` is a plain {kind} of modules: their weights are not among `parameters()`, so nothing "
    "trains, "
    "moves or saves them",
    why="A module registers what is assigned to it as a module or a parameter. What lies in a Python list or "
    "dict is not "
    "seen: the optimizer never gets these weights, `.to(device)` leaves them behind, and `state_dict()` has none "
    "of them.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html",
            "'can be indexed like a regular Python list, but modules it contains are properly registered, and will be "
            "visible by all Module methods.'",
        ),
        Maintainer(
            "https://docs.pytorch.org/docs/stable/notes/modules.html",
            "'Submodules must be assigned as attributes', or be held by ModuleList or ModuleDict, to be registered.",
            opened=True,
        ),
    ),
    fix=Fix("use `nn.Module{holder}(...)`"),
    bad=Example("train.py", _SCRIPT.replace("{list}", "[nn.Linear(8, 8) for _ in range(4)]")),
    good=Example("train.py", _SCRIPT.replace("{list}", "nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])")),
    symptoms=(
        "Expected all tensors to be on the same device",
        "optimizer got an empty parameter list",
        "some layers are not trained",
        "state_dict lacks layers",
        "number of parameters is too small",
        "layers in a Python list stay on the CPU",
        "parameters() is missing layers",
    ),
)
_HOLDERS = frozenset({"ModuleList", "ModuleDict", "Sequential", "add_module", "register_module", "setattr"})


def check(run: Description) -> Iterator[Diagnosis]:
    """A list, dict or comprehension of modules that a class of modules holds, and that nothing registers."""
    if not says(run.document, "Module") or says(run.document, "import mlx"):
        return  # modules of MLX look into their lists themselves
    flow = flow_of(run.document)
    for event in flow.each("set"):
        if not _is_of_module(event.subject) or event.name == "[]":
            continue
        held = event.value
        parts = _parts(flow, held)
        if (
            (len(parts) < 2 and held.made != "element")
            or not parts
            or not all(_is_new(each) for each in parts)
        ):
            continue
        if not _is_registered(flow, held, parts, event):
            kind, holder = ("dict", "Dict") if held.made == "dict" else ("list", "List")
            yield RULE.at(event.place, name=event.name, kind=kind, holder=holder)
            return


def _is_of_module(value: Value | None) -> bool:
    return value is not None and value.made == "object" and value.of is not None and is_module_class(value.of)


def _parts(flow: Flow, held: Value) -> list[Value]:
    """The modules in it, also those that `append` adds."""
    if held.made == "dict":
        return [*held.keywords.values(), *held.args]
    if held.made == "element" and held.name == "comprehension":
        return list(held.args)
    if held.made != "list":
        return []
    added = [
        each
        for event in flow.named("append")
        if event.subject is held and event.value.args
        for each in event.value.args
    ]
    return [*held.args, *added, *added]


def _is_new(value: Value) -> bool:
    """Whether the module is made here; one that is handed over may be kept out of sight on purpose."""
    if value.made not in ("call", "object") or value.last.endswith(("Parameter", "Config")):
        return False
    if value.made == "object":
        return value.of is not None and is_module_class(value.of)
    return is_module(value) and value.name.startswith("torch.nn.") and "functional" not in value.name


def _is_registered(flow: Flow, held: Value, parts: list[Value], at: Event) -> bool:
    """Whether the list goes into one that registers, or each module is an attribute as well; modules without weights
    need neither."""
    if all(value.last in _WEIGHTLESS for value in parts):
        return True
    for event in flow.events:
        if event.kind == "set" and event is not at and any(event.value is each for each in parts):
            return True
        if event.kind == "call" and event.name in _HOLDERS:
            for given in (*event.value.args, *event.value.keywords.values()):
                if any(each is held or any(each is part for part in parts) for each in walk(given, most=60)):
                    return True
        if event.kind == "call" and event.name == "eval" and any(event.subject is each for each in parts):
            return True
    return False


_WEIGHTLESS = frozenset(
    {
        "ReLU", "GELU", "Dropout", "Softmax", "Sigmoid", "Tanh", "MaxPool1d", "MaxPool2d", "AvgPool2d", "AvgPool1d",
        "Identity", "Flatten", "LeakyReLU", "SiLU", "CrossEntropyLoss", "MSELoss", "L1Loss", "BCELoss", "Upsample",
        "BCEWithLogitsLoss", "ReflectionPad2d", "ZeroPad2d", "AdaptiveAvgPool2d", "Unfold", "Fold", "Dropout2d", "ELU",
    }
)  # fmt: skip
