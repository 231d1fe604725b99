import json

import pytest
import torch
from safetensors.torch import save_file

from tests.model.test_lora import adapted, decoder, filled, logits
from trimtab.config.adapter import LoraAdapter
from trimtab.errors import InputError
from trimtab.inference.adapter_folder import put_adapter
from trimtab.model.peft_tensors import peft_settings, peft_tensors


@pytest.fixture
def folder(tmp_path):
    model = filled(adapted())
    tensors = {name: each.detach().contiguous() for name, each in peft_tensors(model)}
    save_file(tensors, tmp_path / "adapter_model.safetensors")
    settings = peft_settings(LoraAdapter(rank=4, alpha=8), base="base")
    (tmp_path / "adapter_config.json").write_text(json.dumps(settings))
    return tmp_path


def test_the_adapter_of_a_folder_computes_what_it_learned(folder):
    model = decoder()
    put_adapter(model, folder, base="base")
    assert torch.equal(logits(model), logits(filled(adapted())))
    with pytest.raises(InputError, match="takes none"):
        put_adapter(model, folder, base="base")


def test_a_folder_without_a_whole_adapter_is_refused(folder):
    (folder / "adapter_model.safetensors").write_bytes(b"no")
    with pytest.raises(InputError, match="not a complete safetensors file"):
        put_adapter(decoder(), folder, base="base")
    (folder / "adapter_config.json").write_text("{")
    with pytest.raises(InputError, match="not valid JSON"):
        put_adapter(decoder(), folder, base="base")
    with pytest.raises(InputError, match="holds no adapter"):
        put_adapter(decoder(), folder / "none", base="base")
