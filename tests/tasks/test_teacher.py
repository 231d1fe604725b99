import json
import math
import shutil

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import trimtab
from tests.model.test_encoder_decoder import SOURCES, TARGETS, build
from tests.small_run import small_parts, small_recipe
from tests.streams import pack_of
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.load import load_recipe
from trimtab.config.loss import CrossEntropyLoss, FeatureMatching
from trimtab.errors import InputError
from trimtab.inference.chosen_weights import weights_sha256
from trimtab.loss.build import build_loss
from trimtab.tasks.teacher import Teacher, feature_distance, projection
from trimtab.tasks.text.losses import OutputMatrixLoss
from trimtab.training.resumed import with_chosen_values, without_paths
from trimtab.types import IGNORE

PACK = pack_of(SOURCES, TARGETS)
CPU = torch.device("cpu")


def loss_with(model, teacher, **config):
    matching = FeatureMatching(teacher="runs/teacher", **config)
    plain = build_loss(CrossEntropyLoss(), num_ids=90, device=CPU)
    return OutputMatrixLoss(plain, Teacher(teacher, matching, dim=model.dim, device=CPU))


def test_a_model_that_is_its_teacher_has_nothing_to_learn_from_it():
    found = loss_with(build(), build())(build(), PACK)
    plain = OutputMatrixLoss(build_loss(CrossEntropyLoss(), num_ids=90, device=CPU))(build(), PACK)
    torch.testing.assert_close(found.objective, plain.objective, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize(("distance", "dim"), [("cosine", 32), ("mse", 32), ("cosine", 64)])
def test_the_distance_is_added_once_for_each_target_and_falls_by_its_gradient(distance, dim):
    model, teacher = build(), build(dim=dim, layers=1)
    loss = loss_with(model, teacher, distance=distance, weight=3.0)
    found = loss(model, PACK)
    hidden, wanted = model(PACK), teacher.eval()(PACK)
    if dim != 32:
        wanted = wanted @ loss.teacher.projection.T
    apart = (
        (hidden - wanted).square().mean(-1)
        if distance == "mse"
        else 1 - torch.cosine_similarity(hidden, wanted, dim=-1)
    )
    added = found.objective - OutputMatrixLoss(loss.loss)(model, PACK).objective
    torch.testing.assert_close(added, 3.0 * apart[PACK.labels != IGNORE].sum(), atol=1e-3, rtol=1e-4)
    optimizer, first = torch.optim.Adam(model.parameters(), lr=3e-3), float(apart.detach().sum())
    for _ in range(5):
        optimizer.zero_grad()
        loss(model, PACK).objective.backward()
        optimizer.step()
    assert all(each.grad is None for each in teacher.parameters())
    after = loss.teacher.add_distance(found, model(PACK), PACK, labels=PACK.labels, training=True)
    assert float(after.objective - found.objective) / 3.0 < 0.95 * first


def test_an_evaluation_is_not_matched():
    model = build().eval()
    loss = loss_with(model, build(dim=64, layers=1))
    assert torch.equal(loss(model, PACK).objective, OutputMatrixLoss(loss.loss)(model, PACK).objective)


def test_the_recipe_of_a_run_names_the_checkpoint_and_the_weights_of_its_teacher(trained_run, tmp_path):
    shutil.copytree(trained_run / "tokenizer", tmp_path / "tokenizer")
    parts = small_parts(tmp_path, **{"loss.feature_matching": {"teacher": str(trained_run)}})
    found = parts.recipe.loss.feature_matching
    checkpoint = resolve_checkpoint(str(trained_run))
    assert found.teacher == f"{trained_run}@60"
    assert found.sha256 == weights_sha256(checkpoint, load_recipe(trained_run / "recipe.yaml").recipe)


def test_a_resumed_run_keeps_its_teacher_which_may_have_trained_on(tmp_path):
    tree = {"loss.feature_matching": {"teacher": "/runs/a@500", "sha256": "ab"}}
    begun = load_recipe(small_recipe(tmp_path, **tree)).recipe
    for written, is_kept in (
        ({"teacher": "/runs/a"}, True),
        ({"teacher": "/runs/a@last"}, True),
        ({"teacher": "/runs/a@500"}, True),
        ({"teacher": "/runs/b"}, False),
        ({"teacher": "/runs/a@400"}, False),
        ({"teacher": "/runs/a", "sha256": "cd"}, False),
    ):
        loss = begun.loss.model_copy(update={"feature_matching": FeatureMatching(**written)})
        found = with_chosen_values(begun.model_copy(update={"loss": loss}), RunFolder(tmp_path)).loss
        assert found == (begun.loss if is_kept else loss)


def test_a_run_goes_on_where_its_teacher_was_moved(tmp_path):
    def marks(teacher, sha256):
        tree = {"loss.feature_matching": {"teacher": teacher, "sha256": sha256}}
        return without_paths(load_recipe(small_recipe(tmp_path, **tree)).recipe)

    assert marks("/here/a@500", "ab") == marks("/there/a@500", "ab")
    assert marks("/here/a@500", "ab") != marks("/here/a@500", "cd")


@pytest.mark.slow
def test_a_run_learns_from_another_and_refuses_one_that_reads_something_else(tmp_path):
    short = {"length": "6 steps", "checkpoint.every": "3 steps", "step.schedule.warmup": "2 steps"}
    teacher = trimtab.train(small_recipe(tmp_path, **short), out=tmp_path / "teacher").run
    changes = {**short, "loss.feature_matching": {"teacher": "teacher"}, "model.dim": 16}
    recipe = small_recipe(tmp_path, **changes)
    run = trimtab.train(recipe, out=tmp_path / "student").run
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert all(each["objective"] > each["loss"] + 0.05 for each in lines)
    longer = {**short, "length": "9 steps"}
    trimtab.train(small_recipe(tmp_path, **longer), out=teacher, resume=True)
    recipe = small_recipe(tmp_path, **{**changes, "length": "9 steps"})
    again = trimtab.train(recipe, out=tmp_path / "student", resume=True).run
    assert again == run
    assert load_recipe(run / "recipe.yaml").recipe.loss.feature_matching.teacher == f"{teacher}@6"
    for changed, words in (
        ({"data.tokenizer.vocabulary_size": 60}, "another task and tokenizer"),
        ({"loss.feature_matching": {"teacher": "teacher", "sha256": "0" * 64}}, "holds other weights"),
        ({"loss.feature_matching": {"teacher": "none"}}, "none"),
    ):
        with pytest.raises(InputError, match=words):
            trimtab.train(small_recipe(tmp_path, **{**changes, **changed}), out=tmp_path / "other")
    assert teacher.is_dir()


def slow_twin(hidden, wanted, labels, *, distance):
    total = 0.0
    for one, other, label in zip(hidden.tolist(), wanted.tolist(), labels.tolist(), strict=True):
        if label == IGNORE:
            continue
        if distance == "mse":
            total += sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) / len(one)
        else:
            product = sum(a * b for a, b in zip(one, other, strict=True))
            total += 1 - product / math.dist(one, [0] * len(one)) / math.dist(other, [0] * len(other))
    return total


@given(st.integers(1, 9), st.sampled_from(["cosine", "mse"]), st.integers(0, 2**31))
def test_it_is_the_sum_over_the_targets_that_count(targets, distance, seed):
    generator = torch.Generator().manual_seed(seed)
    hidden, wanted = (torch.randn(targets, 6, generator=generator) for _ in range(2))
    labels = torch.where(torch.rand(targets, generator=generator) < 0.3, IGNORE, 5)
    found = feature_distance(hidden, wanted, labels, distance=distance)
    assert float(found) == pytest.approx(slow_twin(hidden, wanted, labels, distance=distance), abs=1e-4)
    cut = targets // 2  # a sum does not depend on how a step is cut
    pieces = [
        feature_distance(hidden[part], wanted[part], labels[part], distance=distance)
        for part in (slice(cut), slice(cut, None))
    ]
    torch.testing.assert_close(found, sum(pieces, torch.zeros(())), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("of", "to"), [(8, 8), (64, 16), (16, 64)])
def test_a_projection_is_orthonormal_and_keeps_lengths_on_average(of, to):
    found = projection(of, to, seed=0)
    assert found.shape == (to, of)
    assert torch.equal(found, projection(of, to, seed=0))
    gram = found @ found.T if to <= of else found.T @ found
    torch.testing.assert_close(gram, torch.eye(min(of, to)) * max(1, of / to), atol=1e-5, rtol=1e-5)
    x = torch.randn(2000, of, generator=torch.Generator().manual_seed(1))
    assert float((x @ found.T).square().sum() / x.square().sum()) == pytest.approx(1.0, abs=0.05)
