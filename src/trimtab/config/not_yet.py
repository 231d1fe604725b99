"""What trimtab does not do yet or calls otherwise, by the words with which people ask for it in a recipe, and what to
write instead."""

PRETRAINED = (
    "write `model: {kind: pretrained, path: DIR_OR_HUB_NAME}` for a Llama, Mistral or Qwen, with "
    "`task: language_model`, or begin with the weights of a run (`model.warm_start`)"
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
        ("adapter", "adapters", "lora", "qlora", "peft", "peft_config", "lora_r", "lora_alpha"), ADAPTERS
    ),
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
BY_KIND = {"hf": PRETRAINED, "huggingface": PRETRAINED}
"""Kinds of a model."""


def not_yet(key: str) -> str:
    """What to do about a key that asks for what trimtab lacks so far or calls otherwise; empty for any other key."""
    name = key.rpartition(".")[2].lower()
    return BY_KEY.get(name, "")
