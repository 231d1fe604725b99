import json
import math

import pytest

from trimtab.config.load import load_recipe
from trimtab.errors import InputError
from trimtab.fit.modular_tasks import instance_of, read_placement, shares_of
from trimtab.fit.native import native_shape
from trimtab.fit.place_tasks import place_tasks
from trimtab.fit.vocabulary import vocabulary_of

MODEL = {
    "kind": "modular",
    "preset": "tiny",
    "encoder_components": {"shared": 3, "de": 1},
    "decoder_components": {"en": 2, "de": 2},
    "directions": {
        "en-de": {"encoder": ["shared"], "decoder": ["de"]},
        "de-en": {"encoder": ["shared.0-1", "de"], "decoder": ["en"]},
    },
}


def recipe(folder, *, model=None, sizes=(100, 300), **changes):
    """A recipe of two directions, with files of so many bytes."""
    for name, size in zip(("t.en", "t.de"), sizes, strict=True):
        (folder / name).write_bytes(b"x" * size)
    tree = {
        "data": {
            "train": [{"source": "t.en", "target": "t.de", "direction": "en-de", "both_directions": True}],
            "valid": {"en-de": {"source": "t.en", "target": "t.de"}},
            "max_tokens": 64,
        },
        "model": {**MODEL, **(model or {})},
        "step": {"tokens_per_step": 4096},
        "length": "9000 steps",
    }
    path = folder / "recipe.yaml"
    path.write_text(json.dumps(tree))
    return load_recipe(path, overrides=[f"{key}={value}" for key, value in changes.items()]).recipe


def test_layers_that_the_same_directions_use_are_one_component(tmp_path):
    instance = instance_of(recipe(tmp_path), tmp_path, ranks=2)
    needs = {task.name: task.needs for task in instance.tasks}
    assert needs == {
        "en-de": {"encoder.shared.0,1", "encoder.shared.2", "decoder.de", "embeddings.shared"},
        "de-en": {"encoder.shared.0,1", "encoder.de", "decoder.en", "embeddings.shared"},
    }
    sizes = instance.bytes_of
    assert sizes["encoder.shared.0,1"] == 2 * sizes["encoder.shared.2"] == 2 * sizes["encoder.de"]


@pytest.mark.parametrize("tied", ["all", "decoder", "none"])
@pytest.mark.parametrize("embeddings", ["shared", "language"])
def test_the_components_are_the_whole_model_but_for_its_last_norms(tmp_path, tied, embeddings):
    own = recipe(tmp_path, model={"tie_embeddings": tied, "embeddings": embeddings})
    instance = instance_of(own, tmp_path, ranks=2)
    whole = native_shape(own, vocabulary_of(own, tmp_path)).parameters * 4
    norms = 4 * 2 * own.model.dim * 4
    assert whole - norms <= sum(instance.bytes_of.values()) <= whole


def test_shares_follow_the_files_the_weights_and_the_temperature(tmp_path):
    assert shares_of(recipe(tmp_path), tmp_path) == pytest.approx({"en-de": 0.75, "de-en": 0.25})
    warm = recipe(tmp_path, **{"data.temperature": 2})
    assert shares_of(warm, tmp_path)["en-de"] == pytest.approx(math.sqrt(3) / (1 + math.sqrt(3)))
    (tmp_path / "t.de").unlink()
    assert shares_of(recipe_without_files(tmp_path), tmp_path) == pytest.approx({"en-de": 0.5, "de-en": 0.5})


def recipe_without_files(folder):
    return load_recipe(folder / "recipe.yaml").recipe


def test_another_model_and_too_small_a_step_are_refused(tmp_path):
    plain = {"data": {"train": [{"source": "a", "target": "b"}], "valid": {"source": "a", "target": "b"}}}
    other = load_recipe({**plain, "model": {"preset": "tiny"}, "length": "9 steps"}).recipe
    with pytest.raises(InputError, match="tasks are the directions of a modular model"):
        instance_of(other, tmp_path, ranks=2)
    own = recipe(tmp_path)
    assert instance_of(own, tmp_path, ranks=64).ranks == 64
    with pytest.raises(InputError, match="too few target tokens") as refused:
        instance_of(own, tmp_path, ranks=65)
    assert "`step.tokens_per_step` to 4160" in str(refused.value)
    assert "--gpus 64" in str(refused.value)


def test_a_placement_is_read(tmp_path):
    instance = instance_of(recipe(tmp_path), tmp_path, ranks=2)
    path = tmp_path / "mine.json"
    path.write_text('{"ranks": [{"en-de": 1}, {"en-de": 0, "de-en": 1.0}]}')
    placement = read_placement(path, instance)
    assert [list(rank) for rank in placement.work] == [[0], [1]]
    assert placement.holders["encoder.shared.0,1"] == 2
    assert placement.holders["decoder.de"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no placement"),
        ("{", "no placement"),
        ("[" * 100_000, "no placement"),
        ("3", "number of ranks differs from --gpus"),
        ('[{"en-de": 1, "de-en": 1}]', "number of ranks differs from --gpus"),
        ('[{"en-de": 1, "de-en": 1}, {}]', "rank 1 has no work"),
        ('[{"en-de": 1}, {"de-fr": 1}]', "rank 1 has a direction that is not in the recipe"),
        ('[{"en-de": 1}, {"de-en": "all"}]', "rank 1: not a share of de-en"),
        ('[{"en-de": 1}, {"de-en": NaN}]', "rank 1: not a share of de-en"),
        ('[{"en-de": 1}, {"de-en": -1}]', "rank 1: not a share of de-en"),
        ('[{"en-de": 1}, {"de-en": true}]', "rank 1: not a share of de-en"),
        ('[{"en-de": 1}, {"de-en": 0.5}]', "shares do not add up to 1"),
    ],
)  # fmt: skip
def test_a_wrong_placement_is_refused(tmp_path, text, said):
    instance = instance_of(recipe(tmp_path), tmp_path, ranks=2)
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_placement(path, instance)


def test_a_placement_that_is_no_file_is_refused(tmp_path):
    instance = instance_of(recipe(tmp_path), tmp_path, ranks=2)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path, tmp_path / "missing", tmp_path / "binary"):
        with pytest.raises(InputError, match="no placement"):
            read_placement(path, instance)


def test_a_direction_of_next_to_no_weight_has_a_rank(tmp_path):
    own = recipe(tmp_path)
    path = tmp_path / "recipe.yaml"
    tree = json.loads(path.read_text())
    other = {"source": "t.en", "target": "u.de", "direction": "de-de", "weight": 1e-12}
    (tmp_path / "u.de").write_bytes(b"x" * 10)
    tree["data"]["train"].append(other)
    tree["model"]["directions"]["de-de"] = {"source": "en", "encoder": ["shared"], "decoder": ["de"]}
    path.write_text(json.dumps(tree))
    instance = instance_of(load_recipe(path).recipe, tmp_path, ranks=2)
    assert len(instance.tasks) == 3 > len(own.model.directions)
    placed = place_tasks(instance)
    assert {name for rank in placed.shares for name in rank} == {"en-de", "de-en", "de-de"}
