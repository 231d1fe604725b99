import json
import shutil

import pytest

from trimtab.errors import InputError
from trimtab.export.hf.llama_engine import LlamaModel
from trimtab.export.hf.marian_engine import HuggingFaceModel
from trimtab.export.manifest import MANIFEST
from trimtab.export.open_export import is_export, read_export


def test_an_export_opens_as_what_its_model_can_do(exported_run, exported_text):
    translator, language_model = read_export(exported_run), read_export(exported_text)
    assert isinstance(translator.open(device="cpu"), HuggingFaceModel)
    assert isinstance(language_model.open(device="cpu"), LlamaModel)
    assert not translator.recipe.facts.continues_texts
    assert language_model.recipe.facts.continues_texts


def test_a_folder_without_a_manifest_is_none(exported_run, tmp_path):
    assert is_export(exported_run)
    assert not is_export(tmp_path)


@pytest.mark.parametrize("target", ["tensorrt", "onnx"])
def test_a_target_that_there_is_not_or_that_takes_no_such_model_is_refused(exported_text, tmp_path, target):
    copy = shutil.copytree(exported_text, tmp_path / "copy")
    manifest = json.loads((copy / MANIFEST).read_text())
    (copy / MANIFEST).write_text(json.dumps({**manifest, "target": target}))
    with pytest.raises(InputError, match=f"an export for '{target}'"):
        read_export(copy).open(device="cpu")
