"""C119 engine-refused"""

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from trimtab.checks.combination import Combination, found
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C119",
    name="engine-refused",
    severity="error",
    message="{says}: {tool} refuses to start",
    why="Two parts that do the same work, or one that needs another, are configured together; the tool "
    "stops, often only after the model is loaded.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/validation.py",
            "check_fsdp_deepspeed, check_muon_deepspeed_fsdp, check_activation_offloading_wo_gc, "
            "check_ebft_torch_compile and their like raise.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            '_validate_args: "At most one of fp16 and bf16 can be True, but not both", and that prefetching '
            "needs workers.",
        ),
        Maintainer(
            "https://github.com/hiyouga/LLaMA-Factory/blob/ff6d4d1/src/llamafactory/hparams/parser.py",
            '"GaLore and APOLLO are incompatible with DeepSpeed yet.", and others.',
        ),
        Maintainer(
            "https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/engine.py",
            "_configure_basic_optimizer: \"'max_grad_norm' is not supported as an optimizer parameter\".",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "args.json", '{"output_dir": "out", "per_device_train_batch_size": 8, "bf16": true, "fp16": true}'
    ),
    good=Example("args.json", '{"output_dir": "out", "per_device_train_batch_size": 8, "bf16": true}'),
    symptoms=("ValueError at start", "At most one of fp16 and bf16"),
)

_LOSSES = (
    "cut_cross_entropy",
    "chunked_cross_entropy",
    "liger_cross_entropy",
    "liger_fused_linear_cross_entropy",
)
_FLASH = "flash_adamw|flash_adam|flash_sgd|flash_sgdw|flash_lion"
_OLD_ATTENTION = (
    "flash_attention",
    "sdp_attention",
    "xformers_attention",
    "flex_attention",
    "sage_attention",
    "eager_attention",
)

_HUGGING_FACE = (
    Combination("fp16 bf16", "bf16 and fp16 are both on", "keep bf16, or fp16 on a GPU without bf16"),
    Combination("fp16_full_eval bf16_full_eval", "both 16-bit evaluations are on", "keep one of them"),
    Combination(
        "dataloader_prefetch_factor !dataloader_num_workers",
        "`dataloader_prefetch_factor` without workers",
        "set `dataloader_num_workers` above 0",
    ),
    *(
        Combination(
            f"lr_scheduler_type={schedule} !lr_scheduler_kwargs",
            f"`{schedule}` without its arguments",
            f"set {missing}",
        )
        for schedule, missing in (
            ("cosine_with_min_lr", "`min_lr_rate` or `min_lr` in `lr_scheduler_kwargs`"),
            ("cosine_warmup_with_min_lr", "`min_lr_rate` or `min_lr` in `lr_scheduler_kwargs`"),
            ("warmup_stable_decay", "`num_decay_steps` in `lr_scheduler_kwargs`"),
        )
    ),
    *(
        Combination(
            f"lr_scheduler_type={schedule} eval_strategy=no",
            f"`{schedule}` without evaluation",
            "set `eval_strategy: steps`",
        )
        for schedule in ("reduce_lr_on_plateau", "greedy")
    ),
)
_OF_DEEPSPEED_FILE: Final = (
    "gradient_accumulation_steps", "gradient_clipping", "zero_stage", "offload_optimizer_device",
    "offload_param_device", "offload_optimizer_nvme_path", "offload_param_nvme_path", "zero3_save_16bit_model",
)  # fmt: skip
"""What Accelerate refuses beside `deepspeed_config_file` (`_deepspeed_config_checks` of 1.15)."""
_ROWS: dict[str, tuple[Combination, ...]] = {
    "transformers": _HUGGING_FACE,
    "trl": _HUGGING_FACE,
    "axolotl": (
        Combination("fsdp deepspeed", "DeepSpeed and FSDP are both set", "keep one of them"),
        Combination("deepspeed optimizer=muon", "Muon with DeepSpeed", "use FSDP2, or another optimizer"),
        Combination(
            "deepspeed optimizer=q_galore_adamw8bit",
            "Q-GaLore with DeepSpeed",
            "use FSDP2, or another optimizer",
        ),
        Combination(
            f"deepspeed optimizer={_FLASH}",
            "a flash optimizer with DeepSpeed",
            "use FSDP2, or another optimizer",
        ),
        *(
            Combination(
                f"{one} {other}", f"`{one}` and `{other}` both replace the cross entropy", "keep one of them"
            )
            for one, other in combinations(_LOSSES, 2)
        ),
        Combination(
            "gpu_memory_limit max_memory",
            "`max_memory` and `gpu_memory_limit` are both set",
            "keep one of them",
        ),
        Combination("deepcompile !deepspeed", "`deepcompile` without `deepspeed`", "give a DeepSpeed file"),
        Combination(
            "activation_offloading !gradient_checkpointing",
            "`activation_offloading` without `gradient_checkpointing`",
            "set `gradient_checkpointing: true`",
        ),
        Combination(
            "selective_checkpointing !gradient_checkpointing",
            "`selective_checkpointing` without `gradient_checkpointing`",
            "set `gradient_checkpointing: true`",
        ),
        Combination(
            "selective_checkpointing gradient_checkpointing_kwargs.use_reentrant",
            "`selective_checkpointing` with reentrant checkpointing",
            "set `use_reentrant: false`",
        ),
        Combination(
            "scaling_softmax !attn_implementation=flex_attention !flex_attention",
            "`scaling_softmax` without flex attention",
            "set `attn_implementation: flex_attention`",
        ),
        Combination(
            "torch_compile_options !torch_compile",
            "`torch_compile_options` without `torch_compile`",
            "set `torch_compile: true`",
        ),
        Combination(
            "fp32_norms !fsdp_config",
            "`fp32_norms` without FSDP",
            "give `fsdp_config` with `fsdp_version: 2`",
        ),
        Combination(
            "fp8_enable_fsdp_float8_all_gather !fsdp_version=2",
            "`fp8_enable_fsdp_float8_all_gather` without FSDP2",
            "set `fsdp_version: 2`",
        ),
        Combination(
            "optimizer=adamw_8bit|adamw_bnb_8bit fsdp_config fsdp_version=2",
            "a bitsandbytes optimizer with FSDP2",
            "set `optimizer: adamw_torch_8bit`",
        ),
        *(
            Combination(
                f"{old} attn_implementation", f"`{old}` with `attn_implementation`", f"remove `{old}`"
            )
            for old in _OLD_ATTENTION
        ),
        Combination(
            "torch_compile=true rl=ebft ebft.mode=strided gradient_checkpointing",
            "`torch_compile` with `gradient_checkpointing` in strided EBFT",
            "remove `torch_compile`: flex attention compiles itself",
        ),
        Combination(
            "activation_offloading rl=ebft ebft.mode=strided attn_implementation=flex_attention",
            "`activation_offloading` with flex attention in strided EBFT",
            "remove `activation_offloading`",
        ),
        Combination("rl=ebft !ebft", "`rl: ebft` without its section `ebft`", "give `ebft` with its `mode`"),
        Combination("flash_optimum fp16", "BetterTransformer with AMP", "remove `flash_optimum`"),
        Combination("flash_optimum bf16", "BetterTransformer with AMP", "remove `flash_optimum`"),
    ),
    "llamafactory": (
        *_HUGGING_FACE,
        Combination("use_galore deepspeed", "GaLore with DeepSpeed", "remove one of them"),
        Combination("use_apollo deepspeed", "APOLLO with DeepSpeed", "remove one of them"),
        Combination(
            "quantization_device_map=auto do_train",
            "`quantization_device_map: auto` in training",
            "remove `quantization_device_map`",
        ),
    ),
    "accelerate": (
        *(
            Combination(
                f"deepspeed_config.{key} deepspeed_config.deepspeed_config_file distributed_type=DEEPSPEED",
                f"`{key}` beside `deepspeed_config_file`",
                "set it in the DeepSpeed file alone",
            )
            for key in _OF_DEEPSPEED_FILE
        ),
        Combination(
            "mixed_precision deepspeed_config.deepspeed_config_file distributed_type=DEEPSPEED",
            "`mixed_precision` beside `deepspeed_config_file`",
            "remove it, and set `bf16` or `fp16` in the DeepSpeed file",
        ),
    ),
    "deepspeed": (
        Combination(
            "optimizer.params.max_grad_norm",
            "`max_grad_norm` among the optimizer's parameters",
            "set `gradient_clipping` in its place",
        ),
    ),
}


def check(run: Description) -> Iterator[Diagnosis]:
    """A table a tool."""
    for where, row in found(run, _ROWS.get(run.tool, ())):
        yield RULE.at(where, says=row.says, tool=run.tool, fix=row.fix)
