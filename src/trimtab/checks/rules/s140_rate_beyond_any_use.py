"""S140 rate-beyond-any-use"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.own_key import calls_of
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="S140",
    name="rate-beyond-any-use",
    severity="error",
    message="a learning rate of {rate:g} with {optimizer}: each step moves every weight by about that much",
    why="A step of Adam and its kin moves each weight by about the learning rate, whatever the gradient. Weights of a "
    "transformer are about 0.02 in size: the first step destroys what was learned. Such a number is a slip (`2e5` for "
    "`2e-5`), or the factor of another schedule (`noam` multiplies 2.0 with the width and the step).",
    evidence=(
        Arithmetic(
            "Adam's first step is learning rate times g / (|g| + epsilon), so +-learning rate: 50 times a weight "
            "of 0.02 "
            "at 1.0."
        ),
    ),
    fix=Fix("write a rate of 1e-5 to 1e-3{factor}"),
    bad=Example(
        "train.py",
        "from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments\n"
        'model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased")\n'
        'args = TrainingArguments(output_dir="out", learning_rate=2e5, warmup_steps=100)\n'
        "Trainer(model=model, args=args).train()\n",
    ),
    good=Example(
        "train.py",
        "from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments\n"
        'model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased")\n'
        'args = TrainingArguments(output_dir="out", learning_rate=2e-5, warmup_steps=100)\n'
        "Trainer(model=model, args=args).train()\n",
    ),
    symptoms=(
        "loss is NaN with a high learning rate",
        "diverged",
        "loss is NaN",
        "loss jumps at the start",
        "loss explodes at once",
        "learning rate is far too large",
        "loss is NaN right after the first step",
    ),
)
HIGHEST = 1.0
"""Above it no published run of an Adam without a scaled schedule is known; prompt tuning takes up to 1."""
HIGH = 0.1
"""From this rate on, a few steps destroy weights of the usual size; two-layer networks survive it."""
_ADAMS = frozenset(
    {
        "adam",
        "adamw",
        "lion",
        "nadam",
        "radam",
        "adamax",
        "ademamix",
        "grokadamw",
        "adam_mini",
        "lamb",
        "galore",
        "apollo",
    }
)
_FACTORS = frozenset({"noam", "noamwd", "rsqrt", "inverse_sqrt", "lambda", None})
_SCALED = (
    "LambdaLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "CyclicLR",
    "SequentialLR",
    "ChainedScheduler",
    "LinearLR",
)
_DEFAULTS_TO_ADAM = ("transformers", "trl", "llamafactory", "axolotl")
_PROMPTS = (
    "PromptTuning",
    "PrefixTuning",
    "PromptEncoder",
    "PromptLearner",
    "soft_prompt",
    "softprompt",
    "prompt_embed",
)
"""Tuning of prompts, which are as large as other embeddings and alone: 0.3 is usual."""
_OF_DEPTH = (
    "nn.Conv", "nn.Embedding", "nn.LSTM", "nn.GRU", "nn.Transformer", "nn.MultiheadAttention", "from_pretrained",
    "torchvision.models", "timm.create_model", "AutoModel",
)  # fmt: skip
_MADE = (
    "Adam",
    "AdamW",
    "NAdam",
    "RAdam",
    "Adamax",
    "Lion",
    "AdamW8bit",
    "Adam8bit",
    "FusedAdam",
    "Lamb",
    "LAMB",
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A written rate with a known optimizer, and no schedule that multiplies it by something small. In scripts every
    optimizer by itself."""
    rate = run.setting("learning_rate")
    if rate is None or not rate.is_written or not rate.value >= HIGH:
        yield from _made(run)
        return
    optimizer = run.value("optimizer")
    if optimizer is None and run.tool in _DEFAULTS_TO_ADAM:
        optimizer = "adamw"
    if optimizer not in _ADAMS or _is_factor(run, rate):
        return
    is_below = rate.value <= HIGHEST and run.document.syntax == "python"
    if is_below and (run.tool not in _DEFAULTS_TO_ADAM or says(run.document, *_PROMPTS)):
        yield from _made(run)
        return
    if rate.value <= HIGHEST and run.value("adapter") in (
        "prompt_tuning",
        "prefix_tuning",
        "p_tuning",
        "prompt",
    ):
        return
    factor = "; 2.0 is a factor for `noam`" if run.tool in ("opennmt", "eole", "mammoth") else ""
    severity = None if rate.value > HIGHEST else "warning"
    yield RULE.at(rate, severity=severity, rate=rate.value, optimizer=optimizer, factor=factor)


def _made(run: Description) -> Iterator[Diagnosis]:
    """Optimizers of a script over the parameters of a model, by the rate that each is made with."""
    made = list(flow_of(run.document).named(*_MADE))
    if not made or says(run.document, *_PROMPTS) or any(calls_of(run, *_SCALED)):
        return
    for event in made:
        given, rate = event.value.argument(0, "params"), event.value.argument(1, "lr")
        number = None if rate is None or event.value.has_rest else rate.constant
        if not isinstance(number, int | float) or isinstance(number, bool) or not number >= HIGH:
            continue
        if given is None or given.made != "call" or given.name != "parameters" or given.of is None:
            continue
        severity = None if number > HIGHEST else "warning" if says(run.document, *_OF_DEPTH) else "note"
        yield RULE.at(event.place, severity=severity, rate=number, optimizer=event.name, factor="")
        return


def _is_factor(run: Description, rate: Setting) -> bool:
    """Whether the schedule may scale the rate down, or nobody knows the schedule."""
    schedule = run.value("schedule")
    if run.document.syntax == "python":
        return any(calls_of(run, *_SCALED))
    if run.tool in ("opennmt", "eole", "mammoth", "trimtab"):
        return schedule in _FACTORS
    return schedule in ("noam", "noamwd", "rsqrt")
