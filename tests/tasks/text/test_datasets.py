import dataclasses

import pytest

from tests.small_run import small_recipe, small_sources
from trimtab.checkpoint.fingerprints import check_fingerprints
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.data import tokenizers
from trimtab.data.stream_sample import Sample
from trimtab.data.subword_sampling import DRAWN_BY, SubwordSampling
from trimtab.errors import InputError
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets
from trimtab.types import DroppedExample

TAGGED = {"data.train.0.tags": ["<train>", "<dev>"], "data.valid.tags": ["<dev>"]}


def opened_again(recipe, folder):
    return open_datasets(recipe, tokenizer_folder=folder, progress=Silent())


def ids(rows):
    return [rows.row(number).tolist() for number in range(len(rows))]


def test_everything_that_a_recipe_names_is_opened(tmp_path):
    _, sources = small_sources(tmp_path)
    assert [len(corpus) for corpus in sources.corpora] == [200]
    assert sources.tokenizer.num_ids == 66
    assert sources.feed.mixture.examples_per_epoch == 200
    assert sources.sample.seen == 200
    source, target = sources.lengths
    assert len(source) == len(target) == 200
    assert int(source.max()) <= 32
    assert sources.targets_per_epoch == int(target.sum())
    assert set(sources.fingerprints) == {"data.train.0", "data.valid.valid", "tokenizer"}


def test_how_splits_are_drawn_is_one_of_what_a_run_goes_on_with(tmp_path):
    _, sources = small_sources(tmp_path)
    sampled = dataclasses.replace(sources.feed, target_sampling=SubwordSampling.__new__(SubwordSampling))
    now = dataclasses.replace(sources, feed=sampled).fingerprints
    assert DRAWN_BY in now.values()
    with pytest.raises(
        InputError,
        match="how this version of trimtab draws splits has changed since the checkpoint was written",
    ):
        check_fingerprints(sources.fingerprints, now)


def test_the_tokenizer_is_trained_once_and_then_read_from_its_folder(tmp_path, monkeypatch):
    recipe, first = small_sources(tmp_path)
    monkeypatch.setattr(tokenizers, "train_fitting", None)
    assert opened_again(recipe, tmp_path / "tokenizer").tokenizer.fingerprint == first.tokenizer.fingerprint


def test_a_given_tokenizer_is_adopted_and_must_know_the_tags(tmp_path, monkeypatch):
    _, first = small_sources(tmp_path)
    monkeypatch.setattr(tokenizers, "train_fitting", None)
    given = {"data.tokenizer": {"path": str(tmp_path / "tokenizer" / "sentencepiece.model")}}
    _, second = small_sources(tmp_path / "other", **given)
    assert second.tokenizer.fingerprint == first.tokenizer.fingerprint
    with pytest.raises(InputError, match="no piece '<train>'"):
        small_sources(tmp_path / "third", **given, **TAGGED)


def test_tags_are_symbols_of_the_vocabulary_and_stand_before_the_lines_of_their_corpus(tmp_path):
    _, sources = small_sources(tmp_path, **TAGGED)
    tokenizer, valid = sources.tokenizer, sources.valid["valid"]
    assert tokenizer.symbols == ("<train>", "<dev>")
    assert valid.tags == ("<dev>",)
    assert {row[0] for row in ids(sources.sample.source)} == {tokenizer.id("<train>")}
    assert ids(valid.source) == [[tokenizer.id("<dev>"), *row] for row in tokenizer.encode(valid.sources)]
    assert ids(valid.target) == tokenizer.encode(valid.references)


def test_a_recipe_needs_no_validation_set(tmp_path):
    _, sources = small_sources(
        tmp_path, **{"data.valid": None, "evaluate": {"best": {"metric": "loss"}, "metrics": ["loss"]}}
    )
    assert sources.valid == {}


def test_an_estimate_of_an_epoch_counts_what_is_dropped(tmp_path):
    _, sources = small_sources(tmp_path)
    half = Sample(
        sources.sample.source.between(0, 100),
        sources.sample.target.between(0, 100),
        tuple(DroppedExample(0, line, "length") for line in range(100)),
    )
    fewer = dataclasses.replace(sources, sample=half)
    assert fewer.targets_per_epoch == pytest.approx(int(half.target.offsets[-1]))


def test_every_missing_file_is_named_at_once(tmp_path):
    path = small_recipe(
        tmp_path,
        **{
            "data.train": [
                {"source": "gone.en", "target": "train.de"},
                {"source": "away.en", "target": "away.de"},
            ],
            "data.valid": {"source": "dev.en", "target": "lost.de"},
        },
    )
    with pytest.raises(InputError) as caught:
        opened_again(resolve_paths(load_recipe(path)), tmp_path / "tokenizer")
    for name in ("gone.en", "away.en", "lost.de"):
        assert name in str(caught.value)
    assert len(caught.value.problems) == 3


def test_wrong_bytes_are_named_beside_missing_files_before_anything_is_trained(tmp_path):
    path = small_recipe(tmp_path, **{"data.valid.target": "lost.de"})
    (tmp_path / "train.de").write_bytes(b"\xff\n" + b"das\n" * 199)
    with pytest.raises(InputError) as caught:
        opened_again(resolve_paths(load_recipe(path)), tmp_path / "tokenizer")
    assert "lost.de" in str(caught.value)
    assert any("train.de:1:1" in problem.where for problem in caught.value.problems)
    assert not (tmp_path / "tokenizer").exists()
