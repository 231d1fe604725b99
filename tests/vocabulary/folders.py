"""Small models of Hugging Face's families in folders, with tokenizers that are trained on the demo's sample."""

import io
import json
import lzma
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import sentencepiece
import torch

LINES = 1500


@cache
def lines(side: int = 0, *, name: str = "train.tsv.xz", count: int = LINES) -> tuple[str, ...]:
    """Real lines: English (0) or German (1)."""
    text = lzma.decompress((files("trimtab.demo") / "data" / name).read_bytes()).decode()
    return tuple(line.split("\t")[side] for line in text.splitlines()[:count])


@cache
def spm(kind: str = "unigram", size: int = 700, *, side: int | None = None, **options: Any) -> bytes:
    """A sentencepiece model of both languages, or of one."""
    found = [*lines(0), *lines(1)] if side is None else [*lines(side)]
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(found),
        model_writer=out,
        model_type=kind,
        vocab_size=size,
        minloglevel=2,
        num_threads=2,
        **options,
    )
    return out.getvalue()


def write_text(path: Path, text: Sequence[str]) -> Path:
    """A file of lines."""
    path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    return path


SMALL = {
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 128,
}
DECODER = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}


def save(kind: str, config: Any, folder: Path) -> Path:
    """A model of random weights, biases too, in float32."""
    import transformers

    torch.manual_seed(0)
    model = getattr(transformers, kind)(config).eval()
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if name.endswith(("bias", "final_logits_bias")):
            torch.nn.init.normal_(tensor)
    model.save_pretrained(folder)
    return folder


def marian(folder: Path, *, tied: bool = True) -> Path:
    """Marian: a sentencepiece model for each side, a table of both, padding last, a bias on the logits."""
    import transformers

    folder.mkdir(parents=True)
    models = {"source.spm": spm(side=0, size=500), "target.spm": spm(side=1, size=500)}
    pieces: dict[str, int] = {"</s>": 0, "<unk>": 1, ">>deu<<": 2}
    for name, model in models.items():
        (folder / name).write_bytes(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        for id in range(3, processor.vocab_size()):
            pieces.setdefault(processor.id_to_piece(id), len(pieces))
    pieces["<pad>"] = len(pieces)
    (folder / "vocab.json").write_text(json.dumps(pieces), encoding="utf-8")
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    pad = pieces["<pad>"]
    config = transformers.MarianConfig(
        **SMALL,
        vocab_size=len(pieces),
        pad_token_id=pad,
        eos_token_id=0,
        decoder_start_token_id=pad,
        forced_eos_token_id=0,
        bad_words_ids=[[pad]],
        tie_word_embeddings=tied,
        share_encoder_decoder_embeddings=True,
    )
    return save("MarianMTModel", config, folder)


def m2m100(folder: Path) -> Path:
    """M2M100: a table of pieces, and language codes that only the class numbers."""
    import transformers

    folder.mkdir(parents=True)
    model = spm("bpe", size=600)
    (folder / "sentencepiece.bpe.model").write_bytes(model)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    for id in range(3, processor.vocab_size()):
        pieces.setdefault(processor.id_to_piece(id), len(pieces))
    (folder / "vocab.json").write_text(json.dumps(pieces), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenizer = transformers.M2M100Tokenizer(folder / "vocab.json", folder / "sentencepiece.bpe.model")
    tokenizer.save_pretrained(folder)
    german = tokenizer.get_lang_id("de")
    config = transformers.M2M100Config(
        **SMALL, vocab_size=len(pieces) + 108, pad_token_id=1, eos_token_id=2, bos_token_id=0,
        decoder_start_token_id=2, forced_bos_token_id=german,
    )  # fmt: skip
    return save("M2M100ForConditionalGeneration", config, folder)


def byte_level(size: int = 600) -> Any:
    """A byte-level BPE tokenizer as GPT-2 has it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    made.train_from_iterator([*lines(0), *lines(1)], trainer)
    return made


def fast(folder: Path, tokenizer: Any, **symbols: Any) -> Any:
    """The tokenizer in a folder, as transformers saves it; special symbols come behind its pieces."""
    import transformers

    made = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **symbols)
    made.save_pretrained(folder)
    return made


def llama(folder: Path) -> Path:
    """Llama with GPT-2's pieces, special symbols behind them, rows that no piece has, and no tie."""
    import transformers

    tokenizer = fast(
        folder,
        byte_level(),
        bos_token="<|begin|>",
        eos_token="<|end|>",
        additional_special_tokens=["<|user|>"],
    )
    config = transformers.LlamaConfig(
        **DECODER,
        vocab_size=len(tokenizer) + 5,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=[tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("<|user|>")],
        pad_token_id=tokenizer.eos_token_id,
        tie_word_embeddings=False,
    )
    return save("LlamaForCausalLM", config, folder)


def gpt2(folder: Path) -> Path:
    """GPT-2, tied, with the files of its old form beside tokenizer.json."""
    import transformers

    tokenizer = fast(folder, byte_level(), bos_token="<|endoftext|>", eos_token="<|endoftext|>")
    tokenizer.backend_tokenizer.model.save(str(folder))
    config = transformers.GPT2Config(
        n_embd=32, n_layer=1, n_head=2, n_positions=128, vocab_size=len(tokenizer),
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    return save("GPT2LMHeadModel", config, folder)


def bert(folder: Path) -> Path:
    """BERT with WordPiece and a masked-word head, which has a bias."""
    import transformers
    from tokenizers import BertWordPieceTokenizer

    made = BertWordPieceTokenizer(lowercase=True)
    made.train_from_iterator([*lines(0), *lines(1)], vocab_size=800, show_progress=False)
    folder.mkdir(parents=True)
    made.save_model(str(folder))
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"))
    tokenizer.save_pretrained(folder)
    config = transformers.BertConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=48,
        vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return save("BertForMaskedLM", config, folder)


def t5(folder: Path) -> Path:
    """T5: a unigram tokenizer.json with sentinels behind its pieces, and rows that no piece has."""
    import transformers

    folder.mkdir(parents=True)
    model = spm(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    (folder / "spiece.model").write_bytes(model)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, tokenizer_type="t5")
    tokenizer.save_pretrained(folder)
    config = transformers.T5Config(
        d_model=32, d_kv=16, d_ff=48, num_layers=1, num_heads=2, vocab_size=len(tokenizer) + 28,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    return save("T5ForConditionalGeneration", config, folder)


def xlm_roberta(folder: Path) -> Path:
    """XLM-R: unigram, masks behind its pieces, a head with a tied bias."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    processor = sentencepiece.SentencePieceProcessor(model_proto=spm())
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces += [
        (processor.id_to_piece(id), processor.get_score(id)) for id in range(3, processor.vocab_size())
    ]
    made = Tokenizer(models.Unigram(pieces, unk_id=3))
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer = fast(
        folder,
        made,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
    )
    config = transformers.XLMRobertaConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=48, max_position_embeddings=130,
        vocab_size=len(tokenizer), pad_token_id=1, bos_token_id=0, eos_token_id=2,
    )  # fmt: skip
    return save("XLMRobertaForMaskedLM", config, folder)


def bart(folder: Path) -> Path:
    """BART with GPT-2's pieces."""
    import transformers

    tokenizer = fast(folder, byte_level(), bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    config = transformers.BartConfig(
        **SMALL, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id, decoder_start_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    return save("BartForConditionalGeneration", config, folder)


def nllb(folder: Path) -> Path:
    """NLLB: M2M100's model with a BPE tokenizer.json, language codes behind its pieces."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    symbols = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=symbols, show_progress=False)
    trained.train_from_iterator([*lines(0), *lines(1)], trainer)
    told = json.loads(trained.to_str())["model"]
    tokenizer = transformers.NllbTokenizer(
        vocab=told["vocab"],
        merges=[tuple(each) for each in told["merges"]],
        src_lang="eng_Latn",
        tgt_lang="deu_Latn",
    )
    tokenizer.save_pretrained(folder)
    config = transformers.M2M100Config(
        **SMALL, vocab_size=len(tokenizer), pad_token_id=1, eos_token_id=2, bos_token_id=0, decoder_start_token_id=2,
        forced_bos_token_id=tokenizer.convert_tokens_to_ids("deu_Latn"),
    )  # fmt: skip
    return save("M2M100ForConditionalGeneration", config, folder)


FAMILIES: dict[str, Callable[[Path], Path]] = {
    each.__name__: each for each in (marian, m2m100, nllb, bart, t5, llama, gpt2, bert, xlm_roberta)
}
