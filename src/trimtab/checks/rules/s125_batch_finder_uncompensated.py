"""S125 batch-finder-uncompensated"""

from collections.abc import Iterator

from trimtab.checks.code_text import may_say
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow import lightning
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S125",
    name="batch-finder-uncompensated",
    severity="warning",
    message="{fault}",
    why="When memory runs out it takes a smaller micro-batch and starts again from step 0. It does not raise "
    "the accumulation to keep the batch, and does not put back the weights that were trained until then; "
    "nothing is logged.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer.py",
            "train wraps _inner_training_loop in find_executable_batch_size; the loop is called again on the "
            "same model, with _train_batch_size changed and gradient_accumulation_steps as before.",
        ),
        Maintainer(
            "https://github.com/huggingface/accelerate/blob/main/src/accelerate/utils/memory.py",
            "find_executable_batch_size multiplies the batch size by 0.9 after each failure.",
        ),
        Maintainer(
            "https://github.com/Lightning-AI/pytorch-lightning/blob/2.6.5/src/lightning/pytorch/tuner/batch_size_scaling.py",
            "_scale_batch_size changes the attribute `batch_size` alone, and afterwards restores the checkpoint that "
            "it saved before.",
        ),
        Maintainer(
            "https://github.com/huggingface/sentence-transformers/issues/3145",
            "The global step goes back to 0 at step 127,000 without a message.",
            opened=False,
        ),
    ),
    fix=Fix("find the batch in a trial run, write it down, and switch {finder} off"),
    bad=Example(
        "args.json", '{"output_dir": "out", "per_device_train_batch_size": 64, "auto_find_batch_size": true}'
    ),
    good=Example("args.json", '{"output_dir": "out", "per_device_train_batch_size": 32}'),
    aliases=("TT502",),
    symptoms=("step count starts again", "out of memory", "results differ between machines"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Wherever it is on; a note for Lightning's, which only looks for the batch before the training."""
    finder, batch = run.setting("batch_finder"), run.value("micro_batch")
    if finder is not None and finder.value is True and finder.is_written:
        written = batch if batch is not None else "one"
        fault = (
            f"auto_find_batch_size may train with another batch than the {written} that is written, and with "
        )
        yield RULE.at(finder, fault=fault + "changed weights", finder="`auto_find_batch_size`")
    if not run.document.imports & lightning.PACKAGES or not may_say(run.document, "scale_batch_size"):
        return
    flow = flow_of(run.document)
    if any(flow.named("lr_find")):
        return
    for event in flow.named("scale_batch_size"):
        of = event.value.of
        if of is not None and (of.last == "Tuner" or "tuner" in (of.label or of.name).lower()):
            fault = "`scale_batch_size` takes the batch that fits this machine; learning rate and accumulation stay"
            yield RULE.at(event.place, severity="note", fault=fault, finder="`scale_batch_size`")
            return
