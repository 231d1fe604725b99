import pytest
import torch

from tests.label_run import label_sources, small_texts
from tests.module_folder import ENCODERS, families, module_folder
from trimtab.build import build
from trimtab.errors import InputError


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
