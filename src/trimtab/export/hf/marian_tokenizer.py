"""The tokenizer as a MarianTokenizer, which runs the very sentencepiece model of the training.

(A model of `tokenizers` built from its pieces splits about one real line in 15,000 otherwise: where two splits are
equally likely it takes the other one.)
"""

from pathlib import Path

from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.tokenizers import Tokenizers
from trimtab.export.plain_files import write_object
from trimtab.export.tokenizer_files import write_models


def write_tokenizer(tokenizers: Tokenizers, folder: Path, *, max_tokens: int) -> None:
    """Writes the models, the ids of their pieces, and `tokenizer_config.json`."""
    source, target = tokenizers.source, tokenizers.target
    write_models(tokenizers, folder, both=True)
    if isinstance(source, FastTokenizer):
        _write_fast(source, folder, max_tokens=max_tokens)
        return
    write_object(folder / "vocab.json", _ids(source))
    if not tokenizers.shared:
        write_object(folder / "target_vocab.json", _ids(target))
    write_object(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "MarianTokenizer",
            "separate_vocabs": not tokenizers.shared,
            "pad_token": target.piece(target.pad),
            "unk_token": target.piece(target.unknown),
            "bos_token": target.piece(target.start),
            "eos_token": target.piece(target.end),
            "additional_special_tokens": list(source.symbols),
            # Without tags nothing in a text is a symbol, even where it is spelled like one.
            "split_special_tokens": not source.symbols,
            "model_max_length": max_tokens,
            # By default version 4 takes spaces before punctuation out of what is translated.
            "clean_up_tokenization_spaces": False,
        },
    )


def _write_fast(tokenizer: FastTokenizer, folder: Path, *, max_tokens: int) -> None:
    """Settings of a byte-level vocabulary, whose file is the library's own."""
    write_object(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": tokenizer.piece(tokenizer.pad),
            "unk_token": tokenizer.piece(tokenizer.unknown),
            "bos_token": tokenizer.piece(tokenizer.start),
            "eos_token": tokenizer.piece(tokenizer.end),
            "additional_special_tokens": list(tokenizer.symbols),
            # Without tags nothing in a text is a symbol, even where it is spelled like one.
            "split_special_tokens": not tokenizer.symbols,
            "model_max_length": max_tokens,
            "clean_up_tokenization_spaces": False,
            "model_input_names": ["input_ids", "attention_mask"],
        },
    )


def _ids(tokenizer: SentencePiece) -> dict[str, int]:
    return {tokenizer.piece(id): id for id in range(tokenizer.num_ids)}
