import pytest

from tests.for_each import for_each
from tests.pretrained_folder import pretrained_folder
from trimtab.errors import InputError
from trimtab.inference.exported import open_model
from trimtab.inference.generating import load_generator
from trimtab.inference.pretrained import is_pretrained, load_pretrained
from trimtab.tasks.classification.classifier import load_classifier


def test_a_pretrained_folder_continues_texts_without_any_run(tmp_path):
    base = pretrained_folder(tmp_path / "base")
    assert is_pretrained(base)
    assert not is_pretrained(tmp_path)
    found = load_pretrained(str(base))
    assert (found.window, found.tokenizer.start, found.model.num_ids) == (128, 1, 270)
    text = next(iter(load_generator(str(base)).generate(["the"])))
    assert text.prompt == "the"


@for_each("name", ["m.gguf", "config.json"])
def test_a_run_is_no_pretrained_model_whatever_else_is_in_its_folder(name, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    (folder / name).touch()
    assert is_pretrained(folder)
    (folder / "recipe.yaml").touch()
    assert not is_pretrained(folder)


def test_a_name_of_the_hub_is_the_model_that_was_downloaded_or_says_how_to_download_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="there is no model own/tiny") as error:
        load_generator("own/tiny")
    assert error.value.problems[0].fix.startswith("`hf download own/tiny`")
    with pytest.raises(InputError, match="there is no model own/tiny"):
        load_classifier("own/tiny", adapter="runs/none")
    with pytest.raises(InputError, match="there is no model own/tiny"):
        open_model("own/tiny", adapter="runs/none")
    pretrained_folder(tmp_path / "models--own--tiny/snapshots/abc")
    assert load_generator("own/tiny", device="cpu").window == 128
    (tmp_path / "own").mkdir()
    with pytest.raises(InputError, match="no such run: own/tini"):
        load_generator("own/tini")
