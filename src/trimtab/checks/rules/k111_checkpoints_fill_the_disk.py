"""K111 checkpoints-fill-the-disk"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.own_key import own
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.step_size import billions

_SCRIPT = (
    "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
    'model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B")\n'
    "args = TrainingArguments(max_steps=100000, save_steps=100, learning_rate=1e-5, warmup_steps=100{limit})\n"
    "Trainer(model=model, args=args, train_dataset=data).train()\n"
)

RULE = Rule(
    code="K111",
    name="checkpoints-fill-the-disk",
    severity="warning",
    message="{count:,} checkpoints of {size:g} billion parameters are kept: about {terabytes:,.0f} TB",
    why="Each checkpoint has the weights and two numbers of the optimizer a weight. Nothing is deleted where no "
    "limit is set; the "
    "run stops when the disk is full, often in the middle of writing.",
    evidence=(
        Arithmetic("8 billion weights, 4 bytes each and 8 of AdamW's state: 96 GB; 1,000 of them are 96 TB."),
    ),
    fix=Fix("set `save_total_limit=2`, or save less often"),
    bad=Example("train.py", _SCRIPT.format(limit="")),
    good=Example("train.py", _SCRIPT.format(limit=", save_total_limit=2")),
    symptoms=("no space left on device", "disk is full"),
)
LARGE = 20.0
"""Terabytes from which it is worth a warning: no single machine has them for one run."""
_BYTES = 12


def check(run: Description) -> Iterator[Diagnosis]:
    """Full training, lengths in steps, and no limit; of the Trainer's family, whose checkpoints hold the optimizer."""
    steps, every, size = run.value("steps"), run.setting("save_steps"), billions(run)
    if run.tool not in ("transformers", "trl", "llamafactory") or not steps or every is None or size is None:
        return
    if run.value("adapter") != "none" or run.value("keep_checkpoints") is not None or not every.is_written:
        return
    if own(run, "save_total_limit") is not None or own(run, "save_only_model") is not None or every.value < 1:
        return
    if any("save_total_limit" in call.arguments for call in run.document.calls):
        return
    count = int(steps // every.value)
    terabytes = count * size * _BYTES / 1000
    if run.value("save_strategy") == "steps" and terabytes >= LARGE:
        yield RULE.at(every, count=count, size=size, terabytes=terabytes)
