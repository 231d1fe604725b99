from itertools import pairwise

import pytest
import torch
from safetensors.torch import load_file

from tests.label_run import label_recipe, label_sources, small_texts
from tests.module_folder import ENCODERS, families, module_folder
from tests.module_run import SHORT, again_from_the_middle
from trimtab.build import build
from trimtab.config.freezing import FrozenUntil
from trimtab.errors import InputError
from trimtab.launch import train
from trimtab.model.freeze import Unfreezing, freeze, matched
from trimtab.step.multipliers import layers_above
from trimtab.units import Duration


def parts_of(folder, family, **model):
    module_folder(folder / "base", family)
    changes = {"data.tokenizer": None, "data.max_tokens": 60}
    given = {"kind": "pretrained", "path": "base", **model}
    return build(*label_sources(folder, model=given, **changes), device=torch.device("cpu"))


@pytest.mark.parametrize("family", families(ENCODERS, quick=("bert",)))
def test_logits_are_those_of_transformers(tmp_path, family):
    parts = parts_of(tmp_path, family)
    parts.model.fill(parts.recipe.model.path)
    model = parts.model.eval()
    rows = parts.datasets.reader.rows([text for text, _ in small_texts(5)])
    (batch,) = parts.batching.whole_set(rows, torch.zeros(5).numpy().astype("int32"))
    with torch.inference_mode():
        found = (model(batch) @ model.output_matrix.T)[:, :3]
        for number in range(5):
            alone = model.network(input_ids=torch.tensor([rows.row(number).tolist()])).logits[0]
            assert torch.allclose(found[number], alone, atol=1e-5)


def test_the_head_is_trained_where_no_layer_is(tmp_path):
    parts = parts_of(tmp_path, "distilbert", trained_layers=0)
    trained = {name for name, each in parts.model.named_parameters() if each.requires_grad}
    assert trained == {
        f"network.{name}.{each}" for name in ("classifier", "pre_classifier") for each in ("weight", "bias")
    }
    assert parts.model.frozen.isdisjoint(trained)


def test_more_layers_than_there_are_are_refused(tmp_path):
    with pytest.raises(InputError, match="more than the model has"):
        parts_of(tmp_path, "bert", trained_layers=3)


@pytest.mark.parametrize("family", families(ENCODERS, quick=("distilbert",)))
def test_parts_freeze_and_thaw_by_the_names_of_transformers(tmp_path, family):
    model = parts_of(tmp_path, family).model
    freeze(model, ["network.*.embeddings.*"])
    lower = "network.*layer.0.*"
    later = Unfreezing(model, [FrozenUntil(weights=(lower,), until=Duration(2, "steps"))])
    names = {name for name, _ in model.named_parameters()}
    embeddings, first = matched(model, ["network.*.embeddings.*"]), matched(model, [lower])
    assert embeddings
    assert first
    for step, frozen in ((0, embeddings | first), (2, embeddings)):
        later.begin(step)
        assert {name for name, each in model.named_parameters() if not each.requires_grad} == frozen
    above = layers_above({name: model.role_of(name) for name in names})
    assert {above[name] for name in embeddings} == {2}
    assert {above[name] for name in first} == {1}
    assert {above[name] for name in names - embeddings - first} == {0}


@pytest.mark.slow
def test_a_run_thaws_a_layer_and_resumes_with_the_same_bits(tmp_path):
    module_folder(tmp_path / "base", "bert")
    later = {"weights": ["network.bert.encoder.layer.0.*"], "until": "2 steps"}
    rates = {"kind": "adamw", "learning_rate": 1e-3, "learning_rate_multipliers": {"layer_decay": 0.5}}
    changes = {**SHORT, "freeze": ["network.bert.embeddings.*", later], "data.tokenizer": None}
    changes |= {"checkpoint": {"every": "1 steps", "keep": 4}, "step.optimizer": rates}
    recipe = label_recipe(tmp_path, **changes)
    run = train(recipe, out=tmp_path / "run").run
    weights = [load_file(run / f"checkpoints/step-0000000{step}/model.safetensors") for step in (1, 2, 3)]
    moved = [
        {name for name in one if not torch.equal(one[name], other[name])} for one, other in pairwise(weights)
    ]
    lower = {name for name in weights[0] if "layer.0." in name}
    assert moved[1] - moved[0] == lower
    assert not any("embeddings" in name for name in moved[1])
    again_from_the_middle(run, tmp_path / "copy", recipe)
