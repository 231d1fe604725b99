"""E111 all-logits-kept"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.roles import is_causal
from trimtab.checks.read.flow.trainers import configuration, is_set, trainers
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
    'model = AutoModelForCausalLM.from_pretrained("bigscience/bloom-560m")\n'
    'args = TrainingArguments(output_dir="out", eval_strategy="epoch", learning_rate=2e-5, warmup_steps=100)\n'
    "Trainer(model=model, args=args, train_dataset=a, eval_dataset=b, compute_metrics=metrics{reduce}).train()\n"
)

RULE = Rule(
    code="E111",
    name="all-logits-kept",
    severity="note",
    message="`compute_metrics` of a language model gets all logits of the evaluation set at once: the GPU holds "
    "them until the end",
    why="For each position there are as many logits as the vocabulary has tokens. The Trainer gathers them over "
    "the whole set "
    "before it calls the function.",
    evidence=(
        Arithmetic("1,000 texts of 512 tokens with a vocabulary of 250,880 in fp32: 514 GB."),
        Maintainer(
            "https://github.com/huggingface/transformers/issues/15466",
            "'during evaluation the logits are accumulated': for a language model a tensor of [examples, length, "
            "vocabulary], which `preprocess_logits_for_metrics` was added for.",
        ),
    ),
    fix=Fix(
        "give `preprocess_logits_for_metrics` (argmax), or set `eval_accumulation_steps`, or `prediction_loss_only`"
    ),
    bad=Example("train.py", _SCRIPT.format(reduce="")),
    good=Example("train.py", _SCRIPT.format(reduce=", preprocess_logits_for_metrics=argmax")),
    symptoms=(
        "out of memory in evaluation",
        "out of memory",
        "evaluation needs more memory than training",
        "out of memory in compute_metrics",
        "evaluation runs out of GPU memory",
    ),
)
_WAYS = ("eval_accumulation_steps", "prediction_loss_only", "batch_eval_metrics", "predict_with_generate")


def check(run: Description) -> Iterator[Diagnosis]:
    """A causal model of transformers with metrics of its own and none of the ways to make less of the logits."""
    for trainer in trainers(run):
        made, given = configuration(trainer.value), trainer.value.keywords
        metrics = given.get("compute_metrics")
        if trainer.name not in ("Trainer", "SFTTrainer") or metrics is None or metrics.constant is None:
            continue
        if (
            "preprocess_logits_for_metrics" in given
            or made is None
            or any(is_set(made, way) for way in _WAYS)
        ):
            continue
        if "eval_dataset" in given and is_causal(given.get("model")):
            yield RULE.at(trainer.place)
