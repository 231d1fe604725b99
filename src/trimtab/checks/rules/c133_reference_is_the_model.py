"""C133 reference-is-the-model"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.trainers import trainers
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C133",
    name="reference-is-the-model",
    severity="error",
    message="`{name}` is its own reference: {trainer} raises ValueError, and the loss would never leave its "
    "initial value",
    why="The reference is the model as it was before training. If both are one object, training changes "
    "both, so the two never differ.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/trl/blob/v1.9.0/trl/trainer/dpo_trainer.py",
            "'`model` and `ref_model` cannot be the same object. In most cases you should omit `ref_model`'.",
        ),
        Arithmetic("The loss is -log sigmoid(beta * 0) = 0.693 in every step."),
    ),
    fix=Fix("leave `ref_model` out: {trainer} makes a reference itself, or switches the adapter off for it"),
    bad=Example(
        "train.py",
        "from transformers import AutoModelForCausalLM\nfrom trl import DPOTrainer\n"
        "model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-0.5B')\n"
        "DPOTrainer(model=model, ref_model=model, train_dataset=pairs).train()\n",
    ),
    good=Example(
        "train.py",
        "from transformers import AutoModelForCausalLM\nfrom trl import DPOTrainer\n"
        "model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-0.5B')\n"
        "DPOTrainer(model=model, ref_model=None, train_dataset=pairs).train()\n",
    ),
    symptoms=("model and ref_model cannot be the same object", "DPO loss stays at 0.693"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A trainer of preferences that is given one object twice."""
    for trainer in trainers(run):
        model, reference = trainer.value.argument(0, "model"), trainer.value.argument(1, "ref_model")
        if (
            model is not None
            and model is reference
            and model.constant is UNKNOWN
            and trainer.value.name.startswith("trl.")
        ):
            yield RULE.at(trainer.place, name=model.label or "the model", trainer=trainer.name)
            return
