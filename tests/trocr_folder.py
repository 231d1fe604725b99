"""TrOCR folders that take milliseconds: random weights, an image processor, and a tokenizer of either style."""

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import pre_tokenizers

SIDE = 32
VIT: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48,
    "image_size": SIDE, "patch_size": 8,
}  # fmt: skip
DECODER: dict[str, Any] = {
    "d_model": 32, "decoder_layers": 2, "decoder_attention_heads": 2, "decoder_ffn_dim": 48,
    "max_position_embeddings": 32, "dropout": 0.1, "init_std": 0.3, "bos_token_id": 0, "pad_token_id": 1,
    "eos_token_id": 2, "decoder_start_token_id": 2,
}  # fmt: skip
SMALL: dict[str, Any] = {
    "d_model": 48, "use_learned_position_embeddings": False, "layernorm_embedding": True,
    "tie_word_embeddings": False,
}  # fmt: skip
"""What `trocr-small` has otherwise, beside a DeiT encoder and a tokenizer of sentencepiece."""
OF_FOLDER: dict[str, Any] = {"model": {"kind": "pretrained", "path": "trocr"}, "data.images": None}
"""Changes of `image_run.image_recipe` for a model in the folder `trocr` beside it."""
SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>"]


def trocr_folder(folder: Path, style: str = "base", **changes: Any) -> Path:
    """Writes a model as `trocr-base`, or as `trocr-small`, with these changes of its image processor."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _base_tokenizer() if style == "base" else _small_tokenizer()
    tokenizer.save_pretrained(folder)
    encoder = (transformers.ViTConfig if style == "base" else transformers.DeiTConfig)(**VIT)
    more = {} if style == "base" else SMALL
    decoder = transformers.TrOCRConfig(vocab_size=len(tokenizer), **{**DECODER, **more})
    settings = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    for key in ("decoder_start_token_id", "pad_token_id", "eos_token_id"):
        setattr(settings, key, DECODER[key])
    torch.manual_seed(1)
    network = transformers.VisionEncoderDecoderModel(settings).eval()
    for name, weight in network.named_parameters():
        if weight.ndim > 1 and name.startswith("encoder"):
            weight.data.normal_(0, 0.3)  # so that a text depends on its image
    network.generation_config = transformers.GenerationConfig(
        decoder_start_token_id=2, pad_token_id=1, eos_token_id=2, bos_token_id=0
    )
    network.save_pretrained(folder)
    processor = {
        "image_processor_type": "ViTImageProcessor", "do_resize": True, "do_rescale": True, "do_normalize": True,
        "resample": 2, "rescale_factor": 1 / 255, "image_mean": [0.5, 0.4, 0.3], "image_std": [0.5, 0.6, 0.7],
        "size": {"height": SIDE, "width": SIDE},
    }  # fmt: skip
    (folder / "preprocessor_config.json").write_text(json.dumps({**processor, **changes}))
    return folder


def _base_tokenizer() -> Any:
    names = [*SYMBOLS, *sorted(pre_tokenizers.ByteLevel.alphabet()), "<mask>"]
    return transformers.RobertaTokenizer(vocab={piece: id for id, piece in enumerate(names)}, merges=[])


def _small_tokenizer() -> Any:
    pieces = [*((each, 0.0) for each in SYMBOLS), ("▁", -2.0), *((each, -3.0) for each in "0123456789abc")]
    return transformers.XLMRobertaTokenizer(vocab=pieces)
