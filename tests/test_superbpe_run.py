"""A translator with superwords, from the recipe to its exports."""

import json
from pathlib import Path

import pytest

from tests.short_run import SHORT
from tests.small_run import small_pairs, small_recipe
from trimtab.config.load import load_recipe, parse_recipe
from trimtab.data.tokenizers import load_tokenizers
from trimtab.errors import InputError
from trimtab.exporting import export_model
from trimtab.inference import load_translator
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")
SUPERBPE = {
    "data.tokenizer": {"kind": "superbpe", "vocabulary_size": 330, "transition_size": 300},
    "data.train": [{"source": "train.en", "target": "train.de", "tags": ["<de>"]}],
    "data.valid": {"source": "dev.en", "target": "dev.de", "tags": ["<de>"]},
}
LINES = [source for source, _ in small_pairs(6, seed=3)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("superbpe")
    train(load_recipe(small_recipe(folder, **{**SHORT, **SUPERBPE})), out=folder / "run")
    return folder / "run"


def test_a_run_has_superwords_and_translates(run: Path) -> None:
    translator = load_translator(run, tags=["<de>"])
    tokenizer = load_tokenizers(run / "tokenizer").source
    assert any("Ġ" in tokenizer.piece(id)[1:] for id in range(tokenizer.num_ids))
    assert tokenizer.decode(tokenizer.encode(LINES)) == LINES
    assert len(translator.translate(LINES)) == len(LINES)


@pytest.mark.quick("ctranslate2")
@pytest.mark.parametrize("target", ["hf", "ctranslate2", "onnx"])
def test_exports_are_as_exact_as_the_trainer(run: Path, tmp_path: Path, target: str) -> None:
    for package in {
        "hf": ("transformers",),
        "ctranslate2": ("ctranslate2",),
        "onnx": ("onnxruntime", "onnx"),
    }[target]:
        pytest.importorskip(package)
    export_model(run, to=target, out=tmp_path / target)
    assert (tmp_path / target / "tokenizer.json").exists()
    assert not (tmp_path / target / "source.spm").exists()
    opened = load_translator(tmp_path / target, tags=["<de>"])
    # Searches differ between libraries; the proof of the export has compared ids, scores and translations.
    assert len(opened.translate(LINES)) == len(LINES)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary_size": 400, "transition_size": 400}, "no merge is left"),
        ({"longest_superword": 1}, "longest_superword"),
        ({"vocabulary_size": 200}, "vocabulary_size"),
        ({"normalization": "nmt_nfkc"}, "normalization"),
        ({"sampling": {"kind": "bpe_dropout", "dropout": 0.1}}, "sampling"),
    ],
)
def test_settings_that_make_no_vocabulary_are_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    path = small_recipe(tmp_path, **{"data.tokenizer": {"kind": "superbpe", **changes}})
    with pytest.raises(InputError, match=message):
        load_recipe(path)


def test_a_vocabulary_of_superwords_is_for_both_sides() -> None:
    told = {
        "data": {
            "train": [{"source": "a", "target": "b"}],
            "valid": {"source": "a", "target": "b"},
            "tokenizer": {"kind": "superbpe"},
            "source_tokenizer": {"vocabulary_size": 300},
        },
        "model": {"preset": "tiny", "tie_embeddings": "decoder"},
        "length": "10 steps",
    }
    with pytest.raises(InputError, match="shared by both sides"):
        parse_recipe(json.dumps(told))
