"""S156 own-loss-not-divided"""

import ast
from collections.abc import Iterator
from typing import Any, Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom transformers import Trainer\nclass WeightedTrainer(Trainer):\n"
    "    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):\n"
    '        labels = inputs.pop("labels")\n        outputs = model(**inputs)\n'
    "        loss = torch.nn.functional.cross_entropy(outputs.logits.flatten(0, 1), "
    "labels.flatten(){summed}){division}\n"
    "        return (loss, outputs) if return_outputs else loss\n"
)

RULE = Rule(
    code="S156",
    name="own-loss-not-divided",
    severity="note",
    message="this Trainer has its own `{method}`, which {fault}: under accumulation its losses are added up undivided",
    why="Since transformers 4.46 the Trainer divides by the accumulation only where the model takes no "
    "`**kwargs`; almost "
    "every model takes them, and then the loss is expected to have been divided by `num_items_in_batch`. A loss of "
    "one's own that is a mean makes the gradient, and the loss that is logged, as many times too large as there are "
    "micro-batches.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer.py",
            "`training_step`: `loss_is_scaled_for_ga = (self.model_accepts_loss_kwargs and num_items_in_batch is "
            "not None) "
            "or self.compute_loss_func is not None`, and divides only where it is not.",
        ),
        Maintainer(
            "https://github.com/huggingface/trl/pull/2615",
            "DPOTrainer had it, and BCO, CPO, GRPO and KTO (2638, 2645, 2647, 2648): mended by "
            "`self.model_accepts_loss_kwargs = False`.",
        ),
    ),
    fix=Fix(
        "sum the loss and divide by `num_items_in_batch`, or set `self.model_accepts_loss_kwargs = False` behind "
        "`super().__init__`"
    ),
    bad=Example("train.py", _SCRIPT.format(summed="", division="")),
    good=Example("train.py", _SCRIPT.format(summed=', reduction="sum"', division=" / num_items_in_batch")),
    symptoms=("loss grows with gradient accumulation", "loss is too high", "grad norm is high"),
)
SINCE: Final = (4, 46)


def check(run: Description) -> Iterator[Diagnosis]:
    """A class over a Trainer of transformers with a `compute_loss` that neither uses the number nor asks the Trainer's
    own, or with a `training_step` that goes backward without a division; a warning where the script accumulates."""
    version = run.version("transformers")
    if version is not None and version < SINCE:
        return
    if not says(run.document, "def compute_loss", "def training_step") or says(
        run.document, "model_accepts_loss_kwargs", "loss_is_scaled_for_ga"
    ):
        return
    for value in flow_of(run.document).classes.values():
        bases = [base.name for base in value.args]
        if not any(name in ("transformers.Trainer", "transformers.Seq2SeqTrainer") for name in bases):
            continue
        methods = {part.name: part for part in value.node.body if isinstance(part, ast.FunctionDef)}
        found = None
        if "compute_loss" in methods and not _uses(methods["compute_loss"]):
            found = "compute_loss", "leaves `num_items_in_batch` unused"
        elif "training_step" in methods and _adds_up(methods["training_step"]):
            found = "training_step", "goes backward without dividing by the accumulation"
        if found is not None and value.place is not None:
            accumulation = run.setting("accumulation")
            is_accumulated = (
                accumulation is not None and isinstance(accumulation.value, int) and accumulation.value > 1
            )
            severity = "warning" if is_accumulated else None
            yield RULE.at(value.place, severity=severity, method=found[0], fault=found[1])
            return


def _adds_up(method: Any) -> bool:
    """Whether a `training_step` goes backward itself and divides nothing, by `/` or by the number of items."""
    goes_back = False
    for node in ast.walk(method):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div | ast.Mult):
            return False
        if isinstance(node, ast.Name) and node.id in ("num_items_in_batch", "kwargs"):
            return False
        if isinstance(node, ast.Attribute) and node.attr in ("training_step", "step", "div_", "mul_"):
            return False  # the Trainer's own, or an optimizer that is stepped here
        goes_back = goes_back or (isinstance(node, ast.Attribute) and node.attr == "backward")
    return goes_back


def _uses(method: Any) -> bool:
    """Whether the body reads the number, hands its keywords on, or leaves the loss to the Trainer."""
    for node in ast.walk(method):
        if isinstance(node, ast.Name) and node.id in ("num_items_in_batch", "kwargs"):
            return True
        if isinstance(node, ast.Attribute) and node.attr == "compute_loss":
            return True
    return False
