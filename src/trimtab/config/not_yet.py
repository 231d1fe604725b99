"""What trimtab does not do yet or calls otherwise, by the words with which people ask for it in a recipe, and what to
write instead."""

PRETRAINED = (
    "write `model: {kind: pretrained, path: DIR_OR_HUB_NAME}` for a Llama, Mistral or Qwen, with "
    "`task: language_model`, or begin with the weights of a run (`model.warm_start`)"
)
PACKED = (
    "write `adapter: {kind: lora, quantize_base: nf4}`: frozen weights in 4 bits beside an adapter (QLoRA)"
)
ADAPTERS = "write `adapter: {kind: lora, rank: 16}`, beside `model: {kind: pretrained, path: ...}`"
DEVICES = (
    "remove the key: the launcher says how many processes there are, `torchrun --nproc-per-node N -m trimtab train "
    "RECIPE`, and each takes a GPU of its own; `parallel: {kind: fsdp}` shards the model across them"
)
CHAT = (
    'write each conversation as a line of a .jsonl file, `{"messages": [{"role": ..., "content": ...}, ...]}`, '
    "and name the file as `text`; trimtab writes the messages out in ChatML"
)
TRACKERS = "write `log: [wandb]` at the top level of the recipe, with tensorboard, wandb, mlflow or trackio"
PROMPTS = (
    "write `pairs: FILE.jsonl, source: prompt, target: completion`; the source is read, "
    "and does not count in the loss"
)

BY_KEY = {
    **dict.fromkeys(("pretrained", "base_model", "model_name_or_path", "model_name"), PRETRAINED),
    **dict.fromkeys(
        (
            *(
                "adapter",
                "adapters",
                "lora",
                "qlora",
                "peft",
                "peft_config",
                "lora_r",
                "lora_alpha",
                "lora_rank",
            ),
            *("lora_dropout", "lora_target_modules", "lora_target", "lora_target_linear", "target_modules"),
            *("use_dora", "use_rslora", "peft_use_dora", "peft_use_rslora"),
        ),
        ADAPTERS,
    ),
    **dict.fromkeys(("load_in_4bit", "load_in_8bit", "quantization_bit", "bnb_4bit_quant_type"), PACKED),
    **dict.fromkeys(
        ("devices", "device", "gpus", "num_gpus", "world_size", "num_processes", "nodes", "num_nodes"),
        DEVICES,
    ),
    **dict.fromkeys(("distributed", "ddp", "fsdp", "deepspeed"), DEVICES),
    **dict.fromkeys(
        (
            "report_to",
            "log_with",
            "logger",
            "loggers",
            "use_wandb",
            "wandb_project",
            "wandb",
            "tensorboard",
            "mlflow",
        ),
        TRACKERS,
    ),
    **dict.fromkeys(("messages", "conversations", "chat", "chat_template"), CHAT),
    **dict.fromkeys(("prompt", "prompts", "completion", "completions", "instruction", "response"), PROMPTS),
}
"""Keys of a recipe."""
_RANK, _PACKED = "write `rank`, trimtab's name for it", "write `quantize_base: nf4`, for a base in 4 bits"
_TARGETS = "write `targets`, trimtab's name for it: `all_linear`, or names such as `[q_proj, v_proj]`"
_ONE_RANK = "remove it: all maps have one rank and one alpha; `targets` chooses among them"
IN_ADAPTER = {
    **dict.fromkeys(("r", "lora_r", "lora_rank", "lora_dim"), _RANK),
    "lora_alpha": "write `alpha`, trimtab's name for it; its default is the rank",
    **dict.fromkeys(
        ("lora_dropout", "adapter_dropout"),
        "remove it: adapters have no dropout here; if one overfits, train for fewer steps",
    ),
    **dict.fromkeys(
        ("target_modules", "lora_target_modules", "lora_target", "lora_target_linear", "target", "modules"),
        _TARGETS,
    ),
    **dict.fromkeys(("use_dora", "peft_use_dora"), "write `dora`, trimtab's name for it"),
    **dict.fromkeys(("use_rslora", "peft_use_rslora"), "write `rslora`, trimtab's name for it"),
    **dict.fromkeys(
        ("qlora", "load_in_4bit", "load_in_8bit", "quantization_bit", "quantization", "bits", "quantize"),
        _PACKED,
    ),
    **dict.fromkeys(
        ("modules_to_save", "lora_modules_to_save", "additional_target"),
        "write `embeddings: train`, which trains the embeddings and the output matrix; the head of a classifier is "
        "always trained",
    ),
    **dict.fromkeys(
        ("rank_pattern", "alpha_pattern", "layers_to_transform", "layers_pattern", "exclude_modules"),
        _ONE_RANK,
    ),
    "loraplus_lr_ratio": "write `step.optimizer.learning_rate_multipliers: {lora_b: 16}`",
    "bias": "remove it: biases stay frozen beside an adapter",
    **dict.fromkeys(("type", "peft_type", "method", "finetuning_type"), "write `kind: lora`"),
    "task_type": "remove it: `task` of the recipe says it",
    **dict.fromkeys(
        ("init_lora_weights", "peft_init_lora_weights"),
        "remove it: one matrix starts at random and the other at zero, PEFT's default",
    ),
    **dict.fromkeys(
        ("base_model_name_or_path", "base_model"), "remove it: `model.path` names the model that is adapted"
    ),
}
"""Keys of `adapter`, by the words of PEFT, Axolotl and LLaMA-Factory."""
BY_KIND = {
    "hf": PRETRAINED,
    "huggingface": PRETRAINED,
    "adapter.qlora": "write `adapter: {kind: lora, quantize_base: nf4}`",
    "adapter.dora": "write `adapter: {kind: lora, dora: true}`",
    "adapter.rslora": "write `adapter: {kind: lora, rslora: true}`",
}
"""Kinds of a model, and of an adapter."""


def not_yet(key: str) -> str:
    """What to do about a key that asks for what trimtab lacks so far or calls otherwise; empty for any other key."""
    group, _, name = key.lower().rpartition(".")
    if group == "adapter":
        return IN_ADAPTER.get(name, "")
    return BY_KEY.get(name, "")
