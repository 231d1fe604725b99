import json

import pytest

from tests.for_each import for_each
from tests.small_run import small_recipe
from trimtab.config.export_targets import obstacles
from trimtab.config.load import load_recipe
from trimtab.config.pretrained.families import FAMILIES, NATIVE, check_task, family_of
from trimtab.config.render import render_recipe
from trimtab.config.task_facts import facts_of
from trimtab.config.task_record import TASKS
from trimtab.errors import InputError

MARIAN = {
    "model_type": "marian", "d_model": 32, "vocab_size": 60, "decoder_vocab_size": 50, "max_position_embeddings": 128,
    "dropout": 0.2, "architectures": ["MarianMTModel"],
}  # fmt: skip

BOTH = {"source": "a", "target": "b", "both_directions": True, "tags": ["<x>"], "reverse_tags": ["<y>"]}


def recipe_of(tmp_path, settings, generation=None, **changes):
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "config.json").write_text(json.dumps(settings))
    if generation:
        (tmp_path / "base" / "generation_config.json").write_text(json.dumps(generation))
    given = {"model": {"kind": "pretrained", "path": "base"}, "data.tokenizer": None, **changes}
    return load_recipe(small_recipe(tmp_path, **given)).recipe


def test_each_family_is_for_a_task_that_has_examples():
    assert {family.task for family in FAMILIES.values()} == {
        task for task in TASKS if facts_of(task).pretrained
    }
    for name, family in FAMILIES.items():
        assert family_of({"model_type": name}, task=family.task, name="x") is family


@for_each("task", TASKS)
def test_a_model_for_another_task_is_refused_whatever_the_task(task):
    if task == NATIVE.task:
        check_task(NATIVE, "GGUF", task=task, name="x.gguf")
        return
    with pytest.raises(InputError, match="for another task") as refused:
        check_task(NATIVE, "GGUF", task=task, name="x.gguf")
    assert "set `task: language_model`" in str(refused.value)


def test_a_recipe_records_what_the_files_say(tmp_path):
    recipe = recipe_of(tmp_path, MARIAN, {"decoder_start_token_id": 49}, **{"data.max_tokens": None})
    model = recipe.model
    assert (model.kind, model.family, model.dim, model.dropout) == ("transformers", "marian", 32, 0.2)
    assert (model.num_ids, model.num_source_ids) == (50, 60)
    assert json.loads(model.settings)["decoder_start_token_id"] == 49
    assert recipe.data.max_tokens == 128  # no longer than the model has positions for
    assert recipe.data.tokenizer.kind == "pretrained"
    assert recipe.begins_trained
    (tmp_path / "again.yaml").write_text(
        render_recipe(recipe.model_copy(update={"model": model.model_copy(update={"sha256": "0" * 64})}))
    )
    (tmp_path / "base" / "config.json").unlink()
    assert load_recipe(tmp_path / "again.yaml").recipe.model.settings == model.settings


@pytest.mark.parametrize(
    ("settings", "changes", "message"),
    [
        ({**MARIAN, "model_type": "whisper"}, {}, "models of this family are not supported"),
        ({**MARIAN, "auto_map": {"AutoModel": "x.py"}}, {}, "brings code of its own"),
        ({**MARIAN, "quantization_config": {"bits": 4}}, {}, "quantized weights"),
        ({**MARIAN, "vocab_size": "many"}, {}, "vocab_size is missing or no size"),
        ({**MARIAN, "d_model": None}, {}, "the width of the model is missing"),
        (MARIAN, {"task": "language_model"}, "a marian model is for another task"),
        ({**MARIAN, "model_type": "llama"}, {}, "a llama model is for another task"),
        (MARIAN, {"data.max_tokens": 129}, "was not trained on sequences of this length"),
        (MARIAN, {"model.dim": 64}, r"model\.dim: base has another value"),
        (MARIAN, {"data.tokenizer": {"kind": "sentencepiece"}}, "knows the ids of its own tokenizer alone"),
        (MARIAN, {"model.trained_layers": 1}, "only classifiers can keep layers"),
        (MARIAN, {"step.compile": "on"}, "neither compiles nor records"),
        (MARIAN, {"step.cuda_graph": "on"}, "neither compiles nor records"),
        (MARIAN, {"data.train": [{"source": "a", "target": "b", "tags": ["<x>"]}]}, "has no tags"),
        (MARIAN, {"data.train": [BOTH]}, "reads one language"),
        (MARIAN, {"data.transforms": [{"kind": "protect"}]}, "needs symbols"),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_is_refused_by_its_name(tmp_path, settings, changes, message):
    with pytest.raises(InputError, match=message):
        recipe_of(tmp_path, settings, **changes)


def test_it_is_exported_to_its_own_form_alone(tmp_path):
    model = recipe_of(tmp_path, MARIAN).model
    assert obstacles("hf", model=model, transforms=()) == []
    assert obstacles("peft", model=model, transforms=()) == []
    for target in ("onnx", "ctranslate2"):
        assert "to its own form alone" in obstacles(target, model=model, transforms=())[0].what


def test_classes_that_are_no_list_are_shown_as_they_are():
    with pytest.raises(InputError, match="not supported") as caught:
        family_of({"model_type": "mixtral", "architectures": 3}, task="language_model", name="c")
    assert "got     3" in str(caught.value)
