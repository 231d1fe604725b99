import json

import pytest

from trimtab.config.pretrained.families import FAMILIES
from trimtab.config.pretrained.module_shapes import read_module
from trimtab.config.pretrained.place import Place
from trimtab.errors import InputError

T5 = {"model_type": "t5", "d_model": 8, "vocab_size": 20, "dropout_rate": 0.3, "tie_word_embeddings": False}


def test_the_window_of_relative_positions_has_no_bound(tmp_path):
    found = read_module(Place(tmp_path), FAMILIES["t5"], T5)
    assert found.window == 65536
    assert (found.shape["dropout"], found.shape["tie_embeddings"]) == (0.3, False)


def test_roberta_counts_its_positions_from_behind_the_padding_id(tmp_path):
    settings = {"model_type": "roberta", "hidden_size": 8, "vocab_size": 20, "max_position_embeddings": 514}
    assert read_module(Place(tmp_path), FAMILIES["roberta"], settings).window == 512


def test_what_speaks_of_code_and_precision_is_not_kept(tmp_path):
    kept = read_module(Place(tmp_path), FAMILIES["t5"], {**T5, "torch_dtype": "float16"}).shape["settings"]
    assert json.loads(kept) == T5


@pytest.mark.parametrize("size", [0, -1, True, 2.5, "9", None, 10**9])
def test_sizes_that_are_none_are_refused(tmp_path, size):
    with pytest.raises(InputError, match="missing or no size"):
        read_module(Place(tmp_path), FAMILIES["t5"], {**T5, "vocab_size": size})


GPT2 = {"model_type": "gpt2", "n_embd": 8, "n_positions": 64, "vocab_size": 20, "resid_pdrop": 0.2}


def test_sizes_of_language_models_have_names_of_their_own(tmp_path):
    found = read_module(Place(tmp_path), FAMILIES["gpt2"], GPT2)
    assert found.window == 64
    assert (found.shape["dim"], found.shape["dropout"], found.shape["tie_embeddings"]) == (8, 0.2, True)


def test_what_a_family_ties_is_known_where_the_settings_do_not_say(tmp_path):
    settings = {"model_type": "gpt_neox", "hidden_size": 8, "vocab_size": 20, "max_position_embeddings": 64}
    found = read_module(Place(tmp_path), FAMILIES["gpt_neox"], settings)
    assert (found.shape["dropout"], found.shape["tie_embeddings"]) == (0.0, False)
