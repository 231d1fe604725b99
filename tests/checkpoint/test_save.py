import hashlib
import json
from pathlib import Path

import pytest
import torch

from tests.checkpoint.small_run import FINGERPRINTS, model_at, optimizer_at, state_at
from trimtab.checkpoint.load import open_checkpoint
from trimtab.checkpoint.save import Contents, take_contents, write_checkpoint


@pytest.fixture
def contents() -> Contents:
    return take_contents(state_at(3), model=model_at(3), optimizer=optimizer_at(3), fingerprints=FINGERPRINTS)


def test_the_manifest_says_size_and_hash_of_each_file_and_name_type_and_shape_of_each_tensor(
    contents: Contents, tmp_path: Path
):
    folder = tmp_path / "step-00000003"
    manifest = write_checkpoint(folder, contents, parent=None)
    fields = json.loads((folder / "manifest.json").read_bytes())
    assert fields["digest"] == manifest.digest
    for name, record in fields["files"].items():
        content = (folder / name).read_bytes()
        assert record == {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert sum(record["size"] for record in fields["files"].values()) == contents.size
    assert fields["tensors"]["model.safetensors"] == {
        "encoder.weight": {"dtype": "F32", "shape": [3, 4]},
        "embedding": {"dtype": "BF16", "shape": [5, 2]},
        "scale": {"dtype": "F32", "shape": []},
    }
    assert fields["fingerprints"] == FINGERPRINTS
    assert fields["versions"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert fields["versions"].keys() == {"python", "torch", "safetensors", "trimtab"}


def test_a_folder_that_is_there_already_is_never_written_into(contents: Contents, tmp_path: Path):
    folder = tmp_path / "step-00000003"
    folder.mkdir()
    with pytest.raises(FileExistsError):
        write_checkpoint(folder, contents, parent=None)
    assert not list(folder.iterdir())


def test_contents_are_copies(tmp_path: Path):
    model, state = model_at(3), state_at(3)
    contents = take_contents(state, model=model, optimizer={}, fingerprints={})
    model["scale"].zero_()
    state.step = 4
    write_checkpoint(tmp_path / "step-00000003", contents, parent=None)
    found = open_checkpoint(tmp_path / "step-00000003")
    assert found.load_state().step == 3
    assert found.load_model()["scale"] == 3
