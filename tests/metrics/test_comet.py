import importlib.util
import os
import sys
from types import SimpleNamespace

import pytest

from trimtab.errors import InputError
from trimtab.metrics.comet import comet_score

SETS = {"sources": ["eins", "zwei"], "references": ["one", "two"]}


@pytest.fixture
def library(monkeypatch):
    """A stand-in for unbabel-comet that remembers what it was asked."""
    calls = []

    class Network:
        def predict(self, samples, **options):
            calls.append(("predict", samples, options))
            return SimpleNamespace(scores=[0.5, 0.75], system_score=0.625)

    def load_from_checkpoint(path):
        calls.append(("load", path))
        return Network()

    def download_model(name):
        calls.append(("download", name))
        if name != "Unbabel/wmt22-comet-da":
            raise KeyError(f"Model '{name}' not supported by COMET.")
        return "/hub/checkpoints/model.ckpt"

    module = SimpleNamespace(
        load_from_checkpoint=load_from_checkpoint, download_model=download_model, __version__="2.2.7"
    )
    monkeypatch.setitem(sys.modules, "comet", module)
    return calls


def test_a_name_is_downloaded_and_every_line_scored_with_source_and_reference(library):
    score = comet_score("Unbabel/wmt22-comet-da", ["uno", "dos"], **SETS)
    assert library[:2] == [("download", "Unbabel/wmt22-comet-da"), ("load", "/hub/checkpoints/model.ckpt")]
    _, samples, options = library[2]
    assert samples == [
        {"src": "eins", "mt": "uno", "ref": "one"},
        {"src": "zwei", "mt": "dos", "ref": "two"},
    ]
    assert options == {"batch_size": 16, "gpus": 0, "progress_bar": False}
    assert (score.name, score.value, score.digits) == ("COMET", 0.625, 4)
    assert score.signature == "model:Unbabel/wmt22-comet-da|version:2.2.7"


def test_a_folder_or_a_file_on_disk_is_loaded_without_the_network(library, tmp_path):
    checkpoint = tmp_path / "kiwi" / "checkpoints" / "model.ckpt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    for model in (tmp_path / "kiwi", checkpoint):
        comet_score(str(model), ["uno", "dos"], **SETS, gpus=1)
    assert [call for call in library if call[0] != "predict"] == [("load", str(checkpoint))] * 2
    assert library[1][2]["gpus"] == 1


def test_a_model_that_is_not_there_is_wrong_input(library):
    with pytest.raises(InputError, match="'no/such' cannot be loaded") as caught:
        comet_score("no/such", ["uno", "dos"], **SETS)
    assert "not supported by COMET" in caught.value.problems[0].got


def test_a_missing_library_is_told_with_the_command_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "comet", None)
    with pytest.raises(InputError, match=r'pip install "trimtab\[comet\]"'):
        comet_score("Unbabel/wmt22-comet-da", ["uno", "dos"], **SETS)


def test_unequal_and_empty_sets_are_refused(library):
    with pytest.raises(InputError, match="1 translations and 2 references"):
        comet_score("m", ["uno"], **SETS)
    assert library == []


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("comet") is None or "TRIMTAB_COMET_MODEL" not in os.environ,
    reason="needs unbabel-comet, and a model's folder or name in TRIMTAB_COMET_MODEL",
)
def test_the_real_library_finds_a_good_translation_better_than_a_wrong_one():
    sources, references = ["Das Haus ist klein."], ["The house is small."]
    good, wrong = (
        comet_score(os.environ["TRIMTAB_COMET_MODEL"], [line], sources=sources, references=references).value
        for line in ("The house is small.", "He never eats fish.")
    )
    assert good > wrong
