"""L122 training-step-without-loss"""

import ast
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.lightning import method, modules, steps_itself
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nimport lightning as L\nclass Model(L.LightningModule):\n    def __init__(self):\n"
    "        super().__init__()\n        self.net = torch.nn.Linear(8, 2)\n    def training_step(self, batch, "
    "batch_idx):\n"
    "        x, y = batch\n        loss = torch.nn.functional.cross_entropy(self.net(x), y)\n"
    "        self.log('loss', loss)\n{back}    def configure_optimizers(self):\n"
    "        return torch.optim.AdamW(self.parameters(), lr=3e-4)\n"
)

RULE = Rule(
    code="L122",
    name="training-step-without-loss",
    severity="error",
    message="`training_step` of `{model}` {fault}: Lightning takes no optimizer step",
    why="Lightning goes backward from what `training_step` returns. None means that the batch is to be skipped, "
    "and it says "
    "so once in a warning; a number or a detached tensor has no graph.",
    evidence=(
        Maintainer(
            "https://lightning.ai/docs/pytorch/stable/common/lightning_module.html#training-step",
            "Returns the loss tensor, a dictionary with the key 'loss', or None, and 'In automatic optimization, this "
            "will skip to the next batch'.",
        ),
        Maintainer(
            "https://github.com/Lightning-AI/pytorch-lightning/blob/master/src/lightning/pytorch/loops/optimization/automatic.py",
            "'`training_step` returned `None`. If this was on purpose, ignore this warning...'",
        ),
    ),
    fix=Fix("return the loss tensor"),
    bad=Example("train.py", _SCRIPT.replace("{back}", "")),
    good=Example("train.py", _SCRIPT.replace("{back}", "        return loss\n")),
    symptoms=("`training_step` returned `None`", "model learns nothing in Lightning", "global_step stays 0"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A module of Lightning's own optimization whose step gives nothing back, or a number."""
    flow = flow_of(run.document)
    for module in modules(run.document):
        step = method(module, "training_step")
        if step is None or steps_itself(flow, module) or module.place is None:
            continue
        inside = list(_inside(step))
        if any(isinstance(each, ast.Yield | ast.YieldFrom | ast.Raise) for each in inside):
            continue
        returns = [each for each in inside if isinstance(each, ast.Return)]
        given = [each.value for each in returns if each.value is not None and not _is_none(each.value)]
        called = {
            each.func.attr
            for each in (*inside, *ast.walk(module.node))  # what steps may stand in another method
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)
        }
        if called & {"manual_backward", "backward", "optimizers", "training_step"} or len(step.body) < 2:
            continue
        if not given:
            yield RULE.at(module.place, model=module.name, fault="returns nothing")
        elif all(_is_cut(each) for each in given):
            yield RULE.at(module.place, model=module.name, fault="returns a loss without its graph")


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """Everything in a function but functions of its own."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _inside(child)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_cut(node: ast.expr) -> bool:
    if isinstance(node, ast.Dict):
        losses = [
            value
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and key.value == "loss"
        ]
        return len(losses) == 1 and _is_cut(losses[0])
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("item", "detach")
    )
