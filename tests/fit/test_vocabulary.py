from pathlib import Path

import pytest

from tests.fit.planning import pairs_recipe, text_recipe
from tests.pretrained_folder import NUM_IDS, SYMBOLS, pretrained_folder
from trimtab.config.load import load_recipe
from trimtab.config.tokenizer import ByteTokenizer, PretrainedTokenizer, SentencePieceTokenizer
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.text_tokenizers import byte_model
from trimtab.errors import InputError
from trimtab.fit.vocabulary import BYTE_IDS, num_ids, pieces_in, vocabulary_of


def test_a_vocabulary_that_is_trained_later_has_the_size_that_the_recipe_says():
    assert num_ids(SentencePieceTokenizer(vocabulary_size=777), Path()) == 777
    assert vocabulary_of(pairs_recipe(), Path()).source == 16000


def test_bytes_are_as_many_as_the_real_tokenizer_has(tmp_path):
    assert num_ids(ByteTokenizer(), Path()) == SentencePiece(byte_model(())).num_ids == BYTE_IDS


def test_pieces_of_a_trained_model_are_counted_in_its_file(tmp_path):
    file = tmp_path / "some.model"
    file.write_bytes(byte_model(()))
    assert pieces_in(file) == SentencePiece(file.read_bytes()).num_ids
    assert num_ids(SentencePieceTokenizer(path="some.model"), tmp_path) == pieces_in(file)
    assert num_ids(SentencePieceTokenizer(path="."), tmp_path) == pieces_in(file)


@pytest.mark.parametrize("content", [b"", b"\xff" * 40, b"text, and no model\n", b"\x0a\xff\xff"])
def test_a_file_that_is_no_model_counts_nothing(tmp_path, content):
    file = tmp_path / "some.model"
    file.write_bytes(content)
    assert pieces_in(file) in (0, 1)
    assert pieces_in(tmp_path / "missing") == 0


def test_a_source_with_a_vocabulary_of_its_own():
    own = {"kind": "sentencepiece", "vocabulary_size": 500}
    recipe = pairs_recipe(data__source_tokenizer=own, model__tie_embeddings="decoder")
    found = vocabulary_of(recipe, Path())
    assert (found.source, found.target) == (500, 16000)


def test_a_pretrained_model_has_the_rows_that_its_files_say(tmp_path):
    folder = pretrained_folder(tmp_path / "model")
    tree = {
        "task": "language_model",
        "data": {"train": [{"text": "train.txt"}], "max_tokens": 64},
        "model": {"kind": "pretrained", "path": str(folder)},
        "length": "10 steps",
    }
    assert vocabulary_of(load_recipe(tree).recipe, Path()).target == NUM_IDS


def test_pieces_of_a_pretrained_tokenizer_are_counted_in_its_file(tmp_path):
    folder = pretrained_folder(tmp_path / "model")
    config = PretrainedTokenizer(path=str(folder))
    assert num_ids(config, tmp_path) == len(SYMBOLS) + 256 + 3
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert num_ids(config, tmp_path) == 0
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        num_ids(config, tmp_path)


def test_a_recipe_of_text_has_one_vocabulary():
    found = vocabulary_of(text_recipe(data__tokenizer={"kind": "bytes"}), Path())
    assert found.source == found.target == BYTE_IDS
