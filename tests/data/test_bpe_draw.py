import io
import random

import sentencepiece

from tests.data.small_text import sentences
from trimtab.data.bpe_draw import BpeDraw
from trimtab.data.piece_table import PieceTable


def processor():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(600)), model_writer=model, model_type="bpe", vocab_size=200, pad_id=0,
        unk_id=1, bos_id=2, eos_id=3, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def test_without_dropout_it_is_the_split_of_the_library():
    theirs = processor()
    draw = BpeDraw(PieceTable.of(theirs), 0.0)
    for line in sentences(200, seed=5):
        assert draw.split(theirs.normalize(line), random.Random(1)) == theirs.encode(line)


def test_with_full_dropout_nothing_is_merged():
    theirs = processor()
    text = theirs.normalize("ship boat")
    assert len(BpeDraw(PieceTable.of(theirs), 1.0).split(text, random.Random(1))) == len(text)
