"""K116 resume-point-not-used"""

import re
from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.place import Place
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_optimizer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom net import Net\nnet, EPOCHS, start_epoch = Net(), 90, 0\n"
    "optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\nif resume:\n"
    "    state = torch.load(resume, weights_only=True)\n    net.load_state_dict(state['net'])\n"
    "    optimizer.load_state_dict(state['optimizer'])\n    start_epoch = state['epoch'] + 1\n"
    "for epoch in range({start}EPOCHS):\n    for x, y in loader:\n        optimizer.zero_grad()\n"
    "        torch.nn.functional.cross_entropy(net(x), y).backward()\n        optimizer.step()\n"
)

RULE = Rule(
    code="K116",
    name="resume-point-not-used",
    severity="warning",
    message="`{name}` is read from the checkpoint but never used: a resumed run trains all epochs again",
    why="Weights and optimizer continue from the checkpoint, but the loop counts from the beginning. Schedules, logs "
    "and the length of the run are those of a new run.",
    evidence=(
        Maintainer(
            "https://github.com/The-School-of-AI/LLM/pull/560",
            "'Most training loops initialise `global_step = 0` and correctly restore model/optimizer weights from a "
            "checkpoint, but forget to restore global_step'.",
        ),
        Arithmetic("A run of 90 epochs that is interrupted after the 60th trains 90 more instead of 30."),
    ),
    fix=Fix("let the loop begin there: `range({name}, epochs)`"),
    bad=Example("train.py", _SCRIPT.format(start="")),
    good=Example("train.py", _SCRIPT.format(start="start_epoch, ")),
    symptoms=(
        "epochs start again after resume",
        "step restarts at 0 after resume",
        "resumed run trains too long",
    ),
)
_READ = re.compile(
    r"(?<![\w.])(\w+)[ \t]*=[ \t]*(?:int\()?\w+(?:\[(?:\"|')|\.get\((?:\"|'))"
    r"(?:start_|current_|last_|global_)?(?:epoch|step|iteration|iter)s?(?:\"|')"
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A name that is given the epoch or step of a checkpoint, and that stands nowhere but where it is given a value, in
    a script that loads the state of an optimizer and loops over a range."""
    document = run.document
    if (
        not document.path.endswith(".py")
        or not says(document, "load_state_dict")
        or not says(document, "range(")
    ):
        return
    flow = flow_of(document)
    if not any(is_optimizer(event.subject) for event in flow.named("load_state_dict")):
        return
    for found in _READ.finditer(document.text):
        name = found[1]
        uses = [each.end() for each in re.finditer(rf"(?<!\w){name}(?!\w)", document.text)]
        is_followed = "range(" in document.text[found.end() :]  # else it is read after the loop
        if (
            is_followed
            and all(_is_given_value(document.text, end) for end in uses)
            and not says(document, "global ", "locals(")
        ):
            line = document.text.count("\n", 0, found.start()) + 1
            column = found.start() - document.text.rfind("\n", 0, found.start())
            yield RULE.at(Place(document.path, line, column), name=name)
            return


def _is_given_value(text: str, end: int) -> bool:
    """Whether a name in front of `end` is assigned to, alone or among others: `start_epoch = 0`."""
    rest = text[end : text.find("\n", end)]
    before = text[text.rfind("\n", 0, end) + 1 : end]
    return re.match(r"[ \t]*(,[ \t\w,]*)?=(?!=)", rest) is not None and not re.search(
        r"[=(\[{:]", before.split(";")[-1]
    )
