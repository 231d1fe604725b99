"""Language models of random weights and the vocabularies of real text, for exports of them."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from tests.data.demo_pairs import demo_pairs
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.data.byte_pieces import byte_model
from trimtab.data.exact_text import NEWLINE, ExactText
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.tokenizer import train_tokenizer
from trimtab.export.samples import GateText
from trimtab.model.decoder_only import DecoderOnly

LINES = [line for pair in demo_pairs(600) for line in pair]
TEXTS = ["\n".join(LINES[start : start + 3]) for start in range(0, 240, 3)]
WINDOW = 96


@cache
def vocabulary(kind: str) -> SentencePiece:
    """Of a language model: `unigram`, `bpe` or `bytes`."""
    if kind == "bytes":
        return SentencePiece(byte_model(()))
    config = SentencePieceTokenizer(vocabulary_size=800, model=kind, normalization="identity")
    with TemporaryDirectory() as folder:
        out = Path(folder)
        return train_tokenizer(config, lines=LINES, symbols=(), pieces=(NEWLINE,), out=out, exact=True)


def network(num_ids: int, **changes) -> DecoderOnly:
    """A small model whose weights are all random, those of the norms too."""
    config = DecoderModel(**{"dim": 48, "heads": 4, "layers": 2, "feed_forward": 64, **changes})
    model = DecoderOnly(config, num_ids=num_ids, max_positions=WINDOW, seed=5).eval()
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=draw))
    return model


def gate_texts_of(tokenizer: SentencePiece, texts: list[str]) -> list[GateText]:
    """The texts with their ids, as long as the window lets them be."""
    found = []
    for text in texts:
        while len(ids := ExactText(tokenizer).ids([text])[0]) >= WINDOW:
            text = text[: len(text) // 2]
        found.append(GateText(text=text, ids=ids))
    return found
