"""What trimtab does not do yet, by the words with which people ask for it in a recipe, and what to do instead."""

PRETRAINED = (
    "trimtab cannot fine-tune a pretrained model yet; train a model of your own, or begin with the weights of a run "
    "(`model.warm_start`)"
)
ADAPTERS = "trimtab has no adapters (LoRA) yet; remove the key: all weights are trained"
DEVICES = "trimtab cannot train on several GPUs yet; remove the key: a run takes one GPU, or the CPU"
CHAT = (
    'write each conversation as a line of a .jsonl file, `{"messages": [{"role": ..., "content": ...}, ...]}`, '
    "and name the file as `text`; trimtab writes the messages out in ChatML"
)
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
    **dict.fromkeys(("distributed", "ddp", "fsdp", "deepspeed", "parallel"), DEVICES),
    **dict.fromkeys(("messages", "conversations", "chat", "chat_template"), CHAT),
    **dict.fromkeys(("prompt", "prompts", "completion", "completions", "instruction", "response"), PROMPTS),
}
"""Keys of a recipe."""
BY_KIND = {"pretrained": PRETRAINED, "hf": PRETRAINED, "huggingface": PRETRAINED}
"""Kinds of a model."""


def not_yet(key: str) -> str:
    """What to do about a key that asks for what trimtab lacks so far; empty for any other key. `model.path` is one,
    other paths are not."""
    name = key.rpartition(".")[2].lower()
    if key == "model.path":
        return PRETRAINED
    return BY_KEY.get(name, "")
