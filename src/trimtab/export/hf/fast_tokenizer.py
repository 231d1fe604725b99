"""The tokenizer of a language model as `tokenizer.json`, which the tools around Llama read.

(Where two splits of a unigram model are equally likely, the library behind it takes the other one: about one line in
15,000. The proof of an export compares real lines.)
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trimtab.export.hf.sentencepiece_spec import PieceSpec, SentencePieceSpec
from trimtab.export.plain_files import write_object
from trimtab.types import Tokenizer

SPACE = "▁"
OUT_OF_TEXT = 1e4
"""How much less likely than every piece a symbol is that no text may become."""


def write_fast_tokenizer(
    built: Any, tokenizer: Tokenizer, names: Sequence[str], folder: Path, *, window: int
) -> None:
    """Writes `tokenizer.json` and `tokenizer_config.json`; `names` are the spellings of pad, unknown, start and end.

    It puts the start symbol before a text and no end symbol behind it, so that a model continues from what it reads.
    """
    from tokenizers import AddedToken, processors

    pad, unknown, start, end = names
    built.add_special_tokens(
        [AddedToken(each, special=True, normalized=False) for each in dict.fromkeys(names)]
    )
    built.post_processor = processors.TemplateProcessing(
        single=f"{start} $A", pair=f"{start} $A {start} $B", special_tokens=[(start, tokenizer.start)]
    )
    built.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": pad,
        "unk_token": unknown,
        "bos_token": start,
        "eos_token": end,
        # What is spelled like a symbol in a text is text.
        "split_special_tokens": True,
        "model_max_length": window,
        "padding_side": "left",
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
    }
    write_object(folder / "tokenizer_config.json", settings)


def of_sentencepiece(spec: SentencePieceSpec, *, unknown: int) -> Any:
    """A `tokenizers.Tokenizer` that splits as the sentencepiece model does, without its symbols."""
    from tokenizers import Regex, Tokenizer, decoders, normalizers

    built = Tokenizer(_unigram(spec, unknown) if spec.model == "unigram" else _bpe(spec, unknown))
    steps: list[Any] = []
    if spec.character_map:
        steps.append(normalizers.Precompiled(spec.character_map))
    if spec.fewer_spaces:
        steps += [normalizers.Replace(Regex("^ +| +$"), ""), normalizers.Replace(Regex(" {2,}"), " ")]
    if spec.dummy_prefix:
        steps.append(normalizers.Prepend(SPACE))
    if spec.spaces_written:
        steps.append(normalizers.Replace(" ", SPACE))
    built.normalizer = normalizers.Sequence(steps)
    back: list[Any] = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if spec.dummy_prefix:
        back.append(decoders.Strip(" ", 1, 0))
    built.decoder = decoders.Sequence(back)
    return built


def of_bytes(ids: Sequence[int], names: dict[str, int]) -> Any:
    """A `tokenizers.Tokenizer` of bytes alone: `ids[b]` is the id of byte b, `names` are symbols with their ids."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = _letters_of_bytes()
    vocabulary = {**{letters[byte]: id for byte, id in enumerate(ids)}, **names}
    built = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    built.decoder = decoders.ByteLevel()
    return built


def _unigram(spec: SentencePieceSpec, unknown: int) -> Any:
    from tokenizers import models

    lowest = min(each.score for each in spec.pieces if each.sort == "normal")

    def score(piece: PieceSpec) -> float:
        return piece.score if piece.sort in ("normal", "user") else lowest - OUT_OF_TEXT

    vocabulary = [(each.text, score(each)) for each in spec.pieces]
    return models.Unigram(vocabulary, unk_id=unknown, byte_fallback=_has_bytes(spec))


def _bpe(spec: SentencePieceSpec, unknown: int) -> Any:
    """Every pair of pieces that makes a third one, the likeliest first: sentencepiece joins whatever is a piece."""
    from tokenizers import models

    known = {each.text: id for id, each in enumerate(spec.pieces)}
    joined = {each.text for each in spec.pieces if each.sort == "normal"}
    merges: list[tuple[str, str]] = []
    ranked = sorted((-each.score, id) for id, each in enumerate(spec.pieces) if each.sort == "normal")
    for _, id in ranked:
        text = spec.pieces[id].text
        splits = ((text[:place], text[place:]) for place in range(1, len(text)))
        merges += [pair for pair in splits if joined.issuperset(pair)]
    return models.BPE(
        vocab=known,
        merges=merges,
        unk_token=spec.pieces[unknown].text,
        fuse_unk=True,
        byte_fallback=_has_bytes(spec),
    )


def _has_bytes(spec: SentencePieceSpec) -> bool:
    return sum(each.sort == "byte" for each in spec.pieces) == 256


def _letters_of_bytes() -> list[str]:
    """The character by which byte-level vocabularies write each byte: itself where it can be seen, else one from 256
    on. Source: GPT-2, `bytes_to_unicode`."""
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = iter(range(256, 512))
    return [chr(byte) if byte in seen else chr(next(hidden)) for byte in range(256)]
