"""E124 metrics-never-computed"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.trainers import configuration, trainers
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="E124",
    name="metrics-never-computed",
    severity="error",
    message="`compute_metrics` is given, but `prediction_loss_only=True` drops the predictions that it needs",
    why="With this option, the Trainer keeps only the loss of an evaluation and never calls "
    "`compute_metrics`. It cannot choose the best model by one of these metrics.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            "prediction_loss_only: 'When performing evaluation and generating predictions, only returns the "
            "loss.'",
        ),
    ),
    fix=Fix("leave `prediction_loss_only` out"),
    bad=Example(
        "train.py",
        "from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments\n"
        "model = AutoModelForSequenceClassification.from_pretrained('bert-base-uncased')\n"
        "args = TrainingArguments('out', eval_strategy='epoch', prediction_loss_only=True)\n"
        "Trainer(model=model, args=args, train_dataset=a, eval_dataset=b, "
        "compute_metrics=accuracy).train()\n",
    ),
    good=Example(
        "train.py",
        "from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments\n"
        "model = AutoModelForSequenceClassification.from_pretrained('bert-base-uncased')\n"
        "args = TrainingArguments('out', eval_strategy='epoch')\n"
        "Trainer(model=model, args=args, train_dataset=a, eval_dataset=b, "
        "compute_metrics=accuracy).train()\n",
    ),
    symptoms=("compute_metrics is not called", "KeyError: eval_accuracy"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A Trainer with a function for metrics, whose arguments keep the loss alone."""
    for trainer in trainers(run):
        made, given = configuration(trainer.value), trainer.value.keywords.get("compute_metrics")
        only = made.keywords.get("prediction_loss_only") if made is not None else None
        if given is not None and given.constant is not None and only is not None and only.constant is True:
            yield RULE.at(trainer.place)
            return
