"""C118 adapter-refused"""

import re
from collections.abc import Iterator
from typing import Any, cast

from trimtab.checks.combination import Combination, found
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C118",
    name="adapter-refused",
    severity="error",
    message="{says}: {tool} refuses to start",
    why="Quantised weights get no gradient, so they are trained through an adapter, and not every adapter "
    "goes with every quantisation; the tool stops where they do not fit.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/peft.py",
            "validate_adapter and validate_qlora raise; LoRAValidationMixin in validation.py has the other "
            "checks.",
        ),
        Maintainer(
            "https://github.com/hiyouga/LLaMA-Factory/blob/ff6d4d1/src/llamafactory/hparams/parser.py",
            '_verify_model_args: "Quantization is only compatible with the LoRA or OFT method", and others; '
            "finetuning_args.py has those of single methods.",
        ),
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/v0.18.0/src/axolotl/utils/schemas/config.py",
            "'lora_target_modules contains invalid regex pattern(s)'.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "llama.yaml",
        "model_name_or_path: meta-llama/Llama-3.2-1B\nstage: sft\nfinetuning_type: full\ntemplate: llama3\n"
        "dataset: alpaca_en_demo\noutput_dir: out\nquantization_bit: 4\n",
    ),
    good=Example(
        "llama.yaml",
        "model_name_or_path: meta-llama/Llama-3.2-1B\nstage: sft\nfinetuning_type: lora\ntemplate: llama3\n"
        "dataset: alpaca_en_demo\noutput_dir: out\nquantization_bit: 4\n",
    ),
    symptoms=("ValueError at start", "cannot fine-tune a quantized model"),
)

_LORA_ONLY = ("loraplus_lr_ratio", "use_rslora", "use_dora", "pissa_init")
_LOW_RANK = ("use_galore", "use_apollo", "use_badam")
_KERNELS = ("lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel")
_BITS = ("load_in_8bit", "load_in_4bit")

_ROWS: dict[str, tuple[Combination, ...]] = {
    "axolotl": (
        *(
            Combination(
                f"{bits} !adapter !inference",
                f"`{bits}` without an adapter",
                f"set `adapter: qlora` or `lora`, or remove `{bits}` for full training",
            )
            for bits in _BITS
        ),
        Combination(
            "load_in_8bit adapter=qlora",
            "`adapter: qlora` in 8 bits",
            "set `load_in_4bit: true` in its place",
        ),
        Combination("gptq adapter=qlora", "`adapter: qlora` on a GPTQ model", "set `adapter: lora`"),
        Combination(
            "adapter=qlora !load_in_4bit !merge_lora",
            "`adapter: qlora` without `load_in_4bit`",
            "set `load_in_4bit: true`",
        ),
        Combination(
            "flash_attn_fuse_mlp adapter=lora|qlora",
            "`flash_attn_fuse_mlp` with an adapter",
            "remove `flash_attn_fuse_mlp`",
        ),
        *(
            Combination(
                f"{kernel} adapter=lora load_in_8bit", f"`{kernel}` with 8-bit LoRA", f"remove `{kernel}`"
            )
            for kernel in _KERNELS
        ),
        *(
            Combination(
                f"{kernel} trust_remote_code",
                f"`{kernel}` with `trust_remote_code`",
                f"set `{kernel}: false`",
            )
            for kernel in _KERNELS
        ),
        Combination(
            "lr_groups loraplus_lr_ratio",
            "`lr_groups` and `loraplus_lr_ratio` are both set",
            "keep one of them",
        ),
        Combination(
            "peft_layers_pattern !peft_layers_to_transform",
            "`peft_layers_pattern` without `peft_layers_to_transform`",
            "set `peft_layers_to_transform`",
        ),
        Combination(
            "unfrozen_parameters adapter peft_layers_to_transform",
            "`unfrozen_parameters` with `peft_layers_to_transform`",
            "keep one of them",
        ),
        Combination(
            "unfrozen_parameters gradient_checkpointing_kwargs.use_reentrant",
            "`unfrozen_parameters` with reentrant checkpointing",
            "set `use_reentrant: false`",
        ),
        Combination(
            "lora_dropout lora_target_parameters",
            "`lora_dropout` with `lora_target_parameters`",
            "set `lora_dropout: 0`",
        ),
        *(
            Combination(
                f"{bits} model_quantization_config",
                f"`{bits}` and `model_quantization_config` are both set",
                f"remove `{bits}`",
            )
            for bits in _BITS
        ),
        *(Combination(f"{bits} qat", f"`{bits}` with `qat`", f"remove `{bits}`") for bits in _BITS),
        Combination(
            "relora !jagged_restart_steps",
            "`relora` without `jagged_restart_steps`",
            "set `jagged_restart_steps`",
        ),
        *(
            Combination(f"relora {engine}", f"`relora` with {engine}", f"remove `{engine}`")
            for engine in ("fsdp", "deepspeed")
        ),
        Combination(
            "relora lr_scheduler=one_cycle", "`relora` with `one_cycle`", "set `lr_scheduler: cosine`"
        ),
        Combination(
            "adapter optimizer=q_galore_adamw8bit",
            "`q_galore_adamw8bit` with an adapter",
            "take another optimizer",
        ),
        Combination(
            "quantize_moe_experts lora_target_linear",
            "`quantize_moe_experts` with `lora_target_linear`",
            "use `lora_target_parameters`",
        ),
    ),
    "llamafactory": (
        Combination(
            "adapter_name_or_path finetuning_type!=lora",
            "`adapter_name_or_path` with a method that is not lora",
            "set `finetuning_type: lora`",
        ),
        Combination(
            "quantization_bit finetuning_type!=lora|oft",
            "`quantization_bit` with a method that trains the quantised weights",
            "set `finetuning_type: lora`, or remove `quantization_bit`",
        ),
        *(
            Combination(
                f"{option} quantization_bit", f"`{option}` on a quantised model", f"remove `{option}`"
            )
            for option in ("pissa_init", "resize_vocab", "fp8")
        ),
        Combination(
            "create_new_adapter quantization_bit adapter_name_or_path",
            "`create_new_adapter` on a quantised model that has an adapter",
            "merge the adapter first",
        ),
        Combination(
            "use_llama_pro finetuning_type=full",
            "`use_llama_pro` with full training",
            "set `finetuning_type: freeze`",
        ),
        *(
            Combination(
                f"{option} finetuning_type=lora", f"`{option}` with LoRA", "set `finetuning_type: full`"
            )
            for option in _LOW_RANK
        ),
        *(
            Combination(
                f"{option} !finetuning_type",
                f"`{option}` with LoRA, which is the default",
                "set `finetuning_type: full`",
            )
            for option in _LOW_RANK
        ),
        *(
            Combination(
                f"{option} finetuning_type!=lora",
                f"`{option}` with a method that is not lora",
                f"remove `{option}`",
            )
            for option in _LORA_ONLY
        ),
        Combination("use_galore use_apollo", "`use_galore` and `use_apollo` are both on", "keep one of them"),
        Combination("use_galore use_badam", "`use_galore` and `use_badam` are both on", "keep one of them"),
        Combination("use_apollo use_badam", "`use_apollo` and `use_badam` are both on", "keep one of them"),
    ),
    "eole": tuple(
        Combination(
            f"training.lora_embedding training.freeze_{side}",
            f"`lora_embedding` with `freeze_{side}`",
            f"remove `freeze_{side}`",
        )
        for side in ("encoder", "decoder")
    ),
}


def check(run: Description) -> Iterator[Diagnosis]:
    """A table a tool."""
    for where, row in found(run, _ROWS.get(run.tool, ())):
        yield RULE.at(where, says=row.says, tool=run.tool, fix=row.fix)
    yield from _patterns(run)


def _patterns(run: Description) -> Iterator[Diagnosis]:
    """Axolotl compiles each target module as a regular expression before it loads anything."""
    targets = run.written("lora_target_modules") if run.tool == "axolotl" else None
    value: Any = targets.value if targets is not None else None
    if targets is None or not isinstance(value, list) or run.at_least("axolotl", 0, 18) is False:
        return
    for name in cast("list[Any]", value):
        try:
            re.compile(name if isinstance(name, str) else "")
        except (re.error, OverflowError, RecursionError) as error:
            says = f"`{name}` in `lora_target_modules` is no regular expression ({error})"
            fix = "write the module's name as it is, or mend the expression"
            yield RULE.at(targets, says=says, tool=run.tool, fix=fix)
            return
