import json

import pytest
import torch

from tests.box_run import SMALL_MODEL, box_recipe, box_sources
from trimtab.config.detector_model import DetectorModel
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.errors import InputError
from trimtab.tasks.detection.detector import load_detector
from trimtab.tasks.detection.model import Detector
from trimtab.tasks.detection.starting import take_run

BACKBONE = "model.backbone."


@pytest.fixture(scope="module")
def old(box_run):
    return load_detector(box_run, device="cpu")


def new(**changes):
    return Detector(DetectorModel(**{**SMALL_MODEL, **changes}), num_labels=2, seed=9)


@pytest.mark.slow
def test_all_weights_or_those_of_the_backbone_are_taken(old):
    whole, part = new(), new(architecture="rt_detr_v2", dim=32)
    said = take_run(old, whole, part="all", name="run", same_categories=True)
    given, own = old.model.network.state_dict(), whole.network.state_dict()
    assert all(own[name].equal(given[name]) for name in own)
    assert said == f"{len(own)} of {len(own)} tensors"
    take_run(old, part, part="backbone", name="run", same_categories=True)
    names = [name for name in part.network.state_dict() if name.startswith(BACKBONE)]
    assert all(part.network.state_dict()[name].equal(given[name]) for name in names)


def test_heads_of_other_categories_stay_untrained(old):
    model = new()
    before = model.network.class_embed[0].weight.clone()
    assert "of heads" in take_run(old, model, part="all", name="run", same_categories=False)
    assert model.network.class_embed[0].weight.equal(before)


def test_a_run_of_another_size_is_refused(old):
    with pytest.raises(InputError, match="is another model"):
        take_run(old, new(dim=32), part="all", name="run", same_categories=True)
    with pytest.raises(InputError, match="is another model"):
        take_run(old, new(backbone_width=32), part="backbone", name="run", same_categories=True)


@pytest.fixture(scope="module")
def saved(old, tmp_path_factory):
    """A folder that transformers saved."""
    folder = tmp_path_factory.mktemp("saved")
    old.model.network.save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_a_folder_of_transformers_is_filled_in_with_its_sizes_and_its_norms_frozen(
    old, saved, tmp_path, own_cache
):
    recipe, datasets = box_sources(tmp_path, model={"kind": "detector", "path": str(saved)})
    assert (recipe.model.dim, recipe.model.queries) == (16, 8)
    assert "d_model" in json.loads(recipe.model.settings)
    model = Detector(recipe.model, num_labels=len(datasets.categories), seed=9).eval()
    taken = model.fill(recipe.model.path)
    assert model.batch_statistics is None
    pixels = torch.rand(1, 3, 64, 64)
    old.model.eval()
    with torch.no_grad():
        one, other = (each.predicted(pixels, None).boxes for each in (model, old.model))
    assert torch.allclose(one, other, atol=1e-6)
    with pytest.raises(InputError, match="holds other weights"):
        model.fill(recipe.model.path, sha256="0" * 64)
    assert len(taken.sha256) == 64


def test_another_architecture_is_refused_by_its_name(saved, tmp_path):
    path = box_recipe(tmp_path, model={"kind": "detector", "path": str(saved), "architecture": "rt_detr_v2"})
    with pytest.raises(InputError, match="no model of this architecture"):
        resolve_paths(load_recipe(path))
