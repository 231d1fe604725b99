"""S158 clip-of-some-parameters"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.loops import Loop, stepped, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_optimizer, options, root
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nencoder, decoder = torch.nn.Linear(8, 8), torch.nn.Linear(8, 2)\n"
    "optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)\nfor x, y in loader:\n"
    "    loss = torch.nn.functional.cross_entropy(decoder(encoder(x)), y)\n    optimizer.zero_grad()\n"
    "    loss.backward()\n    torch.nn.utils.clip_grad_norm_({clipped}, 1.0)\n    optimizer.step()\n"
)

RULE = Rule(
    code="S158",
    name="clip-of-some-parameters",
    severity="warning",
    message="the gradients of {clipped} are clipped, and those of {missed}, which the same optimizer steps, are not",
    why="The norm that is compared with the threshold leaves out a part of the gradient, and a spike in that part goes "
    "into the weights as it is. Where both parts spike, the step even turns: one is scaled down, the other not.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html",
            "'The norm is computed over the norms of the individual gradients of all parameters, as if the norms of "
            "the individual gradients were concatenated into a single vector.'",
        ),
        Arithmetic("Norms of 1 and 100, threshold 1, the first clipped: the step has a norm of 100."),
    ),
    fix=Fix("clip all parameters of the optimizer in one call: chain `{missed}.parameters()` to the others"),
    bad=Example("train.py", _SCRIPT.format(clipped="encoder.parameters()")),
    good=Example("train.py", _SCRIPT.format(clipped="[*encoder.parameters(), *decoder.parameters()]")),
    symptoms=(
        "diverged",
        "loss spikes",
        "clipping does not help",
        "only a part of the gradients is clipped",
        "clip_grad_norm_ has no effect",
    ),
)
_CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm")


def check(run: Description) -> Iterator[Diagnosis]:
    """An optimizer that is given the parameters of several modules whole, and a loop that clips some of them."""
    for loop in training_loops(flow_of(run.document)):
        clips = list(loop.called(*_CLIPS))
        clipped = [_modules(event.value.argument(0, "parameters")) for event in clips]
        if not clips or not all(clipped):
            continue
        seen = {id(each): each for found in clipped for each in found or ()}
        for optimizer in _optimizers(loop):
            given = _modules(optimizer.argument(0, "params")) or []
            if len(given) < 2 or not all(id(each) in map(id, given) for each in seen.values()):
                continue
            missed = [each for each in given if id(each) not in seen]
            if missed and all(_name(each) for each in (*missed, *seen.values())):
                names = " and ".join(_name(each) for each in seen.values())
                yield RULE.at(clips[0].place, clipped=names, missed=_name(missed[0]))
                return


def _optimizers(loop: Loop) -> list[Value]:
    found = [each for event in loop.steps() for each in options(stepped(event))]
    return [each for each in found if each.made == "call" and is_optimizer(each)]


def _modules(value: Value | None) -> list[Value] | None:
    """The modules all of whose parameters a value holds, each once; None where it holds anything else."""
    found: dict[int, Value] = {}
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if each is None:
            return None
        if (
            each.made in ("list", "either")
            or (each.made == "binary" and each.name == "+")
            or (
                each.made == "call"
                and each.last in ("list", "chain", "tuple", "trainable_params")
                and each.args
            )
        ):
            waiting.extend(each.args)
        elif each.made == "dict" and "params" in each.keywords:
            waiting.append(each.keywords["params"])
        elif each.made == "call" and each.last == "parameters" and each.of is not None:
            module = root(each.of)
            if module is None or (module.made == "call" and module.of is not None):
                return None
            found[id(module)] = module
        else:
            return None
    return list(found.values())


def _name(value: Value) -> str:
    return value.label or value.name
