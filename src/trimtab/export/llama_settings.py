"""`config.json` and `generation_config.json` of a language model, written as transformers itself does."""

import json
from pathlib import Path

from trimtab.config.decoder_model import DecoderModel
from trimtab.engines.llama_shape import class_name, generation, shape
from trimtab.flow import Tokenizer


def write_settings(config: DecoderModel, tokenizer: Tokenizer, folder: Path, *, window: int) -> None:
    """Writes both files; `window` is the most tokens that the model has learned to read."""
    from transformers import GenerationConfig, LlamaConfig, Qwen3Config

    settings = (Qwen3Config if config.qk_norm else LlamaConfig)(**shape(config, tokenizer, window=window))
    settings.architectures = [class_name(config)]
    settings.save_pretrained(folder)
    _add_theta(folder / "config.json", config.rope_theta)
    GenerationConfig(**generation(tokenizer)).save_pretrained(folder)


def _add_theta(path: Path, theta: float) -> None:
    """Version 5 of transformers writes it under `rope_parameters` alone, where 4 and other tools do not look."""
    settings = {**json.loads(path.read_text(encoding="utf-8")), "rope_theta": theta}
    path.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")
