import json
from pathlib import Path

import pytest

from tests.fit.planning import card, subject_of, text_recipe
from tests.pretrained_folder import SIZES, pretrained_folder
from trimtab.errors import InputError
from trimtab.fit import ask
from trimtab.fit.gpus import GPUS, find_gpu

RECIPE = """
task: language_model
data: {train: [{text: train.txt}], max_tokens: 64}
model: {kind: decoder, preset: tiny}
length: 10 steps
"""


def recipe_file(folder):
    path = folder / "my.yaml"
    path.write_text(RECIPE, encoding="utf-8")
    return path


def test_a_model_alone_is_planned_with_usual_settings(tmp_path):
    folder = pretrained_folder(tmp_path / "model")
    for path in (folder, folder / "config.json"):
        subject = ask.open_subject(path, ["step.tokens_per_micro_batch=4096"])
        assert subject.recipe.step.micro_batch_tokens == 4096
        told = ask.answer_on(subject, find_gpu("rtx-3090"))
        assert told.plan.run.shape.parameters == subject.shape_of(subject.recipe).parameters
        assert told.fits


@pytest.mark.parametrize("kind", ["t5", "marian", "bert", "vit"])
def test_models_of_other_tasks_are_planned_too(tmp_path, kind):
    sizes = {
        "t5": {"d_model": 32, "d_kv": 8, "d_ff": 40, "num_layers": 2, "num_heads": 4, "vocab_size": 90},
        "marian": {
            "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
            "decoder_attention_heads": 4, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40, "vocab_size": 90,
        },
        "bert": {**SIZES},
        "vit": {**SIZES},
    }[kind]  # fmt: skip
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"model_type": kind, **sizes}), encoding="utf-8")
    assert ask.answer_on(ask.open_subject(file), card(8.0)).plan.driver > 0


def test_a_model_stands_in_for_that_of_a_recipe(tmp_path):
    folder = pretrained_folder(tmp_path / "model")
    own = ask.open_subject(recipe_file(tmp_path))
    other = ask.open_subject(recipe_file(tmp_path), model=folder)
    assert other.shape_of(other.recipe).parameters != own.shape_of(own.recipe).parameters
    assert other.recipe == own.recipe


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not valid JSON"),
        ("[1]", "not the settings"),
        ('{"model_type": "mamba"}', "unknown architecture"),
        ('{"model_type": ["llama"]}', "unknown architecture"),
        ('{"model_type": "llama"}', "hidden_size is missing"),
        ('{"model_type": "llama", "hidden_size": NaN}', "hidden_size is no size"),
        ('{"model_type": "llama", "hidden_size": 1e400}', "hidden_size is no size"),
        ('{"model_type": "llama", "hidden_size": "64"}', "hidden_size is no size"),
        ('{"model_type": "llama", "hidden_size": 1' + "0" * 30 + "}", "hidden_size is no size"),
        (
            '{"model_type": "vit", "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, '
            '"num_attention_heads": 2, "num_labels": -5}',
            "do not fit together",
        ),
        ("\x00\xff", "not valid JSON"),
    ],
)
def test_a_config_that_is_none_is_told(tmp_path, content, said):
    file = tmp_path / "config.json"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=said):
        ask.open_subject(file)


def test_a_folder_without_settings_is_told_with_what_is_in_it(tmp_path):
    (tmp_path / "weights.bin").touch()
    with pytest.raises(InputError) as told:
        ask.open_subject(tmp_path)
    assert "has no config.json" in str(told.value)
    assert "weights.bin" in str(told.value)
    with pytest.raises(InputError):
        ask.open_subject(tmp_path / "missing.json")
    with pytest.raises(InputError):
        ask.open_subject(tmp_path / "missing.yaml")


def test_a_card_is_chosen_by_name_by_memory_or_from_this_machine(monkeypatch):
    assert ask.choose_gpus("h100", None) == [find_gpu("h100-80gb")]
    assert len(ask.choose_gpus("all", None)) == len(GPUS)
    (given,) = ask.choose_gpus(None, "24GB")
    assert given.memory_gib == pytest.approx(23.6, abs=0.01)
    monkeypatch.setattr(ask, "local_gpu", lambda: None)
    with pytest.raises(InputError, match="no GPU that `nvidia-smi` knows"):
        ask.choose_gpus(None, None)
    monkeypatch.setattr(ask, "local_gpu", lambda: given)
    assert ask.choose_gpus(None, None) == [given]
    with pytest.raises(InputError, match="one of them"):
        ask.choose_gpus("h100", "24GB")


def test_a_size_that_is_none_of_those_to_solve_for_is_told():
    assert ask.parse_size("batch") == "batch"
    with pytest.raises(InputError, match="batch, length, rank, dim"):
        ask.parse_size("layers")


def test_what_ran_out_of_memory_gets_changes_even_where_the_plan_says_that_it_fits():
    assert "step.compile=on" in ask.changes_after_running_out(text_recipe(), card(80.0))
    assert ask.changes_after_running_out(text_recipe(model__preset="big"), card(1.0)) == ""


def test_a_recipe_that_cannot_be_planned_gets_none(tmp_path):
    tokenizer = {"kind": "pretrained", "path": str(tmp_path / "nowhere")}
    assert ask.changes_after_running_out(text_recipe(data__tokenizer=tokenizer), card(8.0)) == ""


def test_memory_of_the_host_has_a_unit():
    assert ask.given_memory(None) is None
    assert ask.given_memory("64GB") == 64 * 2**30
    with pytest.raises(InputError, match="has no unit"):
        ask.given_memory("64")


def test_a_model_beside_a_model_is_refused(tmp_path):
    folder = pretrained_folder(tmp_path / "model")
    with pytest.raises(InputError, match="replaces the model of a recipe"):
        ask.open_subject(folder, model=folder)
    assert Path("model") != folder


def test_more_processes_than_a_step_has_work_for_are_refused_with_a_number_that_works():
    subject = subject_of(text_recipe())
    with pytest.raises(InputError) as raised:
        ask.answer_on(subject, find_gpu("h100"), ranks=65536)
    (problem,) = raised.value.problems
    assert "1 to 64" in problem.allowed
    assert ask.answer_on(subject, find_gpu("h100"), ranks=64).plan.run.ranks == 64
    with pytest.raises(InputError):
        ask.answers_on_all(subject, ranks=65)
