import pytest

from tests.checks.conversion.made import made
from tests.for_each import for_each
from trimtab.errors import InputError

SCRIPT = """
from transformers import {model}, Trainer, TrainingArguments
model = {model}.from_pretrained("a/b")
args = TrainingArguments(output_dir="out", learning_rate=2e-5, num_train_epochs=2)
Trainer(model=model, args=args).train()
"""
AXOLOTL = "base_model: a/b\ndatasets: [{path: c}]\nlearning_rate: 2e-4\n"
FACTORY = (
    "model_name_or_path: a/b\nfinetuning_type: full\ntemplate: qwen\ndataset: c\ndo_train: true\n"
    "learning_rate: 0.00001\nstage: "
)


@for_each(
    "model",
    [
        "AutoModelForTokenClassification", "AutoModelForQuestionAnswering",
        "BertForMaskedLM", "AutoModelForImageClassification", "AutoModelForCTC", "AutoModelForImageTextToText",
        "VisionEncoderDecoderModel",
    ],
)  # fmt: skip
def test_a_script_that_trains_another_head_is_refused_by_its_class(model):
    with pytest.raises(InputError, match="no recipe can say that"):
        made(SCRIPT.format(model=model), "train.py")


@pytest.mark.parametrize("model", ["AutoModelForCausalLM", "GPT2LMHeadModel"])
def test_a_language_model_is_written_as_a_draft(model):
    conversion = made(SCRIPT.format(model=model), "train.py")
    assert any("the recipe does not load unchanged" in note for note in conversion.notes)
    assert not conversion.is_trainable


@for_each(
    "text", [AXOLOTL + "rl: grpo\n", AXOLOTL + "reward_model: true\n", FACTORY + "dpo\n", FACTORY + "ppo\n"]
)
def test_learning_from_preferences_or_rewards_is_refused(text):
    with pytest.raises(InputError, match="no recipe can say that"):
        made(text)


def test_supervised_training_is_not_refused():
    assert made(FACTORY + "sft\n").notes
    assert made(AXOLOTL).notes


def test_that_a_task_is_assumed_is_said():
    text = '{"output_dir": "out", "per_device_train_batch_size": 8, "learning_rate": 2e-5, "max_steps": 1000}'
    assert any("a language model is assumed" in note for note in made(text, "args.json").notes)
