import io

import pytest
import sentencepiece

from tests.export.text_models import LINES, vocabulary
from trimtab.export.hf.sentencepiece_spec import SentencePieceSpec


@pytest.mark.parametrize("kind", ["unigram", "bpe", "bytes"])
def test_pieces_are_those_that_the_library_tells(kind):
    own = vocabulary(kind)
    spec, processor = SentencePieceSpec.of(own.model), own.processor
    assert len(spec.pieces) == own.num_ids
    for id, piece in enumerate(spec.pieces):
        assert piece.text == processor.id_to_piece(id)
        assert piece.score == pytest.approx(processor.get_score(id))
        assert (piece.sort == "byte") == processor.is_byte(id)
        assert (piece.sort == "control") == processor.is_control(id)
        assert (piece.sort == "unknown") == processor.is_unknown(id)
    assert spec.is_bytes == (kind == "bytes")
    assert spec.model == {"unigram": "unigram", "bpe": "bpe", "bytes": None}[kind]


@pytest.mark.quick("False")
@pytest.mark.parametrize("exact", [True, False])
def test_what_is_done_to_a_text_is_what_the_model_was_trained_with(exact):
    options = {
        "add_dummy_prefix": False,
        "remove_extra_whitespaces": False,
        "normalization_rule_name": "identity",
    }
    spec = SentencePieceSpec.of(trained(**(options if exact else {})))
    assert (spec.dummy_prefix, spec.fewer_spaces, spec.character_map == b"") == (not exact, not exact, exact)
    assert spec.spaces_written
    assert not spec.space_behind


@pytest.mark.slow
def test_models_of_words_and_those_with_the_space_behind_are_seen():
    assert SentencePieceSpec.of(trained(model_type="word")).model is None
    assert SentencePieceSpec.of(trained(treat_whitespace_as_suffix=True)).space_behind


def trained(**options) -> bytes:
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=written, vocab_size=400, pad_id=0, unk_id=1, bos_id=2, eos_id=3,
        minloglevel=2, **options,
    )  # fmt: skip
    return written.getvalue()
