import json

import pytest

from tests.checks.conversion.made import lacking, made
from tests.for_each import for_each
from tests.pretrained_folder import pretrained_folder
from trimtab.checks.convert import convert
from trimtab.config.load import parse_recipe
from trimtab.config.read_yaml import read_yaml
from trimtab.errors import InputError

AXOLOTL = """
base_model: NousResearch/Llama-2-7b-hf
datasets: [{path: chats.jsonl, type: chat_template}]
adapter: lora
lora_r: 16
lora_alpha: 32
lora_target_linear: true
sequence_len: 2048
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 3
learning_rate: 2e-4
lr_scheduler: cosine
warmup_steps: 10
bf16: true
"""


def tree(text, file="config.yaml"):
    return read_yaml(made(text, file).recipe_text, name="f").value


def test_a_model_that_is_not_there_is_named_with_the_command_that_brings_it():
    conversion = made(AXOLOTL)
    assert not conversion.is_trainable
    assert any("hf download NousResearch/Llama-2-7b-hf" in note for note in conversion.notes)
    with pytest.raises(InputError, match=r"model\.path: there is no model"):
        parse_recipe(conversion.recipe_text)


def test_values_with_a_counterpart_are_written():
    found = tree(AXOLOTL)
    assert found["data"]["train"] == [{"text": "chats.jsonl", "learn": "answers"}]
    assert found["model"] == {"kind": "pretrained", "path": "NousResearch/Llama-2-7b-hf"}
    assert found["adapter"] == {"kind": "lora", "rank": 16, "alpha": 32.0}
    assert found["step"]["tokens_per_step"] == 2 * 2048 * 4
    assert found["step"]["schedule"] == {"kind": "cosine", "warmup": "10 steps"}
    assert (found["step"]["precision"], found["length"]) == ("bf16_mixed", "3 epochs")
    assert lacking(AXOLOTL) == []


def test_no_text_is_longer_than_the_model_has_learned_to_read(tmp_path):
    pretrained_folder(tmp_path / "base")
    (tmp_path / "f.yaml").write_text(AXOLOTL.replace("NousResearch/Llama-2-7b-hf", "base"))
    conversion = convert(tmp_path / "f.yaml")
    assert "max_tokens: 128 " in conversion.recipe_text
    assert any("128 rather than 2048" in note for note in conversion.notes)
    assert conversion.is_trainable


@for_each(
    ("more", "key", "wanted"),
    [
        ("evals_per_epoch: 4\n", "evaluate.every", "0.25 epochs"),
        ("saves_per_epoch: 1\n", "checkpoint.every", "1 epoch"),
        ("eval_steps: 0.1\n", "evaluate.every", "0.3 epochs"),
        ("max_steps: 200\nsave_steps: 0.1\n", "checkpoint.every", "20 steps"),
        ("loraplus_lr_ratio: 16\n", "step.optimizer.learning_rate_multipliers", {"lora_b": 16.0}),
        ("embedding_lr: 2e-5\n", "step.optimizer.learning_rate_multipliers", {"embedding": 0.1}),
        ("cosine_min_lr_ratio: 0.1\n", "step.schedule.floor", 0.1),
        ("wandb_project: mine\n", "log", ["wandb"]),
        ("lora_target_modules: [c_attn, dense_4h_to_h, lm_head]\nlora_target_linear: false\n", "adapter.targets",
         ["q_proj", "down_proj"]),
        ("lora_target_modules: [q_proj, embed_tokens]\nlora_target_linear: false\n", "adapter.embeddings", "train"),
    ],
)  # fmt: skip
def test_settings_of_fine_tuning_have_counterparts(more, key, wanted):
    text = AXOLOTL.replace("lora_target_linear: true\n", "") if "lora_target" in more else AXOLOTL
    found = tree(text + more)
    for part in key.split("."):
        found = found[part]
    assert found == wanted
    assert lacking(text + more) == []


def test_notes_say_what_is_trained_otherwise():
    notes = "\n".join(
        made(AXOLOTL + "deepspeed: zero3.json\nlora_model_dir: old\nunfrozen_parameters: [lm_head]\n").notes
    )
    assert "torchrun" in notes
    assert "lora_model_dir (old) is trained further there" in notes
    assert "unfrozen_parameters" in notes
    pattern = AXOLOTL.replace("lora_target_linear: true", "lora_target_modules: 'layers.(1|2).*'")
    assert any("is a pattern over names" in note for note in made(pattern).notes)


def test_tokens_of_a_step_follow_from_the_rows_where_they_are_there(tmp_path):
    row = {"messages": [{"role": "user", "content": "u" * 400}, {"role": "assistant", "content": "a" * 3996}]}
    (tmp_path / "chats.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "f.yaml").write_text(AXOLOTL)
    step = read_yaml(convert(tmp_path / "f.yaml").recipe_text, name="f").value["step"]
    assert step["tokens_per_step"] == 2 * 4 * 1000
    (tmp_path / "f.yaml").write_text(AXOLOTL + "sample_packing: true\n")
    step = read_yaml(convert(tmp_path / "f.yaml").recipe_text, name="f").value["step"]
    assert step["tokens_per_step"] == 2 * 4 * round(2048 * 1000 / 1100)
