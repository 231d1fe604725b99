import io

import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from tests.data.small_text import sentences, small_tokenizer
from trimtab.data.piece_table import PieceTable

TABLE = PieceTable.of(small_tokenizer().processor)


def trained(**options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(600)), model_writer=model, vocab_size=420, pad_id=0, unk_id=1, bos_id=2,
        eos_id=3, hard_vocab_limit=False, minloglevel=2, **options,
    )  # fmt: skip
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


@given(st.text("ab ▁<>é", max_size=30))
def test_the_parts_of_a_text_are_the_text(text):
    parts = TABLE.parts(text)
    assert "".join(parts) == text
    assert "" not in parts
    assert TABLE.whole == {}


def test_a_word_that_is_none_is_split_in_stretches():
    text = "▁" + "a" * 10_000 + "▁bc"
    parts = TABLE.parts(text)
    assert "".join(parts) == text
    assert max(map(len, parts)) < 5000
    assert len(parts) == 4


def test_pieces_of_the_user_stay_whole_and_the_first_merge_of_bpe_is_none_of_them():
    for kind in ("bpe", "unigram"):
        table = PieceTable.of(trained(model_type=kind, user_defined_symbols=["<a>", "<ab>"]))
        assert table.parts("▁x<ab>y▁<a><a>") == ["▁x", "<ab>", "y", "▁", "<a>", "<a>"]
        assert table.whole.keys() == {"<a>", "<ab>"}
        assert PieceTable.of(trained(model_type=kind)).whole == {}


def test_what_has_no_piece_is_spelled_in_bytes_or_is_unknown():
    table = PieceTable.of(trained(byte_fallback=True))
    assert [table.bytes.index(id) for id in table.spell("漢")] == list("漢".encode())
    without = PieceTable.of(trained())
    assert without.bytes == ()
    assert without.spell("漢") == [without.unknown] == [1]
