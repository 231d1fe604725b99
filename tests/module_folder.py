"""Pretrained models of transformers that take milliseconds: a folder for each family, with the files that its own
classes write: random weights, and a tokenizer of the twenty words of `small_run`."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
import transformers
from tokenizers import pre_tokenizers
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

from tests.small_run import WORDS

SMALL: dict[str, Any] = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
    "dropout": 0.1,
    "attention_dropout": 0.1,
    "init_std": 0.3,
}
T5: dict[str, Any] = {
    "d_model": 32, "d_kv": 16, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2, "d_ff": 48,
    "dropout_rate": 0.1, "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1,
}  # fmt: skip
LETTERS = sorted({letter for pair in WORDS.items() for word in pair for letter in word})
BERT: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48,
    "max_position_embeddings": 64, "hidden_dropout_prob": 0.1,
}  # fmt: skip
SEQ2SEQ = ("marian", "pegasus", "m2m_100", "nllb", "mbart", "mbart50", "bart", "t5", "mt5", "umt5")
ENCODERS = ("bert", "roberta", "xlm-roberta", "distilbert")
LANGUAGES: dict[str, dict[str, str]] = {
    "m2m_100": {"source_language": "en", "target_language": "de"},
    "nllb": {"source_language": "eng_Latn", "target_language": "deu_Latn"},
    "mbart": {"source_language": "en_XX", "target_language": "de_DE"},
    "mbart50": {"source_language": "en_XX", "target_language": "de_DE"},
}
"""What `data.tokenizer` has to say for a family."""


def families(names: tuple[str, ...], *, quick: tuple[str, ...]) -> list[Any]:
    """Families to try in the quick suite, and the others marked `slow`."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in names]


def module_folder(folder: Path, family: str, *, dtype: torch.dtype = torch.float32, **changes: Any) -> Path:
    """Writes a model of a family, with these changes of its settings, and its tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = TOKENIZERS[family](folder)
    network = network_of(family, vocab_size=rows, **changes)
    if hasattr(network, "final_logits_bias") and family in ("marian", "bart"):
        # As OPUS has one.
        network.final_logits_bias.data.copy_(torch.linspace(-1, 1, rows)[None])
    if family == "mt5":  # as Flan-T5, mT5 and MADLAD, whose output has a matrix of its own
        network.lm_head.weight = torch.nn.Parameter(network.shared.weight.detach().flip(0).clone())
    network.to(dtype).save_pretrained(folder)
    if family == "mt5":
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "tie_word_embeddings": False}))
    if family == "bart":
        # As BART of the hub says it; version 5 of transformers does not write it again.
        path = folder / "generation_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "forced_bos_token_id": 0}))
    return folder


def network_of(family: str, **changes: Any) -> Any:
    """A module with random weights, the same each time."""
    config, model = CLASSES[family]
    torch.manual_seed(1)
    kind = T5 if family.endswith("t5") else BERT if family in ENCODERS else SMALL
    settings = {**kind, **SETTINGS.get(family, {}), **changes}
    if family in ("marian", "pegasus"):  # padding is the last id, and what a decoder starts from
        last = settings["vocab_size"] - 1
        settings |= {"pad_token_id": last, "decoder_start_token_id": last, "eos_token_id": 0}
    if family == "marian":
        settings["decoder_vocab_size"] = settings["vocab_size"]
    return model(config(**settings)).eval()


def oracle(folder: Path) -> Any:
    """The model in a folder as transformers opens it."""
    said = json.loads((folder / "config.json").read_text())["architectures"][0]
    return getattr(transformers, said).from_pretrained(folder, local_files_only=True).eval()


def oracle_tokenizer(folder: Path, family: str) -> Any:
    """The tokenizer in a folder as transformers opens it, with the languages of `LANGUAGES`."""
    codes = LANGUAGES.get(family, {})
    more = {"src_lang": codes["source_language"], "tgt_lang": codes["target_language"]} if codes else {}
    return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, **more)


def _sentencepiece(folder: Path, name: str, words: list[str]) -> sentencepiece.SentencePieceProcessor:
    held = io.BytesIO()
    lines = [" ".join(words), *words]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines * 3), model_writer=held, vocab_size=45, model_type="bpe",
        character_coverage=1.0, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    (folder / name).write_bytes(held.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=held.getvalue())


def _marian(folder: Path) -> int:
    pieces = []
    for name, words in (("source.spm", list(WORDS)), ("target.spm", list(WORDS.values()))):
        made = _sentencepiece(folder, name, words)
        pieces += [made.id_to_piece(id) for id in range(3, made.vocab_size())]
    names = ["</s>", "<unk>", *dict.fromkeys(pieces), ">>deu<<", ">>nld<<", "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: id for id, piece in enumerate(names)}))
    transformers.MarianTokenizer(
        str(folder / "source.spm"), str(folder / "target.spm"), str(folder / "vocab.json")
    ).save_pretrained(folder)
    return len(names)


def _m2m_100(folder: Path) -> int:
    made = _sentencepiece(folder, "sentencepiece.bpe.model", [*WORDS, *WORDS.values()])
    names = ["<s>", "<pad>", "</s>", "<unk>", *(made.id_to_piece(id) for id in range(3, made.vocab_size()))]
    (folder / "vocab.json").write_text(json.dumps({piece: id for id, piece in enumerate(names)}))
    transformers.M2M100Tokenizer(
        str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model")
    ).save_pretrained(folder)
    # As the folder of the hub lists them; version 5 of transformers forgets to.
    codes = [f"__{code}__" for code in FAIRSEQ_LANGUAGE_CODES["m2m100"]]
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": codes}))
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "additional_special_tokens": codes}))
    return len(names) + len(codes) + 8


def _nllb(folder: Path) -> int:
    codes = ["eng_Latn", "deu_Latn"]
    names = ["<s>", "<pad>", "</s>", "<unk>", "▁", *LETTERS, *codes, "<mask>"]
    tokenizer = transformers.NllbTokenizer(
        vocab={piece: id for id, piece in enumerate(names)}, merges=[], extra_special_tokens=codes,
        src_lang="eng_Latn",
    )  # fmt: skip
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


def _mbart(folder: Path) -> int:
    tokenizer = transformers.MBartTokenizer(
        vocab=_unigram("<s>", "<pad>", "</s>", "<unk>"), src_lang="en_XX", tgt_lang="de_DE"
    )
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


def _mbart50(folder: Path) -> int:
    tokenizer = transformers.MBart50Tokenizer(
        vocab=_unigram("<s>", "<pad>", "</s>", "<unk>"), src_lang="en_XX", tgt_lang="de_DE"
    )
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


def _t5(folder: Path) -> int:
    tokenizer = transformers.T5Tokenizer(
        vocab=_unigram("<pad>", "</s>", "<unk>", more=("<2de>",)), extra_ids=3
    )
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


def _bart(folder: Path) -> int:
    names = ["<s>", "<pad>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "<mask>"]
    tokenizer = transformers.RobertaTokenizer(vocab={piece: id for id, piece in enumerate(names)}, merges=[])
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


def _bert(folder: Path) -> int:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{each}" for each in LETTERS)]
    tokenizer = transformers.BertTokenizer(vocab={piece: id for id, piece in enumerate(names)})
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


def _unigram(*symbols: str, more: tuple[str, ...] = ()) -> list[tuple[str, float]]:
    words = [f"▁{word}" for pair in WORDS.items() for word in pair]
    pieces = [
        *((word, -3.0) for word in dict.fromkeys(words)),
        ("▁", -4.0),
        *((each, -5.0) for each in LETTERS),
    ]
    return [*((each, 0.0) for each in symbols), *pieces, *((each, -9.0) for each in more)]


TOKENIZERS = {
    "marian": _marian, "pegasus": _marian, "m2m_100": _m2m_100, "nllb": _nllb, "mbart": _mbart,
    "mbart50": _mbart50, "bart": _bart, "t5": _t5, "mt5": _t5, "umt5": _t5, "bert": _bert, "distilbert": _bert,
    "roberta": _bart, "xlm-roberta": _bart,
}  # fmt: skip
CLASSES: dict[str, tuple[Any, Any]] = {
    "marian": (transformers.MarianConfig, transformers.MarianMTModel),
    "pegasus": (transformers.PegasusConfig, transformers.PegasusForConditionalGeneration),
    "m2m_100": (transformers.M2M100Config, transformers.M2M100ForConditionalGeneration),
    "nllb": (transformers.M2M100Config, transformers.M2M100ForConditionalGeneration),
    "mbart": (transformers.MBartConfig, transformers.MBartForConditionalGeneration),
    "mbart50": (transformers.MBartConfig, transformers.MBartForConditionalGeneration),
    "bart": (transformers.BartConfig, transformers.BartForConditionalGeneration),
    "t5": (transformers.T5Config, transformers.T5ForConditionalGeneration),
    "mt5": (transformers.MT5Config, transformers.MT5ForConditionalGeneration),
    "umt5": (transformers.UMT5Config, transformers.UMT5ForConditionalGeneration),
    "bert": (transformers.BertConfig, transformers.BertModel),
    "roberta": (transformers.RobertaConfig, transformers.RobertaModel),
    "xlm-roberta": (transformers.XLMRobertaConfig, transformers.XLMRobertaModel),
    "distilbert": (transformers.DistilBertConfig, transformers.DistilBertModel),
}
_FAIRSEQ = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
_DISTILBERT = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 48, "dropout": 0.1, "pad_token_id": 0}
SETTINGS: dict[str, dict[str, Any]] = {
    "marian": {"forced_eos_token_id": 0},
    "m2m_100": {**_FAIRSEQ, "encoder_layerdrop": 0.5, "scale_embedding": True},
    "nllb": {**_FAIRSEQ, "scale_embedding": True},
    "mbart": {**_FAIRSEQ, "decoder_start_token_id": None, "scale_embedding": True},
    "mbart50": _FAIRSEQ,
    "bart": {**_FAIRSEQ, "forced_bos_token_id": 0, "forced_eos_token_id": 2},
    "mt5": {"tie_word_embeddings": False},
    "roberta": {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2},
    "xlm-roberta": {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2},
    "distilbert": _DISTILBERT,
}
