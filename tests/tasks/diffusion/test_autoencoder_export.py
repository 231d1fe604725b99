import json

import pytest

from trimtab.errors import InputError
from trimtab.exporting import export_model


def test_the_folder_is_for_diffusers_and_has_the_statistics(autoencoder_run, tmp_path):
    exported = export_model(autoencoder_run, to="hf", out=tmp_path / "out")
    assert exported.gate.passed
    told = json.loads((tmp_path / "out" / "config.json").read_text())
    assert told["_class_name"] == "AutoencoderTiny"
    assert told["encoder_block_out_channels"] == [8, 8, 8]
    assert told["scaling_factor"] > 0
    assert "step 6" in exported.render()


def test_other_targets_are_refused(autoencoder_run, tmp_path):
    with pytest.raises(InputError, match="is an autoencoder"):
        export_model(autoencoder_run, to="onnx", out=tmp_path / "out")


@pytest.mark.slow
def test_diffusers_opens_the_folder_without_a_word(autoencoder_run, tmp_path):
    diffusers = pytest.importorskip("diffusers")
    export_model(autoencoder_run, to="hf", out=tmp_path / "out")
    _, told = diffusers.AutoencoderTiny.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not any(told.values())
