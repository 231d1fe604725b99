"""What may not come out of a folder, whichever class of transformers computes it."""

import builtins
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from trimtab.errors import InputError
from trimtab.export.hf.library import check_finite, require_transformers
from trimtab.export.hf.marian_engine import open_hugging_face

CPU = torch.device("cpu")


def without_a_layer_norm(tensors):
    del tensors["model.decoder.layers.0.final_layer_norm.bias"]


def with_one_more(tensors):
    tensors["model.decoder.extra"] = torch.ones(2)


def with_a_longer_bias(tensors):
    tensors["model.decoder.layers.0.fc2.bias"] = torch.ones(3)


@pytest.mark.quick("with_one_more-1 left over: model.decoder.extra")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_a_layer_norm, "1 missing: model.decoder.layers.0.final_layer_norm.bias"),
        (with_one_more, "1 left over: model.decoder.extra"),
        (with_a_longer_bias, "1 of another shape: model.decoder.layers.0.fc2.bias"),
    ],
)
def test_no_layer_is_drawn_at_random_and_none_left_over(exported_run, tmp_path, change, message):
    spoiled = shutil.copytree(exported_run, tmp_path / "spoiled")
    tensors = load_file(spoiled / "model.safetensors")
    change(tensors)
    save_file(tensors, spoiled / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=message):
        open_hugging_face(spoiled, device=CPU)


def test_a_weight_that_is_no_number_is_wrong_input(exported_run, tmp_path):
    model = open_hugging_face(exported_run, device=CPU)
    check_finite(exported_run, model.network)
    with torch.no_grad():
        model.network.model.decoder.layers[0].fc2.bias[1] = float("nan")
    with pytest.raises(InputError, match=r"not finite in model\.decoder\.layers\.0\.fc2\.bias"):
        check_finite(exported_run, model.network)


@pytest.mark.parametrize("content", [b"", b"\x80\x04.", (2**62).to_bytes(8, "little") + b"{}"])
def test_weights_that_are_no_safetensors_are_wrong_input(exported_run, tmp_path, content):
    spoiled = shutil.copytree(exported_run, tmp_path / "spoiled")
    (spoiled / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match="not the weights of this export"):
        open_hugging_face(spoiled, device=CPU)


def test_without_transformers_the_message_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **options):
        if name.partition(".")[0] == "transformers":
            raise ModuleNotFoundError("No module named 'transformers'", name="transformers")
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r'pip install "trimtab\[train,export\]"'):
        require_transformers()
