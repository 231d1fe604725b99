import pytest
import torch

import trimtab
from tests.module_folder import LANGUAGES, families, module_folder, oracle, oracle_tokenizer
from tests.module_run import SHORT, again_from_the_middle
from tests.small_run import small_pairs, small_recipe
from trimtab.errors import InputError


@pytest.mark.parametrize("family", families(("marian", "nllb"), quick=("marian",)))
def test_a_translator_is_trained_resumed_and_exported(tmp_path, family):
    module_folder(tmp_path / "base", family)
    path = small_recipe(tmp_path, **SHORT, **{"data.tokenizer": LANGUAGES.get(family)})
    trimtab.train(path, out=tmp_path / "run")
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
    for name, what in (("run", "a pretrained model that transformers computes"), ("hf", "an exported model")):
        with pytest.raises(InputError, match=what):
            trimtab.load_translator(tmp_path / name).with_shortlist(tmp_path / "shortlist")
    again_from_the_middle(tmp_path / "run", tmp_path / "again", path)
