"""K118 best-score-never-updated"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="K118",
    name="best-score-never-updated",
    severity="error",
    message="`{name}` keeps its first value: every score that beats it overwrites the best checkpoint",
    why="Each score is compared with the value from before the loop. Nearly every evaluation beats that, "
    "so the file ends with the last weights, not the best.",
    evidence=(Arithmetic("Scores of 0.6, 0.9 and 0.7 are all above 0.0: the file ends with those of 0.7."),),
    fix=Fix("set `{name}` to the new score in the same branch"),
    bad=Example(
        "train.py",
        "import torch\nfrom net import Net\nnet = Net()\n"
        "optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\nbest = 0.0\nfor epoch in range(9):\n"
        "    for x, y in loader:\n        optimizer.zero_grad()\n"
        "        torch.nn.functional.cross_entropy(net(x), y).backward()\n        optimizer.step()\n"
        "    score = accuracy(net)\n    if score > best:\n        torch.save(net.state_dict(), 'best.pt')\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom net import Net\nnet = Net()\n"
        "optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\nbest = 0.0\nfor epoch in range(9):\n"
        "    for x, y in loader:\n        optimizer.zero_grad()\n"
        "        torch.nn.functional.cross_entropy(net(x), y).backward()\n        optimizer.step()\n"
        "    score = accuracy(net)\n    if score > best:\n        best = score\n"
        "        torch.save(net.state_dict(), 'best.pt')\n",
    ),
    symptoms=("best checkpoint is the last one", "saved model is worse than the best score in the log"),
)
_SAVES = ("save", "save_pretrained", "save_state", "save_model", "save_checkpoint")


def check(run: Description) -> Iterator[Diagnosis]:
    """Something is saved in a loop, in a branch that compares a score with a number that is called the best and that
    the loop never sets."""
    flow = flow_of(run.document)
    for event in flow.named(*_SAVES):
        for at, block in enumerate(event.path):
            test = block.value
            if block.kind != "if" or test is None or test.made != "compare" or len(test.args) != 2:
                continue
            best = next((each for each in test.args if "best" in each.label and _is_number(each)), None)
            is_in_loop = any(outer.kind in ("for", "while") for outer in event.path[:at])
            if best is None or not is_in_loop or test.name not in ("Gt", "Lt", "GtE", "LtE"):
                continue
            if sum(each.name == best.label for each in flow.each("name")) == 1:
                yield RULE.at(event.place, name=best.label)
                return


def _is_number(value: Value) -> bool:
    return type(value.constant) in (int, float) or (value.made == "call" and value.name == "float")
