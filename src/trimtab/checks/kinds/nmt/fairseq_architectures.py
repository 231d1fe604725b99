"""The sizes that `--arch` stands for in fairseq: what is not written as an option of its own."""

from dataclasses import replace
from typing import Any

from trimtab.checks.keytable import Key, KeyTable, overlaid

_BASE: dict[str, Any] = {
    "encoder-embed-dim": 512, "encoder-ffn-embed-dim": 2048, "encoder-layers": 6, "encoder-attention-heads": 8,
    "encoder-normalize-before": False, "decoder-layers": 6, "decoder-attention-heads": 8,
    "decoder-normalize-before": False, "decoder-learned-pos": False, "dropout": 0.1, "attention-dropout": 0.0,
    "activation-fn": "relu", "share-decoder-input-output-embed": False, "share-all-embeddings": False,
    "no-token-positional-embeddings": False, "checkpoint-activations": False, "max-source-positions": 1024,
    "max-target-positions": 1024,
}  # fmt: skip
_BIG: dict[str, Any] = {
    **_BASE, "encoder-embed-dim": 1024, "encoder-ffn-embed-dim": 4096, "encoder-attention-heads": 16,
    "decoder-attention-heads": 16, "dropout": 0.3,
}  # fmt: skip
_WMT_BIG = {**_BIG, "attention-dropout": 0.1}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "transformer": _BASE,
    "transformer_wmt_en_de": _BASE,
    "transformer_tiny": {
        **_BASE, "encoder-embed-dim": 64, "encoder-ffn-embed-dim": 64, "encoder-layers": 2,
        "encoder-attention-heads": 2, "decoder-layers": 2, "decoder-attention-heads": 2,
    },
    "transformer_iwslt_de_en": {
        **_BASE, "encoder-ffn-embed-dim": 1024, "encoder-attention-heads": 4, "decoder-attention-heads": 4,
    },
    "transformer_vaswani_wmt_en_de_big": _BIG,
    "transformer_vaswani_wmt_en_fr_big": {**_BIG, "dropout": 0.1},
    "transformer_wmt_en_de_big": _WMT_BIG,
    "transformer_wmt_en_de_big_align": _WMT_BIG,
    "transformer_wmt_en_de_big_t2t": {
        **_WMT_BIG, "encoder-normalize-before": True, "decoder-normalize-before": True,
    },
}  # fmt: skip
"""As of 0.12.2 (fairseq/models/transformer/transformer_legacy.py); the decoder is as wide as the encoder."""


def with_architecture(table: KeyTable, name: str) -> KeyTable:
    """The table with the defaults of an architecture; without any of a model where it is not known."""
    known, keys = ARCHITECTURES.get(name), dict[str, Key]()
    for key in _BASE:
        keys[key] = replace(
            table.keys[key], default=known[key] if known else None, has_default=known is not None
        )
    for key in ("decoder-embed-dim", "decoder-ffn-embed-dim"):
        keys[key] = replace(table.keys[key], default=None, has_default=False)
    return overlaid(table, keys)
