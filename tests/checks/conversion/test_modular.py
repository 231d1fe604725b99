"""Tasks of Mammoth as directions: a component for each group and stack, embeddings by language."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from trimtab.checks.convert import convert
from trimtab.config.load import parse_recipe
from trimtab.config.modular_model import ModularModel

SHARED = {"model_dim": 64, "batch_size": 512, "batch_type": "tokens", "train_steps": 50, "optim": "adam"}
SHARED |= {"learning_rate": 0.001, "warmup_steps": 5, "decay_method": "linear_warmup", "max_grad_norm": 1.0}
SHARED |= {"x_transformers_opts": {"heads": 4, "rotary_pos_emb": True, "tie_embedding": True}}
SHARED |= {"src_vocab": {"en": "v", "de": "v", "fr": "v"}, "tgt_vocab": {"en": "v", "de": "v", "fr": "v"}}


def task(pair: str, encoder: list[str], decoder: list[str], **more: Any) -> dict[str, Any]:
    source, target = pair.split("-")
    own = {"src_tgt": pair, "path_src": f"{pair}.{source}", "path_tgt": f"{pair}.{target}", **more}
    groups = {"enc_sharing_group": encoder, "dec_sharing_group": decoder} if encoder else {}
    return {**own, **groups}


def converted(folder: Path, tree: dict[str, Any]) -> Any:
    path = folder / "mammoth.yaml"
    with path.open("w", encoding="utf-8") as file:
        YAML().dump({**SHARED, **tree}, file)
    found = convert(path, kind="mammoth")
    assert found.is_trainable, found.recipe_text
    return found, parse_recipe(found.recipe_text, path=path).recipe


def test_a_group_is_a_component_for_each_stack(tmp_path: Path) -> None:
    tasks = {
        "en-de": task("en-de", ["en", "full", "de"], ["de"], src_prefix="<to_de>"),
        "de-en": task("de-en", ["de", "full", "en"], ["en"], src_prefix="<to_en>"),
    }
    found, recipe = converted(tmp_path, {"tasks": tasks, "enc_layers": [2, 3, 1], "dec_layers": [2]})
    model = recipe.model
    assert isinstance(model, ModularModel)
    assert model.encoder_components == {"en_0": 2, "full_1": 3, "de_2": 1, "de_0": 2, "en_2": 1}
    assert model.decoder_components == {"de": 2, "en": 2}
    assert model.directions["en-de"].encoder == ("en_0", "full_1", "de_2")
    assert (model.embeddings, model.encoder_layers) == ("language", 6)
    assert recipe.data.train[0].tags == ("<to_de>",)
    left = {setting.key.rpartition(".")[2] for setting in found.unmatched}
    assert not left & {"enc_sharing_group", "dec_sharing_group", "enc_layers", "src_prefix", "en", "de"}


@pytest.mark.parametrize("key", ["data", "tasks"])
def test_tasks_without_groups_have_an_encoder_and_a_decoder_for_each_language(
    tmp_path: Path, key: str
) -> None:
    tasks = {f"train_{pair}": task(pair, [], []) for pair in ("en-de", "en-fr", "de-en")}
    _, recipe = converted(tmp_path, {key: tasks, "enc_layers": [2], "dec_layers": [2]})
    model = recipe.model
    assert isinstance(model, ModularModel)
    assert set(model.directions) == {"en-de", "en-fr", "de-en"}
    assert model.directions["en-fr"].encoder == ("en",)
    assert model.directions["en-fr"].decoder == ("fr",)
    assert [corpus.direction for corpus in recipe.data.train] == ["en-de", "en-fr", "de-en"]


def test_validation_files_of_tasks_are_of_their_directions(tmp_path: Path) -> None:
    valid = {"path_valid_src": "v.en", "path_valid_tgt": "v.de"}
    tasks = {
        "first": task("en-de", ["full"], ["de"], **valid),
        "en-fr": task("en-fr", ["full"], ["fr"], **valid),
    }
    _, recipe = converted(tmp_path, {"tasks": tasks, "enc_layers": [2], "dec_layers": [2]})
    assert {name: files.direction for name, files in recipe.data.valid.items()} == {
        "first": "en-de",
        "en-fr": "en-fr",
    }


def test_a_single_task_stays_a_plain_model(tmp_path: Path) -> None:
    tasks = {"en-de": task("en-de", ["full"], ["full"])}
    _, recipe = converted(tmp_path, {"tasks": tasks, "enc_layers": [2], "dec_layers": [2]})
    assert recipe.model.kind == "encoder_decoder"


def test_tasks_of_one_pair_have_directions_of_their_own_whatever_they_are_called(tmp_path: Path) -> None:
    tasks = {
        "first": task("en-de", ["all"], ["de"]),
        "en-de": task("en-de", ["all"], ["x"], path_src="b.en", path_tgt="b.de"),
        "of/en de": task("en-de", ["all"], ["y"], path_src="c.en", path_tgt="c.de"),
        "of en/de": task("en-de", ["all"], ["z"], path_src="d.en", path_tgt="d.de"),
    }
    _, recipe = converted(tmp_path, {"tasks": tasks, "enc_layers": [2], "dec_layers": [2]})
    model = recipe.model
    assert isinstance(model, ModularModel)
    assert [way.decoder for way in model.directions.values()] == [("de",), ("x",), ("y",), ("z",)]
    assert len({each.direction for each in recipe.data.train}) == 4


def test_codes_that_no_direction_can_have_are_spelled_otherwise(tmp_path: Path) -> None:
    pairs = ("eng.Latn-deu.Latn", "deu.Latn-eng.Latn")
    _, recipe = converted(
        tmp_path,
        {
            "tasks": {pair: task(pair, ["all"], [pair[:3]]) for pair in pairs},
            "enc_layers": [1],
            "dec_layers": [1],
        },
    )
    model = recipe.model
    assert isinstance(model, ModularModel)
    assert list(model.directions) == ["eng_Latn-deu_Latn", "deu_Latn-eng_Latn"]
