import pytest
import torch
from safetensors.torch import load_file

import trimtab
from tests.module_folder import LANGUAGES, families, module_folder, oracle, oracle_tokenizer
from tests.module_run import SHORT, again_from_the_middle
from tests.small_run import small_pairs, small_recipe, small_sources
from trimtab.build import build
from trimtab.errors import InputError
from trimtab.inference import Translator

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


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


def test_the_export_of_a_translator_is_loaded_again_scores_the_same_and_learns_on(trained_run, tmp_path):
    """Weights that trimtab trained, in the form of Marian or Pegasus, are a pretrained model like any other."""
    lines = [line for line, _ in small_pairs(3, seed=9)]
    (tmp_path / "few.txt").write_text("\n".join(lines))
    few = {"source": tmp_path / "few.txt", "reference": tmp_path / "few.txt"}
    trimtab.export_model(trained_run, to="hf", out=tmp_path / "hf", **few)
    changes = {
        "data.tokenizer": None,
        "data.max_tokens": 32,
        "model": {"kind": "pretrained", "path": "hf", "dropout": 0.0},
    }
    recipe, datasets = small_sources(tmp_path, **changes)
    parts = build(recipe, datasets, device=torch.device("cpu"))
    parts.model.fill(recipe.model.path)
    ours = Translator.of(parts, parts.model.eval(), beam=2, tags=()).translate(lines)
    assert [*ours] == [*trimtab.load_translator(trained_run, beam=2).translate(lines)]
    batch = parts.examples.few()
    before = parts.stepper.loss(parts.model.train(), batch).objective
    before.backward()
    with torch.no_grad():
        for weight in parts.model.parameters():
            if weight.grad is not None:
                weight -= 1e-5 * weight.grad
        assert parts.stepper.loss(parts.model, batch).objective < before
