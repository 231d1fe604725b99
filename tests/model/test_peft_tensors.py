import pytest
import torch

from tests.model.test_lora import adapted, filled, logits
from trimtab.config.adapter import LoraAdapter
from trimtab.errors import InputError
from trimtab.model.peft_tensors import peft_settings, peft_tensors, settings_of_peft, take_peft_tensors


def test_an_adapter_goes_to_the_names_of_peft_and_back():
    model, other = filled(adapted()), adapted()
    tensors = {name: each.detach().clone() for name, each in peft_tensors(model)}
    assert tensors["base_model.model.model.layers.1.self_attn.k_proj.lora_A.weight"].shape == (4, 32)
    assert tensors["base_model.model.model.layers.0.mlp.down_proj.lora_B.weight"].shape == (32, 4)
    take_peft_tensors(other, tensors, name="x")
    assert torch.equal(logits(other), logits(model))


def test_matrices_of_another_model_are_refused():
    tensors = dict(peft_tensors(filled(adapted(rank=2))))
    tensors.pop("base_model.model.model.layers.0.mlp.up_proj.lora_A.weight")
    with pytest.raises(InputError, match="not an adapter of this model") as error:
        take_peft_tensors(adapted(), {**tensors, "extra": torch.zeros(1)}, name="x")
    assert "1 missing" in error.value.problems[0].got
    assert "27 of another shape" in error.value.problems[0].got


def test_matrices_of_whole_numbers_are_refused():
    tensors = {name: each.detach().to(torch.int8) for name, each in peft_tensors(filled(adapted()))}
    with pytest.raises(InputError, match="not an adapter of this model") as error:
        take_peft_tensors(adapted(), tensors, name="x")
    assert "in int8" in error.value.problems[0].got


def test_what_a_file_leaves_out_is_as_peft_takes_it():
    said = peft_settings(LoraAdapter(rank=4), base="base")
    assert settings_of_peft({**said, "r": 4} | {"lora_alpha": 2}, name="x").scale == 0.5
    left_out = {key: value for key, value in said.items() if key not in ("r", "lora_alpha")}
    found = settings_of_peft(left_out, name="x")
    assert (found.rank, found.alpha_used) == (8, 8)


def test_settings_come_back():
    config = LoraAdapter(rank=8, alpha=4, rslora=True, targets=("q_proj", "v_proj"))
    found = settings_of_peft(peft_settings(config, base="base"), name="x")
    assert (found.rank, found.scale, set(found.names)) == (8, config.scale, {"q_proj", "v_proj"})


@pytest.mark.parametrize(
    "change",
    [
        {"modules_to_save": ["score"]},
        {"target_modules": ["c_attn"]},
        {"r": None},
        {"lora_alpha": None},
        {"use_rslora": "maybe"},
        *({"init_lora_weights": each} for each in ("pissa", "pissa_niter_4", "olora", "corda", "loftq")),
        {"layers_pattern": "layers"},
        {"alora_invocation_tokens": [1, 2]},
    ],
)
def test_what_is_not_plain_lora_is_refused(change):
    said = {**peft_settings(LoraAdapter(), base="base"), **change}
    with pytest.raises(
        InputError, match=r"plain LoRA|modules_to_save|not an adapter that fits|target_modules"
    ):
        settings_of_peft(said, name="x")
