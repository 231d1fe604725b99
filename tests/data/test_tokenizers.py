import shutil

import pytest

from tests.small_run import small_recipe, small_sources
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.data.sentencepiece_model import load_tokenizer
from trimtab.data.tokenizer import sample_lines
from trimtab.data.tokenizers import Tokenizers, load_tokenizers
from trimtab.errors import InputError
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets

SEPARATE = {
    "data.source_tokenizer": {"vocabulary_size": 290},
    "data.tokenizer": {"vocabulary_size": 300},
    "model.tie_embeddings": "decoder",
}
TAGS = {"data.train.0.tags": ["<ui>"], "data.valid.tags": ["<ui>"]}


def opened_again(folder, **changes):
    """The data of another recipe, with the tokenizers that lie there."""
    recipe = resolve_paths(load_recipe(small_recipe(folder, **changes)))
    return open_datasets(recipe, tokenizer_folder=folder / "tokenizer", progress=Silent())


def test_one_tokenizer_is_the_same_object_on_both_sides(tmp_path):
    _, sources = small_sources(tmp_path)
    assert sources.tokenizers.source is sources.tokenizers.target is sources.tokenizer
    assert sources.tokenizers.fingerprints == {"tokenizer": sources.tokenizer.fingerprint}
    assert sources.feed.source_tokenizer is None
    assert (tmp_path / "tokenizer" / "sentencepiece.model").exists()
    loaded = load_tokenizers(tmp_path / "tokenizer")
    assert loaded.shared
    assert loaded.fingerprints == sources.tokenizers.fingerprints


def test_each_of_two_is_trained_on_the_lines_of_its_side_alone(tmp_path):
    _, sources = small_sources(tmp_path, **SEPARATE)
    source, target = sources.tokenizers.source, sources.tokenizers.target
    assert (source.num_ids, target.num_ids) == (290, 300)
    for tokenizer, own, other in ((source, "▁the", "▁das"), (target, "▁das", "▁the")):
        pieces = {tokenizer.piece(id) for id in range(tokenizer.num_ids)}
        assert own in pieces
        assert other not in pieces
    corpus = sources.corpora[0]
    both = list(sample_lines([corpus], 40))
    assert list(sample_lines([corpus], 20, side="source")) == both[0::2]
    assert list(sample_lines([corpus], 20, side="target")) == both[1::2]


def test_each_side_is_read_with_its_own(tmp_path):
    _, sources = small_sources(tmp_path, **SEPARATE)
    valid, (source, target) = sources.valid["valid"], (sources.tokenizers.source, sources.tokenizers.target)
    assert valid.source.row(3).tolist() == source.encode([valid.sources[3]])[0]
    assert valid.target.row(3).tolist() == target.encode([valid.references[3]])[0]
    texts = [corpus.pair(line) for corpus in sources.corpora for line in range(len(corpus))]
    for index in range(5):
        rows = sources.sample.source.row(index).tolist(), sources.sample.target.row(index).tolist()
        assert (source.decode([rows[0]])[0], target.decode([rows[1]])[0]) in texts


def test_tags_are_pieces_of_the_source_vocabulary_alone(tmp_path):
    _, sources = small_sources(tmp_path, **SEPARATE, **TAGS)
    assert sources.tokenizers.source.symbols == ("<ui>",)
    assert sources.tokenizers.target.symbols == ()
    assert sources.valid["valid"].source.row(0)[0] == sources.tokenizers.source.id("<ui>")


def test_packs_are_made_with_the_symbols_of_each_side(tmp_path):
    _, sources = small_sources(tmp_path, **SEPARATE)
    source, target = sources.tokenizers.source, sources.tokenizers.target
    source.pad, source.start, target.pad, target.start = 11, 12, 13, 14
    symbols = Tokenizers(source, target).symbols
    assert symbols == {"start_symbol": 14, "pad_symbol": 13, "source_pad_symbol": 11}


def test_the_folder_gives_back_what_it_was_given(tmp_path):
    _, sources = small_sources(tmp_path, **SEPARATE)
    found = load_tokenizers(tmp_path / "tokenizer")
    assert not found.shared
    assert found.fingerprints == sources.tokenizers.fingerprints
    assert set(found.fingerprints) == {"tokenizer", "source_tokenizer"}
    assert found.source.fingerprint == load_tokenizer(tmp_path / "tokenizer" / "source").fingerprint
    shutil.rmtree(tmp_path / "tokenizer" / "target")
    with pytest.raises(InputError, match="target"):
        load_tokenizers(tmp_path / "tokenizer")


@pytest.mark.parametrize("separate", [False, True])
def test_a_folder_of_the_other_kind_is_refused_and_left_as_it_is(tmp_path, separate):
    small_sources(tmp_path, **(SEPARATE if separate else {}))
    before = sorted(tmp_path.joinpath("tokenizer").rglob("*"))
    with pytest.raises(InputError, match=r"data\.source_tokenizer has changed"):
        opened_again(tmp_path, **({} if separate else SEPARATE))
    assert sorted(tmp_path.joinpath("tokenizer").rglob("*")) == before


def test_messages_name_the_side_that_is_wrong(tmp_path):
    too_many = {**SEPARATE, "data.source_tokenizer": {"vocabulary_size": 5000}}
    with pytest.raises(InputError, match=r"data\.source_tokenizer\.vocabulary_size: 200 lines do not hold"):
        small_sources(tmp_path, **too_many)
    with pytest.raises(InputError, match=r"data\.source_tokenizer\.path: "):
        small_sources(tmp_path, **SEPARATE | {"data.source_tokenizer": {"path": "nowhere.model"}})
