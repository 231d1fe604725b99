"""C121 option-without-effect"""

from collections.abc import Iterator

from trimtab.checks.combination import Combination, found, written
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C121",
    name="option-without-effect",
    severity="warning",
    message="`{key}` has no effect: {says}",
    why="The option belongs to something that is not switched on, so the run is another one than the file "
    "describes.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/core/builders/base.py",
            "A custom optimizer gets `betas` only where adam_beta1 and adam_beta2 are both set.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            "eval_strategy is `no` by default; eval_steps is read where it is `steps`, save_steps where "
            "save_strategy is.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer_optimizer.py",
            "The handlers of adamw_torch, adamw_torch_fused, adafactor and bitsandbytes' adamw and lion read "
            "nothing of optim_args; adafactor, sgd, adagrad and rmsprop get no adam_beta1, adam_beta2 and "
            "adam_epsilon.",
        ),
        Maintainer(
            "https://github.com/awslabs/sockeye/blob/871d986/sockeye/train.py",
            "'Specifying a non-float32 dtype to sockeye.train has no effect.' "
            "For 16-bit training, use --amp or --apex-amp; a gradient is clipped where the type is not none.",
        ),
        Maintainer(
            "https://www.deepspeed.ai/docs/config-json/",
            'offload_param: "Valid only with stage 3"; offload_optimizer: "Valid for ZeRO stage 1, 2, 3".',
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "eval_strategy": "no", "eval_steps": 500}',
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "eval_strategy": "steps", "eval_steps": '
        "500}",
    ),
    aliases=("TT404",),
    symptoms=(
        "a setting has no effect",
        "no evaluation",
        "no eval_loss in the log",
        "trains all weights with LoRA settings",
    ),
)

_CUSTOM = "optimi_adamw|ao_adamw_fp8|adopt_adamw|muon|dion|sinkgd|q_galore_adamw8bit|flash_adamw|flash_adam|flash_lion"
_DEAF = "|".join(
    (
        "adamw_torch", "adamw_torch_fused", "adafactor", "adamw_bnb_8bit", "adamw_8bit", "paged_adamw_32bit",
        "paged_adamw_8bit", "lion_8bit", "lion_32bit",
    )
)  # fmt: skip
_NOT_ADAM = "adafactor|sgd|adagrad|rmsprop"


def _optimizer_rows(key: str) -> tuple[Combination, ...]:
    return (
        Combination(
            f"optim_args {key}={_DEAF}",
            f"this `{key}` reads no `optim_args`",
            f"remove it, or take another `{key}`",
        ),
        *(
            Combination(f"{adam} {key}={_NOT_ADAM}", f"this `{key}` is not Adam", "remove it")
            for adam in ("adam_beta1", "adam_beta2", "adam_epsilon")
        ),
    )


_STEPS = tuple(
    Combination(
        f"{what}_steps {what}_strategy=no|epoch|false",
        f"`{what}_strategy` is not steps",
        f"set `{what}_strategy: steps`, or remove it",
    )
    for what in ("eval", "save")
)
_LORA = ("lora_rank", "lora_alpha", "lora_dropout", "lora_target")
_ROWS: dict[str, tuple[Combination, ...]] = {
    "transformers": (*_STEPS, *_optimizer_rows("optim")),
    "trl": (*_STEPS, *_optimizer_rows("optim")),
    "llamafactory": (
        *_STEPS,
        *_optimizer_rows("optim"),
        *(
            Combination(
                f"{key} finetuning_type=full|freeze",
                "there is no LoRA with this `finetuning_type`",
                "set `finetuning_type: lora`, or remove it",
            )
            for key in _LORA
        ),
    ),
    "axolotl": (
        *(
            Combination(
                f"{one} optimizer={_CUSTOM} !{other}",
                f"this optimizer gets its betas only where `{other}` is set as well",
                f"set `{other}` too (0.9 and 0.999 are the usual values)",
            )
            for one, other in (("adam_beta1", "adam_beta2"), ("adam_beta2", "adam_beta1"))
        ),
        *_optimizer_rows("optimizer"),
        Combination(
            "lora_r !adapter",
            "no `adapter` is set, so that all weights are trained",
            "set `adapter: lora`, or remove it",
        ),
        Combination(
            "loss_watchdog_patience !loss_watchdog_threshold",
            "there is no `loss_watchdog_threshold`",
            "set `loss_watchdog_threshold`",
        ),
    ),
    "sockeye": (
        Combination(
            "gradient-clipping-threshold gradient-clipping-type=none",
            "`gradient-clipping-type` is none",
            "set `gradient-clipping-type` to norm, or remove it",
        ),
        Combination(
            "dtype=float16|bfloat16 ",
            "training reads no `dtype`; 16 bits come from `amp` or `apex-amp`",
            "write `amp` in its place",
        ),
        *(
            Combination(
                f"{key} learning-rate-scheduler-type=none|inv-sqrt-decay|linear-decay",
                "only `plateau-reduce` reads it",
                "set `learning-rate-scheduler-type` to plateau-reduce, or remove it",
            )
            for key in ("learning-rate-reduce-factor", "learning-rate-reduce-num-not-improved")
        ),
        Combination(
            "learning-rate-warmup learning-rate-scheduler-type=none",
            "`learning-rate-scheduler-type` is none, which has no warm-up",
            "set `learning-rate-scheduler-type` to inv-sqrt-decay, linear-decay or plateau-reduce",
        ),
    ),
    "deepspeed": (
        Combination(
            "zero_optimization.offload_param.device=cpu|nvme zero_optimization.stage=0|1|2",
            "parameters are offloaded in stage 3 only",
            "set `stage: 3`, or remove `offload_param`",
        ),
        Combination(
            "zero_optimization.offload_optimizer.device=cpu|nvme zero_optimization.stage=0",
            "nothing is offloaded in stage 0",
            "set `stage: 2`, or remove `offload_optimizer`",
        ),
    ),
    "accelerate": (
        Combination(
            "deepspeed_config.offload_param_device=cpu|nvme deepspeed_config.zero_stage=0|1|2",
            "parameters are offloaded in stage 3 only",
            "set `zero_stage: 3`, or `offload_param_device: none`",
        ),
        Combination(
            "deepspeed_config.offload_optimizer_device=cpu|nvme deepspeed_config.zero_stage=0",
            "nothing is offloaded in stage 0",
            "set `zero_stage: 2`, or `offload_optimizer_device: none`",
        ),
    ),
}


def check(run: Description) -> Iterator[Diagnosis]:
    """A table a tool; and the interval of an evaluation that the tool's own default leaves out."""
    for where, row in found(run, _ROWS.get(run.tool, ())):
        yield RULE.at(where, says=row.says, fix=row.fix)
    yield from _unclipped(run)
    yield from _rate_of_schedule(run)
    strategy, steps = run.setting("eval_strategy"), written(run, "eval_steps")
    if strategy is None or strategy.is_written or steps is None or not steps.value:
        return
    if strategy.value == "no" and run.tool in ("transformers", "trl", "llamafactory"):
        yield RULE.at(
            steps, says="`eval_strategy` is no by default", fix="set `eval_strategy: steps`, or remove it"
        )


def _rate_of_schedule(run: Description) -> Iterator[Diagnosis]:
    """The optimizer's rate in a DeepSpeed file whose schedule warms up to another one and sets it at every step."""
    named, rate = run.written("scheduler.type"), run.written("optimizer.params.lr")
    peak = run.written("scheduler.params.warmup_max_lr")
    if run.tool != "deepspeed" or named is None or rate is None or peak is None:
        return
    numbers = isinstance(rate.value, int | float) and isinstance(peak.value, int | float)
    if named.value in ("WarmupLR", "WarmupDecayLR") and numbers and rate.value != peak.value:
        says = f"`{named.value}` warms up to its own `warmup_max_lr`, {peak.value:g}"
        yield RULE.at(rate, says=says, fix="write the same rate in both")


def _unclipped(run: Description) -> Iterator[Diagnosis]:
    """A threshold of Sockeye beside the kind of clipping that is its default: none."""
    threshold, clip = run.written("gradient-clipping-threshold"), run.setting("clip")
    if threshold is None or not isinstance(threshold.value, int | float) or threshold.value <= 0:
        return
    if run.tool == "sockeye" and clip is not None and not clip.is_written and clip.value == 0:
        yield RULE.at(
            threshold,
            says="`gradient-clipping-type` is none by default",
            fix="set `gradient-clipping-type` to norm",
        )
