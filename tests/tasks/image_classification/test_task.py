import pytest

from tests.diffusion_run import CLASSIFIER, CLASSIFIES, diffusion_recipe
from tests.image_run import sources_of
from tests.short_run import model_sha
from trimtab.build import build
from trimtab.checkpoint.journal import read_journal
from trimtab.errors import InputError
from trimtab.launch import train
from trimtab.tasks.image_classification.task import IMAGE_CLASSIFICATION
from trimtab.tasks.task import Batching, ComputesLoss, Datasets
from trimtab.training.preflight import preflight


def test_what_it_gives_a_run_is_what_every_run_asks_for(opened):
    parts = build(*opened)
    assert parts.task is IMAGE_CLASSIFICATION
    assert isinstance(parts.datasets, Datasets)
    assert isinstance(parts.batching, Batching)
    assert isinstance(parts.stepper.loss, ComputesLoss)


@pytest.mark.quick("class token")
@pytest.mark.parametrize(
    "changes",
    [{"pool": "class_token", "stem": "patch", "drop_path": 0.2}, {"pool": "softmax", "registers": 2}],
    ids=["class token", "softmax"],
)
def test_no_check_before_the_first_step_finds_anything(opened, changes):
    recipe, datasets = opened
    model = recipe.model.model_copy(update=changes)
    parts = build(recipe.model_copy(update={"model": model}), datasets)
    assert [f"{each.code} {each.message}" for each in preflight(parts)] == []


def test_a_run_leaves_metrics_of_labels(image_classifier_run):
    (*_, last) = read_journal(image_classifier_run / "evaluations.jsonl")
    assert 0 <= last["accuracy"] <= 1
    (*_, sample) = read_journal(image_classifier_run / "samples.jsonl")
    assert sample["source"].endswith(".png")
    assert sample["label"] in ("disk", "square")


@pytest.mark.slow
def test_a_run_that_resumes_ends_with_the_same_bits(image_classifier_run, tmp_path):
    recipe, run = diffusion_recipe(tmp_path, **CLASSIFIES), tmp_path / "run"
    train(recipe, out=run, overrides=["length=3 steps"])
    train(recipe, out=run, resume=True)
    assert model_sha(run, 6) == model_sha(image_classifier_run, 6)


@pytest.mark.slow
def test_it_learns_to_tell_disks_from_squares(tmp_path, own_cache):
    augment = {"rotation": 5, "shear": 0, "shift": 0.1, "blur": 0, "noise": 0, "invert": 0}
    changes = {
        **CLASSIFIES,
        "model": {**CLASSIFIER, "dim": 32, "layers": 2},
        "data.images.augment": augment,
        "step.tokens_per_step": 48,
        "length": "200 steps",
        "evaluate.every": "200 steps",
        "checkpoint.every": "200 steps",
    }
    run = train(diffusion_recipe(tmp_path, **changes), out=tmp_path / "run").run
    (*_, last) = read_journal(run / "evaluations.jsonl")
    assert last["accuracy"] > 0.9


def test_images_without_a_class_and_a_single_class_are_refused(tmp_path):
    path = diffusion_recipe(tmp_path, **CLASSIFIES)
    (tmp_path / "train" / "labels.tsv").write_text(
        "disk/000.png\tdisk\ndisk/001.png\t\nsquare/000.png\tsquare\n"
    )
    with pytest.raises(InputError, match=r"labels.tsv:2: an image without a class"):
        sources_of(path.parent)
    (tmp_path / "tokenizer" / "labels.json").unlink()
    (tmp_path / "train" / "labels.tsv").write_text("disk/000.png\tdisk\n")
    (tmp_path / "valid" / "labels.tsv").write_text("disk/000.png\tdisk\n")
    with pytest.raises(InputError, match="at least two classes"):
        sources_of(path.parent)


@pytest.mark.slow
def test_a_classifier_learns_the_vectors_of_another(image_classifier_run, tmp_path):
    changes = {**CLASSIFIES, "loss.feature_matching": {"teacher": str(image_classifier_run)}, "seed": 9}
    run = train(diffusion_recipe(tmp_path, **changes), out=tmp_path / "run").run
    lines = read_journal(run / "metrics.jsonl")
    assert all(each["objective"] > each["loss"] + 0.01 for each in lines)
