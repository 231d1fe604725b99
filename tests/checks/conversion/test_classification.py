import json

import pytest

from tests.checks.conversion.made import made
from trimtab.config.load import parse_recipe
from trimtab.errors import InputError

SCRIPT = """
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
model = AutoModelForSequenceClassification.from_pretrained("{path}", num_labels={labels})
for param in model.bert.embeddings.parameters():
    param.requires_grad = False
model.bert.encoder.layer[0].requires_grad_(False)
args = TrainingArguments(
    "out", learning_rate=2e-5, per_device_train_batch_size=16, gradient_accumulation_steps=2, num_train_epochs=3
)
Trainer(model=model, args=args).train()
"""
SETTINGS = {
    "model_type": "bert", "architectures": ["BertModel"], "vocab_size": 40, "hidden_size": 32,
    "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48, "max_position_embeddings": 512,
    "type_vocab_size": 2, "pad_token_id": 0,
}  # fmt: skip


def test_a_classifier_keeps_its_steps_and_what_it_freezes(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(SETTINGS))
    conversion = made(SCRIPT.format(path=tmp_path, labels=4), "train.py")
    assert conversion.is_trainable, conversion.notes
    recipe = parse_recipe(conversion.recipe_text, path=tmp_path / "recipe.yaml").recipe
    assert recipe.task == "classification"
    assert (recipe.step.tokens_per_step, recipe.step.tokens_per_micro_batch) == (32, 16)
    assert recipe.freeze == ("network.bert.embeddings.*", "network.bert.encoder.layer.0.*")
    assert str(recipe.length) == "3 epochs"


def test_a_head_of_one_output_is_refused():
    with pytest.raises(InputError, match="predicts numbers, or several labels for a text"):
        made(SCRIPT.format(path="a/b", labels=1), "train.py")
