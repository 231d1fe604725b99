"""`config.json` and `generation_config.json`: the shape of the model, and the search of the trainer."""

from pathlib import Path
from typing import Any

from trimtab.export.target import Trained

BEAM = 4


def write_settings(trained: Trained, folder: Path) -> None:
    """Writes both files as transformers itself does."""
    from transformers import GenerationConfig, MarianConfig, PegasusConfig

    pre_norm = trained.recipe.model.norm_position == "before"
    config = (
        PegasusConfig(**shape(trained)) if pre_norm else MarianConfig(**shape(trained), **sharing(trained))
    )
    config.architectures = ["PegasusForConditionalGeneration" if pre_norm else "MarianMTModel"]
    config.save_pretrained(folder)
    GenerationConfig(**search(trained)).save_pretrained(folder)


def shape(trained: Trained) -> dict[str, Any]:
    """Sizes and symbols that both classes have."""
    config, symbols = trained.recipe.model, trained.tokenizer
    return {
        "vocab_size": trained.tokenizers.source.num_ids,
        "max_position_embeddings": trained.model.max_positions,
        "d_model": config.dim,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.encoder.heads,
        "decoder_attention_heads": config.decoder.heads,
        "encoder_ffn_dim": config.encoder.feed_forward,
        "decoder_ffn_dim": config.decoder.feed_forward,
        "activation_function": config.activation,
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "scale_embedding": True,
        "tie_word_embeddings": config.tie_embeddings != "none",
        "pad_token_id": symbols.pad,
        "bos_token_id": symbols.start,
        "eos_token_id": symbols.end,
        "decoder_start_token_id": symbols.start,
        # Both classes have one of their own by default, which would end translations with another symbol.
        "forced_eos_token_id": None,
    }


def sharing(trained: Trained) -> dict[str, Any]:
    """Which matrices of a MarianMTModel are one."""
    return {
        "share_encoder_decoder_embeddings": trained.recipe.model.tie_embeddings == "all",
        "decoder_vocab_size": trained.tokenizer.num_ids,
    }


def search(trained: Trained) -> dict[str, Any]:
    """Beam search as `trimtab translate` does it: scores divided by the length, the end symbol included; no open
    hypothesis given up that could still win; no padding, start or unknown symbol written."""
    symbols = trained.tokenizer
    never = {symbols.pad, symbols.start, symbols.unknown} - {symbols.end}
    return {
        "num_beams": BEAM,
        "length_penalty": 1.0,
        "early_stopping": "never",
        # The start symbol counts here.
        "max_length": trained.recipe.data.max_tokens + 1,
        "suppress_tokens": sorted(never),
        "pad_token_id": symbols.pad,
        "bos_token_id": symbols.start,
        "eos_token_id": symbols.end,
        "decoder_start_token_id": symbols.start,
        "forced_eos_token_id": None,
    }
