"""A GGUF file of a Llama that takes milliseconds, with the weights of `pretrained_folder`."""

from pathlib import Path
from typing import Any

import gguf
import torch

from tests.pretrained_folder import SIZES, SYMBOLS, TEMPLATE, fast_tokenizer, tensors
from trimtab.model.gguf_weights import OF_LAYER, OF_MODEL

BACK = {theirs: ours for ours, theirs in OF_MODEL.items()}


def gguf_file(path: Path, **settings: Any) -> Path:
    """Writes it; settings are further ones of the file."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(SIZES["num_hidden_layers"])
    writer.add_context_length(SIZES["max_position_embeddings"])
    writer.add_embedding_length(SIZES["hidden_size"])
    writer.add_feed_forward_length(SIZES["intermediate_size"])
    writer.add_head_count(SIZES["num_attention_heads"])
    writer.add_head_count_kv(SIZES["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(SIZES["rms_norm_eps"])
    writer.add_rope_freq_base(SIZES["rope_theta"])
    writer.add_vocab_size(SIZES["vocab_size"])
    _vocabulary(writer)
    for key, value in settings.items():
        writer.add_string(key, value)
    for name, tensor in tensors({"model_type": "llama", **SIZES}).items():
        writer.add_tensor(name_there(name), side_by_side(name, tensor).contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _vocabulary(writer: gguf.GGUFWriter) -> None:
    pieces = fast_tokenizer().get_vocab(with_added_tokens=True)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(sorted(pieces, key=lambda piece: pieces[piece]))
    writer.add_token_types([3 if id < len(SYMBOLS) else 1 for id in range(len(pieces))])
    writer.add_token_merges(["t h", "th e", "Ġ the"])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)


def name_there(name: str) -> str:
    """The name in GGUF."""
    if name in BACK:
        return BACK[name]
    _, _, number, *rest, kind = name.split(".")
    part = next(ours for ours, theirs in OF_LAYER.items() if theirs == ".".join(rest))
    return f"blk.{number}.{part}.{kind}"


def side_by_side(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Queries and keys in the order of llama.cpp. Source: `permute` of its convert_hf_to_gguf.py."""
    heads = {"q_proj": SIZES["num_attention_heads"], "k_proj": SIZES["num_key_value_heads"]}.get(
        name.split(".")[-2]
    )
    if heads is None:
        return tensor
    halves = tensor.reshape(heads, 2, tensor.shape[0] // heads // 2, *tensor.shape[1:])
    return halves.swapaxes(1, 2).reshape(tensor.shape)
