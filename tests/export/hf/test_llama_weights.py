"""The arithmetic of every kind of model that can be exported, in the library itself."""

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from tests.export.text_models import network, vocabulary
from trimtab.export.hf.llama_shape import class_name, write_settings
from trimtab.export.hf.llama_weights import named_weights, write_weights
from trimtab.export.hf.marian_weights import WEIGHTS
from trimtab.export.trainer import row_logits

KINDS = {
    "plain": {},
    "grouped queries": {"kv_heads": 2},
    "one head of keys": {"kv_heads": 1, "tie_embeddings": False},
    "normed queries": {"qk_norm": True, "kv_heads": 2},
    "biases": {"bias": True},
    "gated by gelu": {"activation": "geglu", "tie_embeddings": False},
    "longer waves": {"rope_theta": 500_000.0},
}


@pytest.mark.quick("plain", "longer waves")
@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_the_library_computes_the_same_logits(changes, tmp_path):
    model = network(260, **changes)
    write_weights(model, tmp_path)
    write_settings(model.config, vocabulary("bytes"), tmp_path, window=96)
    theirs, found = AutoModelForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    assert type(theirs).__name__ == class_name(model.config)
    assert not any(found[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    rows = torch.randint(0, 260, (3, 60), generator=torch.Generator().manual_seed(2)).tolist()
    with torch.inference_mode():
        ours = torch.stack(row_logits(model, rows))
        difference = (ours - theirs.float()(torch.tensor(rows)).logits).abs().max()
    assert difference < 1e-4
    assert ours.std() > 0.5  # of something that is there to compare


def test_every_number_of_the_model_is_written_once_and_rows_without_an_id_are_not(tmp_path):
    model = network(201, kv_heads=2, tie_embeddings=False)
    write_weights(model, tmp_path)
    written = sum(each.numel() for each in load_file(tmp_path / WEIGHTS).values())
    without_ids = 2 * (256 - 201) * 48
    assert written == model.num_parameters() - without_ids


def test_a_tied_matrix_stands_there_once():
    names = [name for name, _ in named_weights(network(201))]
    assert "lm_head.weight" not in names
    assert len(names) == len(set(names))
