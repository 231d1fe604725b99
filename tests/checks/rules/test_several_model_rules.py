"""Loops with two models, or one that is wrapped in a branch: whose mode and whose methods count."""

from textwrap import dedent

from tests.checks.rules.findings import findings
from trimtab.checks.rules import e108_evaluation_mode_left_on

IMPORTS = "import torch\nfrom torch import nn\n"
BOTH = """
def train(args, model, {second}, loader, optimizer):
    if args.n_gpu > 1:
        model = nn.DataParallel(model)
    for batch in loader:
        model.train()
        {off}
        loss = model(batch).loss + {second}(batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def fires(rule, text):
    return len(findings(rule, "train.py", IMPORTS + dedent(text))) > 0


def test_a_second_model_that_only_helps_may_stay_in_evaluation_mode():
    text = BOTH.format(second="first_stage", off="first_stage.eval()")
    assert not fires(e108_evaluation_mode_left_on, text)


def test_methods_of_a_model_that_is_wrapped_in_one_branch_are_seen():
    assert not fires(e108_evaluation_mode_left_on, BOTH.format(second="other", off="validate(model)"))
    text = BOTH.format(second="other", off="model.eval()").replace("        model.train()\n", "")
    assert fires(e108_evaluation_mode_left_on, text)
