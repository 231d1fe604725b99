"""S144 decay-on-norms-and-biases"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Folklore
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
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
    message="weight decay {decay:g} pulls norms and biases towards zero as well",
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
    fix=Fix(
        "give two groups, one of parameters with two or more dimensions, one of the others with `weight_decay=0`"
    ),
    bad=Example("train.py", _SCRIPT.format(params="model.parameters()")),
    good=Example("train.py", _SCRIPT.format(params=_GROUPS)),
    symptoms=("loss rises slowly", "norms shrink"),
)
STRONG = 0.1
"""From here on decay is strong enough to be seen within a usual run."""


def check(run: Description) -> Iterator[Diagnosis]:
    """AdamW with a strong decay over all parameters of a model that the script trains in a loop of its own and does
    not load from transformers, whose norms are known to bear it in short fine-tuning."""
    flow = flow_of(run.document)
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
            yield RULE.at(event.place, decay=decay.constant)
