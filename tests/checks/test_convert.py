import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import trimtab
from tests.checks.conversion.made import OPENNMT, made
from tests.checks.kinds.describing import document
from tests.checks.kinds.yaml_runs import VALUES
from tests.for_each import for_each
from trimtab.checks.convert import convert
from trimtab.config.load import parse_recipe
from trimtab.config.task_facts import init_recipe
from trimtab.errors import InputError

HF = '{"output_dir": "out", "per_device_train_batch_size": 8, "learning_rate": 2e-5, "max_steps": 1000}'
EOLE = """
src_vocab: v
data: {a: {path_src: a.en, path_tgt: a.de}}
training: {optim: adamw, learning_rate: 0.001, decay_method: cosine, warmup_steps: 100, train_steps: 1000}
model: {architecture: transformer, hidden_size: 256, layers: 3, heads: 4, transformer_ff: 1024}
"""
MAMMOTH = """
tasks: {a: {src_tgt: en-de, path_src: a.en, path_tgt: a.de}}
model_dim: 256
enc_layers: [3]
dec_layers: [3]
optim: adamw
train_steps: 1000
node_rank: 0
seed: 1
"""


@pytest.mark.parametrize(("text", "kind"), [(OPENNMT, "opennmt"), (EOLE, "eole"), (MAMMOTH, "mammoth")])
def test_translation_files_become_recipes_that_load(text, kind):
    conversion = made(text)
    assert (conversion.kind, conversion.is_trainable) == (kind, True)
    assert parse_recipe(conversion.recipe_text).recipe.task == "translation"


def test_arguments_of_a_trainer_are_written_as_far_as_they_go():
    conversion = made(HF, "args.json")
    assert "tokens_per_step" in conversion.recipe_text
    assert "length: 1000 steps" in conversion.recipe_text


def test_a_path_is_read(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(OPENNMT)
    assert trimtab.convert(path).recipe_text == convert(document(str(path), OPENNMT)).recipe_text


def test_values_that_a_recipe_does_not_allow_are_said():
    conversion = made(OPENNMT.replace("hidden_size: 512", "hidden_size: 80000"))
    assert not conversion.is_trainable
    assert any("does not load" in note for note in conversion.notes)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("model_path: m\nsrc: a\nbeam_size: 4\n", "no run"),
        ("colour: red\n", "not a configuration of any known tool"),
        (init_recipe(), "already a trimtab recipe"),
    ],
)
def test_what_is_no_run_of_another_tool_is_refused(text, word):
    with pytest.raises(InputError, match=word):
        made(text)


def test_a_missing_file_is_wrong_input(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        convert(tmp_path / "none.yaml")


def test_the_kind_may_be_said():
    text = "train_steps: 1000\nlearning_rate: 2\n"
    assert convert(document("a.yaml", text), kind="opennmt").kind == "opennmt"
    with pytest.raises(InputError, match="no such kind"):
        convert(document("a.yaml", text), kind="joeynmt")


KEYS = [line.partition(":")[0] for line in OPENNMT.splitlines() if line and line[0] not in " \n"]


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@example("warmup_steps", -1)
@example("hidden_size", 0)
@given(st.sampled_from(KEYS), st.sampled_from([value for value in VALUES if not isinstance(value, float)]))
def test_no_value_is_too_strange(key, value):
    import json

    lines = [line for line in OPENNMT.splitlines() if key != "data" or not line.startswith(" ")]
    kept = [line for line in lines if not line.startswith(f"{key}:")]
    conversion = made("\n".join([*kept, f"{key}: {json.dumps(value)}"]))
    assert conversion.is_trainable or any("does not load" in note for note in conversion.notes)


@for_each(
    ("key", "value"),
    [("num_epochs", ".nan"), ("warmup_ratio", ".inf"), ("lora_alpha", "-.inf"), ("max_grad_norm", ".inf")],
)
def test_numbers_that_are_none_are_left_out_and_named(key, value, tmp_path):
    path = tmp_path / "lora.yml"
    more = {"num_epochs": 2, "lora_alpha": 8, "warmup_ratio": 0.1, "max_grad_norm": 1.0, key: value}
    path.write_text(
        "base_model: a/b\ndatasets: [{path: c.jsonl, type: chat_template}]\nadapter: lora\nlora_r: 4\n"
        "micro_batch_size: 2\nlearning_rate: 1e-4\n"
        + "".join(f"{name}: {each}\n" for name, each in more.items())
    )
    found = convert(path)
    assert any(
        note.startswith(f"{key} is {value.replace('.', '')}, which is not a finite number")
        for note in found.notes
    )
    assert not re.search(
        r"\b(nan|inf)\b", "".join(line for line in found.recipe_text.splitlines() if line[:1] != "#")
    )
