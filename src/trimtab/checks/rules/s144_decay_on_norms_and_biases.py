"""S144 decay-on-norms-and-biases"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Folklore
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_optimizer, options, root
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
    for event in flow.events:
        if event.kind != "call" or not is_optimizer(event.value):
            continue
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
