"""A pretrained model that learns the answers of conversations."""

import json

import pytest

from tests.pretrained_folder import pretrained_folder
from tests.pretrained_run import pretrained_recipe
from trimtab.checkpoint.journal import read_journal
from trimtab.config.load import load_recipe
from trimtab.errors import InputError
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


def conversations(path, *, answered):
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "bb"}]
    lines = [{"messages": talk if number < answered else talk[:1]} for number in range(20)]
    path.write_text("\n".join(map(json.dumps, lines)))


def recipe_of(folder, *, answered, **changes):
    pretrained_folder(folder / "base")
    conversations(folder / "chat.jsonl", answered=answered)
    sets = {"text": "chat.jsonl", "learn": "answers"}
    tokens = {"step.tokens_per_step": 60, "step.tokens_per_micro_batch": 60, "data.max_tokens": 60}
    return pretrained_recipe(folder, **{"data.train": [sets], "data.valid": sets, **tokens, **changes})


@pytest.mark.slow
def test_answers_alone_count(tmp_path):
    run = train(recipe_of(tmp_path, answered=20), out=tmp_path / "run").run
    first = next(iter(read_journal(run / "metrics.jsonl")))
    assert first["target_tokens"] == 60
    assert first["tokens"] > 4 * first["target_tokens"]


def test_conversations_without_answers_end_the_run_before_its_first_step(tmp_path):
    with pytest.raises(InputError, match="nothing is left to train on") as error:
        train(recipe_of(tmp_path, answered=0), out=tmp_path / "run")
    assert error.value.problems[0].got == "the first 20 examples were all dropped: empty_target"


def test_other_tokenizers_and_pairs_learn_no_answers(tmp_path):
    recipe = recipe_of(tmp_path, answered=20)
    model = json.dumps({"kind": "decoder", "preset": "tiny"})
    with pytest.raises(InputError, match="written out by the chat template of a pretrained tokenizer"):
        load_recipe(recipe, [f"model={model}"])
