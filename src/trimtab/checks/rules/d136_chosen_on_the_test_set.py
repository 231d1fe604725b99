"""D136 chosen-on-the-test-set"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow import lightning
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import lightning as L\nfrom lit import Lit\nfrom torch.utils.data import DataLoader\n"
    "train, valid, test = DataLoader(a, shuffle=True), DataLoader(b), DataLoader(c)\n"
    "trainer = L.Trainer(max_epochs=20, callbacks=[L.pytorch.callbacks.EarlyStopping('val_loss')])\n"
    "trainer.fit(Lit(), train, {valid})\ntrainer.test(ckpt_path='best', dataloaders=test)\n"
)

RULE = Rule(
    code="D136",
    name="chosen-on-the-test-set",
    severity="warning",
    message="`{loader}` both chooses the checkpoint and tests it",
    why="`fit` stops early or keeps the best checkpoint by the score on these examples. The score of `test` on the "
    "same examples is the best of many tries, and higher than on new data.",
    evidence=(
        Arithmetic(
            "Of 20 checkpoints with a true accuracy of 80%, the best score on 1,000 examples lies about 1.9 standard "
            "errors, 2.4 points, above it."
        ),
    ),
    fix=Fix("validate on a separate set"),
    bad=Example("train.py", _SCRIPT.format(valid="test")),
    good=Example("train.py", _SCRIPT.format(valid="valid")),
    symptoms=("test score is much better than on new data", "good on the test set and bad in use"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A trainer of Lightning that validates and tests with the same loader, or with loaders over the same set."""
    flow = flow_of(run.document)
    if not any(True for _ in lightning.trainers(run.document)):
        return
    for fit in flow.named("fit"):
        held = fit.value.argument(2, "val_dataloaders")
        for test in flow.named("test"):
            given = test.value.argument(1, "dataloaders")
            is_one = root(fit.subject) is root(test.subject)
            if not is_one or _is_tried_only(root(fit.subject)):
                continue
            if held is not None and given is not None and _is_same(held, given):
                yield RULE.at(fit.place, loader=held.label or given.label or "the same loader")
                return


def _is_tried_only(trainer: Value | None) -> bool:
    """Whether a trainer keeps no checkpoint, or runs a few batches to try the code."""
    named = trainer.keywords if trainer is not None else {}
    keeps = named.get("enable_checkpointing")
    return (keeps is not None and keeps.constant is False) or any(
        name == "fast_dev_run" or name.startswith("limit_") for name in named
    )


def _is_same(one: Value, other: Value) -> bool:
    if one is other:
        return one.constant is not None
    sets = [
        each.argument(0, "dataset")
        for each in (one, other)
        if each.made == "call" and each.last == "DataLoader"
    ]
    return len(sets) == 2 and sets[0] is not None and sets[0] is sets[1]
