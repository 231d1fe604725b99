import json
import shutil

import pytest

from tests.box_run import SMALL_MODEL, box_recipe
from tests.small_run import small_recipe
from trimtab.config.load import load_recipe
from trimtab.errors import InputError

MODEL = {"dim": 64, "heads": 4, "layers": 2, "feed_forward": 96, "norm": "rms"}
TOKENIZER = {"vocabulary_size": 900, "model": "bpe"}


@pytest.fixture
def general(tmp_path):
    """A run folder as far as a recipe that starts from it reads it: the resolved recipe."""
    run = tmp_path / "general"
    small_recipe(run, model=MODEL | {"dropout": 0.3}, **{"data.tokenizer": TOKENIZER})
    return run


def tuned(tmp_path, begun=None, **changes):
    given = {"model": {"warm_start": "../general@last"}, "data.tokenizer": None, **changes}
    return load_recipe(small_recipe(tmp_path / "tuned", **given), begun=begun)


def test_model_and_tokenizer_are_those_of_the_old_run_where_nothing_is_written(general, tmp_path):
    loaded = tuned(tmp_path)
    model, tokenizer = loaded.recipe.model, loaded.recipe.data.tokenizer
    assert (model.dim, model.heads, model.encoder_layers, model.feed_forward) == (64, 4, 2, 96)
    assert model.norm == "rms"
    assert model.dropout == 0.1, "dropout belongs to the run that is trained"
    assert tokenizer.path == str(general / "tokenizer")
    assert tokenizer.model == "bpe"
    assert loaded.notes[0].startswith("the tokenizer is that of ../general@last")


@pytest.mark.parametrize("kind", ["byte_level_bpe", "superbpe"])
def test_so_is_a_tokenizer_of_bytes(tmp_path, kind):
    small_recipe(
        tmp_path / "general", model=MODEL, **{"data.tokenizer": {"kind": kind, "vocabulary_size": 900}}
    )
    tokenizer = tuned(tmp_path).recipe.data.tokenizer
    assert (tokenizer.kind, tokenizer.path) == (kind, str(tmp_path / "general" / "tokenizer"))


def test_a_detector_starts_from_another_whose_own_weights_were_pretrained(tmp_path):
    box_recipe(tmp_path / "general", model=SMALL_MODEL | {"path": "pretrained"})
    path = box_recipe(tmp_path / "tuned", model={"kind": "detector", "warm_start": "../general"})
    model = load_recipe(path).recipe.model
    assert (model.warm_start, model.path, model.dim) == ("../general", "", 16)


@pytest.mark.parametrize("written", [{}, {"vocabulary_size": 900}, {"sampling": {"kind": "bpe_dropout"}}])
def test_what_is_written_as_the_old_run_has_it_keeps_its_tokenizer(general, tmp_path, written):
    assert tuned(tmp_path, **{"data.tokenizer": written}).recipe.data.tokenizer.path


def test_another_vocabulary_is_a_decision_and_is_said(general, tmp_path):
    loaded = tuned(tmp_path, **{"data.tokenizer": {"vocabulary_size": 700}})
    assert loaded.recipe.data.tokenizer.path is None
    assert "vocabulary_size is 700 and was 900, so a new tokenizer is trained" in loaded.notes[0]
    assert "leave vocabulary_size out to keep the tokenizer of ../general@last" in loaded.notes[0]
    given = tuned(tmp_path, **{"data.tokenizer": {"path": "mine.model"}}).recipe.data.tokenizer
    assert given.path == "mine.model"


def test_sizes_that_are_written_stay(general, tmp_path):
    model = {"warm_start": "../general", "preset": "tiny", "layers": 1}
    found = tuned(tmp_path, model=model).recipe.model
    assert (found.dim, found.heads, found.encoder_layers, found.norm) == (192, 3, 1, "rms")


def test_each_side_keeps_its_tokenizer(general, tmp_path):
    two = {"data.source_tokenizer": {"vocabulary_size": 800}, "model.tie_embeddings": "none"}
    small_recipe(general, **two)
    data = tuned(tmp_path).recipe.data
    assert data.source_tokenizer is not None
    assert data.source_tokenizer.path == str(general / "tokenizer" / "source")
    assert data.tokenizer.path == str(general / "tokenizer" / "target")


def test_a_checkpoint_folder_means_its_run(general, tmp_path):
    (general / "checkpoints" / "step-00000500").mkdir(parents=True)
    start = {"warm_start": "../general/checkpoints/step-00000500"}
    assert tuned(tmp_path, model=start).recipe.model.dim == 64


def test_a_run_that_is_not_there_is_named_where_the_sizes_are_left_out(tmp_path):
    with pytest.raises(InputError, match=r"model\.warm_start: there is no run \.\./general@last"):
        tuned(tmp_path)
    sized = {"warm_start": "../general", "preset": "tiny"}
    assert tuned(tmp_path, model=sized).recipe.model.dim == 192, "opening the run says what is wrong with it"


def test_the_recipe_of_a_run_has_everything_in_it(general, tmp_path):
    """A run of before keeps the tokenizer that it trained itself."""
    resolved = {"warm_start": "../general@500", "warm_start_sha256": "ab", "preset": "tiny"}
    recipe = tuned(tmp_path, model=resolved, **{"data.tokenizer": TOKENIZER}).recipe
    assert recipe.data.tokenizer.path is None
    assert recipe.model.norm == "layer"


def test_a_run_that_resumes_takes_what_it_has_and_not_what_the_old_run_has(general, tmp_path):
    begun = tmp_path / "begun"
    own = {"warm_start": "x@500", "warm_start_sha256": "ab", "preset": "tiny", "norm": "rms"}
    small_recipe(begun, model=own, **{"data.tokenizer": {"vocabulary_size": 700}})
    shutil.rmtree(general)
    recipe = tuned(tmp_path, begun=begun).recipe
    assert (recipe.model.dim, recipe.model.norm, recipe.data.tokenizer.vocabulary_size) == (192, "rms", 700)
    assert recipe.model.warm_start == "../general@last"


@pytest.mark.parametrize("text", ["[1, 2]", "\x00", "model: {dim: [", json.dumps({"model": 3, "data": []})])
def test_a_recipe_of_the_old_run_that_cannot_be_read_is_left_to_what_opens_the_run(general, tmp_path, text):
    (general / "recipe.yaml").write_text(text)
    sized = {"warm_start": "../general", "preset": "tiny"}
    assert tuned(tmp_path, model=sized).recipe.model.dim == 192
