"""S130 step-in-backward"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S130",
    name="step-in-backward",
    severity="error",
    message="{optimizer} steps while the gradient is still being computed, so {what}",
    why="Such an optimizer updates each weight as soon as its gradient is there and throws the gradient "
    "away. There is nothing left to add up over micro-batches, and the norm of the whole gradient is known "
    "only when it is too late to clip by it.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer_optimizer.py",
            '"Layerwise {optimizer_name} does not support gradient accumulation!"; the steps are taken in '
            "post-accumulate-grad hooks.",
        ),
        Maintainer(
            "https://github.com/pytorch/torchtune/blob/main/recipes/full_finetune_single_device.py",
            '"Gradient clipping is not supported with optimizer_in_bwd: True", and the same for '
            "accumulation.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 1, "gradient_accumulation_steps": 8, '
        '"optim": "galore_adamw_layerwise", "optim_target_modules": ["attn", "mlp"], "max_grad_norm": 0}',
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "optim": "galore_adamw_layerwise", '
        '"optim_target_modules": ["attn", "mlp"], "max_grad_norm": 0}',
    ),
    aliases=("TT503",),
    symptoms=("does not support gradient accumulation", "clipping has no effect", "loss spikes"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Layer-wise GaLore and APOLLO; LOMO, for which a written clip is only without effect."""
    optimizer, accumulation, clip = (
        run.setting(word) for word in ("optimizer_variant", "accumulation", "clip")
    )
    name = str(optimizer.value) if optimizer is not None else _llamafactory(run)
    is_layerwise = name.endswith("layerwise")
    if not is_layerwise and name not in ("lomo", "adalomo"):
        return
    if is_layerwise and accumulation is not None and accumulation.is_written and accumulation.value > 1:
        yield RULE.at(
            accumulation,
            optimizer=name,
            what=f"{accumulation.value} micro-batches cannot be added up",
            fix="set the accumulation to 1 and raise the micro-batch",
        )
    if clip is not None and clip.is_written and clip.value > 0:
        yield RULE.at(
            clip,
            severity="warning",
            optimizer=name,
            what=f"the gradient is not clipped at {clip.value:g}",
            fix="set the clip to 0, so that the file says what happens",
        )


def _llamafactory(run: Description) -> str:
    for name in ("galore", "apollo"):
        setting = run.written(f"{name}_layerwise")
        if run.tool == "llamafactory" and setting is not None and setting.value is True:
            return f"{name}_layerwise"
    return ""
