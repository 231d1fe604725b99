"""S101 no-warmup"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer, Measured, Paper
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_schedule
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.step_size import ADAM_FAMILY

RULE = Rule(
    code="S101",
    name="no-warmup",
    severity="warning",
    message="Adam trains a {what} from step 1 at its full rate of {rate:g}, without warm-up",
    why="In a post-norm transformer the gradients near the output are large at the start, and Adam's "
    "second moment is not yet an average, so a full rate can push the model to a point from which it "
    "does not recover. Pre-norm models do not diverge without it, but lose a little; where the placement of "
    "norms is unknown this is a note.",
    evidence=(
        Measured(
            "warm_up",
            "8 million parameters, English to German, 1,000 steps, 5 seeds: without warm-up post-norm is 4.10 nats a "
            "token worse (2.35 to 5.85), pre-norm 0.127 (0.085 to 0.169).",
        ),
        Paper(
            "https://arxiv.org/abs/2002.04745",
            "Xiong et al. 2020: at initialisation the expected gradients near the output layer of a Post-LN "
            "transformer are large, so that a large learning rate makes it unstable and warm-up is "
            "essential; Pre-LN trains without.",
        ),
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/utils/optimizers.py",
            "With decay_method none there is no warm-up, whatever warmup_steps says.",
        ),
    ),
    fix=Fix("warm up over 1% to 10% of the steps"),
    bad=Example(
        "train.py",
        "from transformers import AutoConfig, AutoModelForSeq2SeqLM, Seq2SeqTrainer, "
        "Seq2SeqTrainingArguments\n\nconfig = "
        "AutoConfig.from_pretrained('Helsinki-NLP/opus-mt-en-de')\nmodel = "
        "AutoModelForSeq2SeqLM.from_config(config)\nargs = Seq2SeqTrainingArguments(output_dir='out', "
        "learning_rate=7e-4, optim='adamw_torch', label_smoothing_factor=0.1, "
        "warmup_steps=0)\nSeq2SeqTrainer(model=model, args=args, train_dataset=data).train()\n",
    ),
    good=Example(
        "train.py",
        "from transformers import AutoConfig, AutoModelForSeq2SeqLM, Seq2SeqTrainer, "
        "Seq2SeqTrainingArguments\n\nconfig = "
        "AutoConfig.from_pretrained('Helsinki-NLP/opus-mt-en-de')\nmodel = "
        "AutoModelForSeq2SeqLM.from_config(config)\nargs = Seq2SeqTrainingArguments(output_dir='out', "
        "learning_rate=7e-4, optim='adamw_torch', label_smoothing_factor=0.1, "
        "warmup_steps=4000)\nSeq2SeqTrainer(model=model, args=args, train_dataset=data).train()\n",
    ),
    aliases=("SCHED001",),
    tips=("S1-07", "S3-06", "S0-06"),
    symptoms=(
        "diverged after a few steps",
        "loss is NaN",
        "loss flat",
        "loss stays at its first value",
        "a transformer from scratch does not train",
        "explodes when trained from scratch",
        "loss explodes at the start without warm-up",
        "transformer from scratch diverges at 1e-3",
    ),
)

HARMLESS = 1e-4
"""Below this rate Adam's first steps are small, whatever the gradient."""
PRE_NORM_RATE = 1e-3
"""From here on a pre-norm transformer is seen to lose by it; below that it needs none."""
_OPENNMT = ("opennmt", "mammoth", "eole")


def check(run: Description) -> Iterator[Diagnosis]:
    """From scratch, with a schedule that is known to have no warm-up."""
    yield from _of_torch(run)
    rate, placement = run.setting("learning_rate"), run.value("norm_placement")
    if (
        run.value("optimizer") not in ADAM_FAMILY
        or rate is None
        or rate.value < (PRE_NORM_RATE if placement == "pre" else HARMLESS)
    ):
        return
    if run.value("from_scratch") is True and _has_no_warmup(run):
        where = rate if rate.is_written else run.setting("optimizer") or rate
        what = f"{placement}-norm transformer" if placement in ("post", "pre") else "new model"
        yield RULE.at(where, severity=None if placement == "post" else "note", what=what, rate=rate.value)


def _has_no_warmup(run: Description) -> bool:
    schedule = run.value("schedule")
    if run.tool in _OPENNMT:
        return schedule == "none"
    if run.tool == "marian" and run.value("norm_placement") is None:
        return False  # its recurrent models are trained without
    if schedule is None or schedule == "noam":
        return False
    steps, share = run.value("warmup_steps"), run.value("warmup_ratio")
    return schedule == "constant" or (steps == 0 and not share) or (steps is None and share == 0)


POST_NORM_RATE = 5e-4
"""From here on a post-norm transformer of torch's is likely not to start without warm-up."""


def _of_torch(run: Description) -> Iterator[Diagnosis]:
    """`nn.Transformer` as it is made by default, post-norm, under Adam at a constant rate in a script of its own."""
    rate, flow = run.setting("learning_rate"), flow_of(run.document)
    if (
        rate is None
        or rate.value < POST_NORM_RATE
        or run.value("optimizer") not in ADAM_FAMILY
        or not flow.is_whole
    ):
        return
    if (
        run.tool != "torch"
        or any(is_schedule(event.subject) for event in flow.named("step"))
        or says(run.document, "param_groups")
    ):
        return
    for event in flow.named("Transformer"):
        norm_first = event.value.argument(10, "norm_first")
        if event.value.name != "torch.nn.Transformer" or event.value.has_rest or norm_first is not None:
            continue
        if any(True for _ in flow.named("backward")):
            where = rate if rate.is_written else run.setting("optimizer") or rate
            yield RULE.at(where, what="post-norm transformer", rate=rate.value)
            return
