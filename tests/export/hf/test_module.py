import pytest
import torch
from safetensors.torch import load_file

import trimtab
from tests.module_folder import LANGUAGES, families, module_folder, oracle, oracle_tokenizer
from tests.module_run import SHORT, again_from_the_middle
from tests.small_run import small_pairs, small_recipe
from trimtab.errors import InputError


@pytest.mark.parametrize("family", families(("marian", "nllb"), quick=("marian",)))
def test_a_translator_is_trained_resumed_and_exported(tmp_path, family):
    module_folder(tmp_path / "base", family)
    kept = {"freeze": ["network.model.encoder.layers.0.*"]}
    path = small_recipe(tmp_path, **SHORT, **kept, **{"data.tokenizer": LANGUAGES.get(family)})
    trimtab.train(path, out=tmp_path / "run")
    weights = load_file(tmp_path / "run/checkpoints/step-00000004/model.safetensors")
    first = load_file(tmp_path / "base/model.safetensors")
    lower = [name for name in first if name.startswith("model.encoder.layers.0.")]
    assert lower
    assert all(torch.equal(weights[f"network.{name}"], first[name]) for name in lower)
    found = trimtab.export_model(tmp_path / "run", to="hf", out=tmp_path / "hf")
    assert found.gate.passed
    assert found.gate.translated_otherwise == found.gate.read_otherwise == ()
    lines = [line for line, _ in small_pairs(3, seed=9)]
    tokenizer, network = oracle_tokenizer(tmp_path / "hf", family), oracle(tmp_path / "hf")
    with torch.inference_mode():
        written = network.generate(**tokenizer(lines, return_tensors="pt", padding=True), max_length=14)
    assert len(written) == len(lines)
    ours = [trimtab.load_translator(tmp_path / name, beam=2).translate(lines) for name in ("run", "hf")]
    assert ours[0] == ours[1]
    with pytest.raises(InputError, match="cannot be cut to a shortlist"):
        trimtab.build_shortlist(tmp_path / "run", out=tmp_path / "shortlist")
    with pytest.raises(InputError, match="a pretrained model that transformers computes"):
        trimtab.load_translator(tmp_path / "run").align(lines[:1], ours[0][:1])
    for name, what in (("run", "a pretrained model that transformers computes"), ("hf", "an exported model")):
        with pytest.raises(InputError, match=what):
            trimtab.load_translator(tmp_path / name).with_shortlist(tmp_path / "shortlist")
    again_from_the_middle(tmp_path / "run", tmp_path / "again", path)
