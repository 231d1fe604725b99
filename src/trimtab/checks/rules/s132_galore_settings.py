"""S132 galore-settings"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="S132",
    name="galore-settings",
    severity="warning",
    message="GaLore {says}",
    why="GaLore projects gradients on a subspace that it finds by a singular value decomposition every "
    "`update_proj_gap` steps. Too often costs more time than the training; never again after the first "
    "leaves the model in one subspace.",
    evidence=(
        Maintainer(
            "https://github.com/jiaweizzhao/GaLore",
            "The README refreshes the projection every 200 steps for pretraining and every 500 for 7 billion "
            "parameters and for fine-tuning.",
        ),
        Paper(
            "https://arxiv.org/abs/2407.08296",
            "Q-GaLore: 'GaLore relies on time-consuming Singular Value Decomposition (SVD) operations', and 'the "
            "frequent subspace updates lead to significant training time overhead'.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer_optimizer.py",
            '"You need to define `optim_target_modules` to use {optimizer_name} optimizers"; update_proj_gap '
            "is 200 by default.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "optim": "galore_adamw", '
        '"optim_target_modules": ["attn", "mlp"], "optim_args": "rank=64, update_proj_gap=10, scale=0.25"}',
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "optim": "adamw_bnb_8bit"}',
    ),
    aliases=("GAL001",),
    tips=("S0-29", "S2-10"),
    symptoms=("training is slow", "You need to define optim_target_modules"),
)

FREQUENT = 50
"""A refresh every so many steps or fewer; 200 to 500 are the authors' own numbers."""
_KEYS = ("galore_update_interval", "qgalore_update_proj_gap")


def check(run: Description) -> Iterator[Diagnosis]:
    """Transformers' `optim_args`, and the keys of LLaMA-Factory and Axolotl."""
    optimizer, targets = run.setting("optimizer"), run.written("optim_target_modules")
    is_galore = optimizer is not None and optimizer.value == "galore" and optimizer.is_written
    is_whole = run.tool in ("transformers", "trl") and run.document.syntax in ("yaml", "json")
    if optimizer is not None and is_galore and targets is None and is_whole:
        yield RULE.at(
            optimizer,
            severity="error",
            says="is not told which modules it projects: the Trainer refuses it",
            fix='set `optim_target_modules`, such as ["attn", "mlp"] or "all-linear"',
        )
    for where, gap in _gaps(run):
        if 0 < gap <= FREQUENT:
            yield RULE.at(
                where,
                says=f"decomposes every matrix again every {gap} steps",
                fix="set it to 200 or more",
            )
            return
    if optimizer is not None and is_galore and (targets is not None or not is_whole):
        yield RULE.at(
            optimizer,
            severity="note",
            says="saves memory and costs time: each step projects every matrix, and some steps decompose it again",
            fix="compare its tokens per second with those of 8-bit AdamW over a few hundred steps before a long run",
        )


def _gaps(run: Description) -> Iterator[tuple[Setting, int]]:
    arguments = run.written("optim_args")
    if arguments is not None and isinstance(arguments.value, str):
        for part in arguments.value.replace(" ", "").split(","):
            name, _, number = part.partition("=")
            if name == "update_proj_gap" and number.isdigit():
                yield arguments, int(number[:9])
    for key in (*_KEYS, "optim_args.update_proj_gap"):
        setting = run.written(key)
        if setting is not None and type(setting.value) is int:
            yield setting, setting.value
