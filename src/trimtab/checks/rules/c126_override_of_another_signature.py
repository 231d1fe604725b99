"""C126 override-of-another-signature"""

import ast
from collections.abc import Iterator
from typing import Any, Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.place import Place
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.signatures import canonical, is_described, newest, passed_to
from trimtab.units import counted

_SCRIPT = (
    "from transformers import Trainer, TrainingArguments\nclass Weighted(Trainer):\n"
    "    def compute_loss(self, model, inputs, return_outputs=False{more}):\n        outputs = model(**inputs)\n"
    "        loss = weighted(outputs.logits, inputs['labels'], num_items_in_batch)\n"
    "        return (loss, outputs) if return_outputs else loss\n"
    'trainer = Weighted(model=model, args=TrainingArguments("out", learning_rate=1e-5), train_dataset=data)\n'
    "trainer.train()\n"
)

RULE = Rule(
    code="C126",
    name="override-of-another-signature",
    severity="error",
    message="`{owner}.{method}` is called with {given}, which this override {problem}",
    why="A trainer calls its own methods with the arguments of its version. An override that was written for another "
    "version raises TypeError at its first call, after the model and the data are loaded: at the first batch, or only "
    "when the first metrics are logged.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer.py",
            "`self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)`, and "
            "`self.log(logs, start_time)`.",
        ),
        Maintainer(
            "https://github.com/Lightning-AI/pytorch-lightning/blob/2.6.0/src/lightning/pytorch/trainer/"
            "configuration_validator.py",
            "'Support for `training_epoch_end` has been removed in v2.0.0.'",
        ),
    ),
    fix=Fix("{fix}", safety="same training"),
    bad=Example("train.py", _SCRIPT.format(more=""), versions="transformers=5.24.0"),
    good=Example(
        "train.py", _SCRIPT.format(more=", num_items_in_batch=None"), versions="transformers=5.24.0"
    ),
    symptoms=(
        "compute_loss() got an unexpected keyword argument 'num_items_in_batch'",
        "log() takes 2 positional arguments but 3 were given",
        "training_step() takes 3 positional arguments but 4 were given",
        "Support for training_epoch_end has been removed",
        "unexpected keyword argument",
    ),
)
_METHODS: Final = (
    "compute_loss", "training_step", "prediction_step", "log", "_save_checkpoint", "_maybe_log_save_evaluate",
    "lr_scheduler_step", "optimizer_step", "configure_gradient_clipping", "on_before_optimizer_step",
    "optimizer_zero_grad",
)  # fmt: skip
"""Methods that people override and the library calls in every run."""
_SOMETIMES: Final = frozenset({"return_outputs"})
"""What is passed in an evaluation only."""
_ENDED: Final = {
    "training_epoch_end": "on_train_epoch_end",
    "validation_epoch_end": "on_validation_epoch_end",
    "test_epoch_end": "on_test_epoch_end",
}
"""Hooks that Lightning 2 refuses when the run starts."""
_MODULE: Final = "lightning.pytorch.LightningModule"


def check(run: Description) -> Iterator[Diagnosis]:
    """Classes of the script that derive from a trainer of transformers or TRL, or from a LightningModule."""
    if not run.document.imports & {"transformers", "trl", "lightning", "pytorch_lightning"}:
        return
    if "unsloth" in run.document.imports:
        return
    for owner in flow_of(run.document).classes.values():
        base = _base(owner)
        if base and owner.node is not None and owner.place is not None:
            yield from _methods(run, base, owner.node, owner.place)


def _base(owner: Value, *, depth: int = 0) -> str:
    """The class of a library whose methods the table has, from which a class derives."""
    for each in owner.args:
        name = canonical(each.name)
        if name == _MODULE:
            return _MODULE
        is_trainer = name.startswith(("transformers.", "trl.")) and name.endswith("Trainer")
        if each.made == "imported" and is_trainer:
            return "transformers.Trainer"
        if each.made == "class" and depth < 5 and (found := _base(each, depth=depth + 1)):
            return found
    return ""


def _methods(run: Description, base: str, node: Any, place: Place) -> Iterator[Diagnosis]:
    library = base.partition(".")[0]
    is_this = is_described(run, library)
    if is_this is False:
        return
    severity = None if is_this else "warning"
    owner = base.rpartition(".")[2]
    for method in node.body:
        if not isinstance(method, ast.FunctionDef):
            continue
        at = place._replace(line=method.lineno, column=method.col_offset + 1, end_line=0, end_column=0)
        if base == _MODULE and method.name in _ENDED:
            fix = f"write `{_ENDED[method.name]}(self)`, and collect what each step returns in a list of the module"
            given, problem = "nothing any more", "still waits for"
            yield RULE.at(
                at, severity=severity, owner=owner, method=method.name, given=given, problem=problem, fix=fix
            )
            continue
        passed = passed_to(base, method.name) if method.name in _METHODS else None
        wrong = _refuses(method.args, *passed) if passed is not None else None
        if wrong is not None:
            given, fix = wrong
            given = f"{given} in {library} {'.'.join(map(str, newest(library)))}"
            yield RULE.at(
                at,
                severity=severity,
                owner=owner,
                method=method.name,
                given=given,
                problem="cannot take",
                fix=fix,
            )


def _refuses(arguments: ast.arguments, most: int, names: frozenset[str]) -> tuple[str, str] | None:
    """What a method is given and cannot take, and what to add."""
    own = [each.arg for each in (*arguments.posonlyargs, *arguments.args)][1:]
    if arguments.vararg is None and len(own) < most:
        count = counted(most, "argument")
        return f"{count} by position", "add the missing parameter, or take `*args, **kwargs` and hand them on"
    required = len(own) - len(arguments.defaults)
    if required > most + len(names):
        count = f"{counted(most, 'argument')} alone"
        return count, "take what the library passes now; give a parameter that is gone a default"
    known = {*own, *(each.arg for each in arguments.kwonlyargs)}
    missing = sorted(names - known - _SOMETIMES) if arguments.kwarg is None else []
    if not missing or (arguments.vararg is not None and not own):
        return None
    return f"`{missing[0]}=`", f"add `{missing[0]}=None` to its parameters, or take `**kwargs`"
