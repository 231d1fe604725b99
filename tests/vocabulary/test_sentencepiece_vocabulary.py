import pytest
import sentencepiece

from tests.vocabulary.folders import lines, spm
from trimtab.data.byte_pieces import byte_model
from trimtab.errors import InputError
from trimtab.vocabulary.sentencepiece_vocabulary import SentencePieceVocabulary
from trimtab.vocabulary.vocabulary import Text

TEXT = lines(1)[:60]
KINDS = pytest.mark.parametrize("kind", ["unigram", "bpe"])


def trimmed(vocabulary, text=TEXT, *, closed=True):
    used = {id for row in vocabulary.encode(text) for id in row} | vocabulary.protected
    kept = sorted(vocabulary.with_ancestors(used) if closed else used)
    return vocabulary.trimmed(kept), {old: new for new, old in enumerate(kept)}


@pytest.mark.quick("bpe")
@KINDS
def test_a_text_whose_pieces_are_kept_is_split_as_before(kind):
    old = SentencePieceVocabulary(spm(kind, byte_fallback=True), "m")
    new, ids = trimmed(old)
    assert new.num_ids < old.num_ids
    assert new.encode(TEXT) == [[ids[id] for id in row] for row in old.encode(TEXT)]
    assert new.decode(new.encode(TEXT)) == old.decode(old.encode(TEXT))
    assert all(new.piece(there) == old.piece(here) for here, there in ids.items())


def test_byte_pair_encoding_without_the_ancestors_of_its_pieces_splits_otherwise():
    old = SentencePieceVocabulary(spm("bpe"), "m")
    new, ids = trimmed(old, closed=False)
    assert new.encode(TEXT) != [[ids[id] for id in row] for row in old.encode(TEXT)]


@pytest.mark.slow
def test_everything_but_the_pieces_stays_as_it_was():
    old = SentencePieceVocabulary(spm(normalization_rule_name="nfkc_cf"), "m")
    new, _ = trimmed(old)
    assert new.spec.character_map == old.spec.character_map
    assert (new.spec.model, new.spec.dummy_prefix) == (old.spec.model, old.spec.dummy_prefix)
    processor = sentencepiece.SentencePieceProcessor(model_proto=new.model)
    assert processor.unk_id() == 0
    assert processor.vocab_size() == new.num_ids
    assert new.processor.normalize("ÄHNLICH ﬁ") == old.processor.normalize("ÄHNLICH ﬁ")


@pytest.mark.quick("bpe")
@KINDS
def test_new_pieces_shorten_the_text_and_nearly_all_are_used_in_it(kind):
    old = SentencePieceVocabulary(spm(kind, side=0, size=400, byte_fallback=True), "m")
    new, change = old.extended([Text("de", lines(1)[:400])], 100)
    before, after = (sum(map(len, each.encode(lines(1)[:400]))) for each in (old, new))
    assert after < 0.9 * before
    assert new.num_ids == len(change.origins)
    reached = new.with_ancestors({id for row in new.encode(lines(1)[:400]) for id in row})
    # A piece that the others leave no place for is dropped by `extend_vocabulary`.
    assert len({*change.added} - reached) <= 2
    assert new.decode(new.encode(TEXT)) == old.decode(old.encode(TEXT))


@KINDS
def test_a_new_piece_comes_from_the_pieces_or_the_bytes_that_spelled_it(kind):
    old = SentencePieceVocabulary(spm(kind, side=0, size=400, byte_fallback=True), "m")
    new, change = old.extended([Text("ja", ("日本語 日本語", "日本語 über über"))], 12)
    for id in change.added:
        spelled = [old.piece(each) for each in change.origins[id]]
        raw = b"".join(
            bytes([int(each[3:-1], 16)]) if each.startswith("<0x") else each.encode() for each in spelled
        )
        assert raw.decode() == new.piece(id)
    assert {"日", "本", "語"} <= {new.piece(id) for id in change.added}
    assert not any(new.piece(id).startswith("<0x") for row in new.encode(["日本"]) for id in row)


@pytest.mark.slow
def test_tags_and_bytes_are_protected():
    vocabulary = SentencePieceVocabulary(spm(byte_fallback=True, control_symbols="<2de>"), "m")
    named = {vocabulary.piece(id) for id in vocabulary.protected}
    assert {"<2de>", "<0x00>", "<0xFF>", "<unk>", "</s>"} <= named
    assert not named & {vocabulary.piece(id) for id in vocabulary.by_usefulness()}


def test_a_model_of_bytes_is_refused():
    with pytest.raises(InputError, match="its pieces cannot be changed"):
        SentencePieceVocabulary(byte_model([]), "m").with_ancestors([1])
