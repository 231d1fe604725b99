"""Moving from other toolkits: the page docs/how_to/from_marian_sockeye_fairseq.md shows what the commands say, and a
configuration of Axolotl or LLaMA-Factory becomes a recipe that trains."""

import json
import re
from pathlib import Path

import pytest

from tests.causal_folder import causal_folder
from tests.pretrained_folder import pretrained_folder
from trimtab.checks.check import check
from trimtab.checks.convert import convert
from trimtab.checks.mend_files import mend_files
from trimtab.checks.say.text import as_text
from trimtab.config.load import load_recipe, parse_recipe
from trimtab.launch import train

PAGE = (Path(__file__).parent.parent / "docs/how_to/from_marian_sockeye_fairseq.md").read_text(
    encoding="utf-8"
)


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_is_checked_fixed_and_converted_as_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.sh").write_text(blocks("bash")[0])
    said = as_text(check("train.sh"))
    for line in re.findall(r"^train\.sh:.*$", PAGE, re.MULTILINE):
        assert line in said
    mend_files("train.sh", changes_training=True)
    conversion = convert(Path("train.sh"))
    assert [f"note: {note}" for note in conversion.notes] == re.findall(r"^note: .*$", PAGE, re.MULTILINE)
    assert (conversion.unmatched, conversion.is_trainable) == ((), True)
    recipe = parse_recipe(conversion.recipe_text).recipe
    assert (recipe.step.tokens_per_step, recipe.evaluate.weights) == (4000 * 4 * 2, "ema")


def test_rules_that_the_page_names_have_a_page():
    rules = Path(__file__).parent.parent / "docs/rules"
    assert all((rules / f"{code}.md").exists() for code in set(re.findall(r"\b[A-Z]\d{3}\b", PAGE)))


AXOLOTL = """
base_model: base
datasets: [{path: chats.jsonl, type: chat_template}]
adapter: lora
lora_r: 4
lora_alpha: 8
lora_target_linear: true
neftune_noise_alpha: 5
sequence_len: 60
micro_batch_size: 2
gradient_accumulation_steps: 1
max_steps: 2
learning_rate: 2e-4
lr_scheduler: cosine
"""
LLAMA_FACTORY = """
model_name_or_path: base
stage: sft
do_train: true
finetuning_type: full
dataset: chats
dataset_dir: .
template: chatml
cutoff_len: 60
per_device_train_batch_size: 2
gradient_accumulation_steps: 1
learning_rate: 1.0e-4
max_steps: 2
output_dir: saves
"""


@pytest.mark.quick("factory.yaml-text1-<lambda>-transformers")
@pytest.mark.usefixtures("checks_of_data_only")
@pytest.mark.parametrize(
    ("name", "text", "folder", "kind"),
    [
        ("axolotl.yml", AXOLOTL, pretrained_folder, "pretrained"),
        ("factory.yaml", LLAMA_FACTORY, lambda place: causal_folder(place, "gpt2"), "transformers"),
    ],
)
def test_a_configuration_for_fine_tuning_becomes_a_recipe_that_trains(
    tmp_path, monkeypatch, name, text, folder, kind
):
    monkeypatch.chdir(tmp_path)
    folder(tmp_path / "base")
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "bb"}]
    Path("chats.jsonl").write_text("\n".join([json.dumps({"messages": talk})] * 20))
    form = {"file_name": "chats.jsonl", "formatting": "sharegpt", "columns": {"messages": "messages"}}
    Path("dataset_info.json").write_text(json.dumps({"chats": form}))
    Path(name).write_text(text)
    conversion = convert(Path(name))
    assert conversion.is_trainable, conversion.notes
    Path("recipe.yaml").write_text(conversion.recipe_text)
    recipe = load_recipe("recipe.yaml").recipe
    assert (recipe.adapter is not None, recipe.step.neftune_alpha) == (
        (True, 5) if name == "axolotl.yml" else (False, None)
    )
    finished = train("recipe.yaml", out=tmp_path / "run")
    assert finished.state.step == 2
    assert load_recipe(finished.run / "recipe.yaml").recipe.model.kind == kind
