"""Keys of other tools that change neither model nor data: logs, kernels, memory, folders of their own.

Where what they switch off or leave empty is written, nothing is lost either: see `says_nothing`.
"""

from fnmatch import fnmatchcase
from typing import Any

from trimtab.checks.keytable import KeyTable
from trimtab.checks.setting import Setting

PATTERNS: dict[str, tuple[str, ...]] = {
    "axolotl": (
        "logging_steps", "tf32", "dataset_prepared_path", "dataset_processes", "dataset_keep_in_memory",
        "dataset_shard_*", "dataset_exact_deduplication", "wandb_*", "mlflow_*", "comet_*", "use_mlflow", "use_wandb",
        "use_tensorboard", "use_comet", "attn_implementation", "flash_attention", "flash_attn_*", "sdp_attention",
        "xformers_attention", "eager_attention", "sage_attention", "flex_attention", "s2_attention", "plugins",
        "plugins.*", "liger_*", "cut_cross_entropy", "chunked_cross_entropy*", "lora_mlp_kernel", "lora_qkv_kernel",
        "lora_o_kernel", "lora_embedding_kernel", "eval_sample_packing", "eval_batch_size", "pad_to_sequence_len",
        "gradient_checkpointing_kwargs*", "activation_offloading", "special_tokens.pad_token", "special_tokens",
        "tokenizer_type", "tokenizer_use_fast", "tokenizer_legacy", "model_type", "is_*_derived_model", "strict",
        "debug", "ddp", "ddp_*", "torch_compile*", "save_safetensors", "save_only_model", "save_first_step",
        "low_cpu_mem_usage", "hub_*", "dataloader_*", "shuffle_merged_datasets", "remove_unused_columns",
        "skip_prepare_dataset", "torchdistx_path", "device_map", "max_memory", "include_tokens_per_second",
        "group_by_length", "load_best_model_at_end", "lora_fan_in_fan_out", "sample_packing_*", "trust_remote_code",
        "shuffle_before_merging_datasets", "bf16", "fp16", "optim_target_modules", "profiler_steps*", "gc_steps",
        "flash_optimum", "special_tokens.unk_token", "experimental_skip_move_to_device", "base_model_config",
    ),
    "llamafactory": (
        "do_train", "do_eval", "logging_*", "log_level*", "plot_loss", "overwrite_output_dir", "overwrite_cache",
        "preprocessing_*", "dataloader_*", "ddp_*", "save_only_model", "save_safetensors", "run_name", "cache_dir",
        "use_fast_tokenizer", "flash_attn", "enable_liger_kernel", "use_unsloth", "use_unsloth_gc", "include_*",
        "per_device_eval_batch_size", "double_quantization", "quantization_method", "quantization_type",
        "low_cpu_mem_usage", "torch_empty_cache_steps", "disable_tqdm", "tokenized_path", "hub_*", "push_to_hub",
        "remove_unused_columns", "trust_remote_code", "load_best_model_at_end", "swanlab_*", "use_swanlab", "tf32",
        "use_cache", "print_param_status", "upcast_*", "disable_gradient_checkpointing", "use_reentrant_gc",
        "image_max_pixels", "video_max_pixels", "bf16", "fp16", "optim", "dataset_dir", "eval_on_start",
        "predict_with_generate", "ray_*", "resources_per_worker*", "placement_strategy", "flash_attn_version",
    ),
}  # fmt: skip


def is_without_effect(tool: str, setting: Setting) -> bool:
    """Whether a setting changes nothing that is learned."""
    return any(fnmatchcase(setting.key, pattern) for pattern in PATTERNS.get(tool, ()))


def says_nothing(setting: Setting, table: KeyTable | None) -> bool:
    """Whether a setting is empty, or the tool's own default."""
    value: Any = setting.value
    if value is None or value in ("", [], {}):
        return True
    known = table.key(setting.key) if table is not None else None
    if known is not None and known.has_default:
        return bool(known.default == value)
    return value is False
