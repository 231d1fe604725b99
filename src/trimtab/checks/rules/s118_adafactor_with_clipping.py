"""S118 adafactor-with-clipping"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import AddKey, Edit, SetValue
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="S118",
    name="adafactor-with-clipping",
    severity="note",
    message="gradients are clipped at {clip:g}{default} although Adafactor clips its own updates",
    why="Adafactor scales by the gradient's own size and clips the update, so clipping the gradient before "
    "adds little and can slow it down. The evidence is mixed: its documentation advises against it, but PaLM "
    "is remembered to have used a kind of Adafactor with a global clip of 1.0.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/optimization.py",
            'The recommended settings for T5: "Additional optimizer operations like gradient clipping should '
            'not be used alongside Adafactor".',
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            "max_grad_norm is 1.0 by default.",
        ),
    ),
    fix=Fix("set `max_grad_norm: 0` and keep the update clipping at 1.0"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "optim": "adafactor", "learning_rate": '
        '0.001, "warmup_steps": 500}',
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "optim": "adafactor", "learning_rate": '
        '0.001, "warmup_steps": 500, "max_grad_norm": 0}',
    ),
    aliases=("ADAF001",),
    tips=("S0-33", "S0-30", "S4-01"),
    symptoms=("loss falls slowly",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """For the tools on transformers' Trainer, where the clip may be its default, and where the OpenNMT family
    writes one."""
    optimizer, clip = run.setting("optimizer"), run.setting("clip")
    if optimizer is None or optimizer.value != "adafactor" or clip is None or clip.value <= 0:
        return
    is_trainer = run.tool in ("transformers", "trl", "llamafactory", "axolotl")
    if is_trainer or (run.tool in ("opennmt", "eole", "mammoth") and clip.is_written):
        default = "" if clip.is_written else ", the default,"
        where = clip if clip.is_written else optimizer
        yield RULE.at(where, clip=clip.value, default=default, edits=_edits(clip, optimizer))


def _edits(clip: Setting, optimizer: Setting) -> tuple[Edit, ...]:
    if clip.is_written:
        return (SetValue(clip.key, 0.0),)
    return (AddKey("max_grad_norm", 0.0, after=optimizer.key),) if optimizer.is_written else ()
