"""The pages on fine-tuning of pretrained models: their recipes load, and their commands do what they say."""

import json
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from tests.for_each import for_each
from tests.module_folder import module_folder
from tests.pretrained_folder import pretrained_folder
from tests.small_run import small_pairs
from tests.text_run import documents
from trimtab.cli.app import app
from trimtab.config.load import load_recipe

PAGES = Path(__file__).parent.parent / "docs" / "how_to"
NAMES = ("fine_tune_nllb_or_opus", "fine_tune_pretrained", "teach_instructions", "add_a_language")
BLOCKS = [
    (name, number, text)
    for name in NAMES
    for number, text in enumerate(
        re.findall(
            r"^```yaml\n(.*?)^```", (PAGES / f"{name}.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
        )
    )
]
OF_TEXTS = {
    "task": "language_model",
    "data": {"train": [{"text": "train.txt"}], "max_tokens": 64},
    "model": {"kind": "pretrained", "path": "llama"},
    "length": "9000 steps",
}
OF_PAIRS = {
    "data": {"train": [{"source": "train.en", "target": "train.de"}], "max_tokens": 64},
    "model": {"kind": "pretrained", "path": "marian"},
    "length": "9000 steps",
}
SHORT = (
    "length=2 steps", "step.tokens_per_step=256", "step.tokens_per_micro_batch=128", "data.max_tokens=60",
    "step.schedule.warmup=1 steps", "evaluate.every=2 steps",
)  # fmt: skip
RUN = {
    "model": {"kind": "encoder_decoder", "preset": "tiny"},
    "data": {"tokenizer": {"kind": "sentencepiece", "vocabulary_size": 500}},
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with a small model of each kind."""
    folder = tmp_path_factory.mktemp("models")
    pretrained_folder(folder / "llama")
    for family in ("marian", "nllb"):
        module_folder(folder / family, family)
    (folder / "run").mkdir()
    (folder / "run" / "recipe.yaml").write_text(json.dumps(RUN))
    return folder


def recipe_of(text):
    """A block of a page as a whole recipe, of the small models."""
    tree = YAML(typ="safe").load(text)
    language = tree.get("data", {}).get("tokenizer", {}).get("source_language")
    is_text = tree.get("task") == "language_model" or "learn:" in text or "decoder.blocks.[0-9]" in text
    whole = {**(OF_TEXTS if is_text else OF_PAIRS), **tree}
    whole["data"] = {**(OF_TEXTS if is_text else OF_PAIRS)["data"], **tree.get("data", {}), "max_tokens": 60}
    if "warm_start" in whole["model"]:
        whole["model"] = {**whole["model"], "warm_start": "run"}
    else:
        whole["model"] = {**whole["model"], "path": "llama" if is_text else "nllb" if language else "marian"}
    return whole


@for_each(("name", "number", "text"), BLOCKS, called=lambda each: f"{each[0]}, block {each[1]}")
def test_a_recipe_of_a_page_loads(name, number, text, models, monkeypatch):
    monkeypatch.chdir(models)
    (models / "recipe.yaml").write_text(json.dumps(recipe_of(text)))
    assert load_recipe(models / "recipe.yaml").recipe.data.train


def called(*words, wanted=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == wanted, result.output
    return result.output


def written(folder, name, text):
    (folder / name).write_text(json.dumps(recipe_of(text)))
    return folder / name


def blocks_of(name):
    return [text for page, _, text in BLOCKS if page == name]


def pairs_in(tmp_path, models, monkeypatch):
    """Pairs and the models beside them, in the working directory."""
    monkeypatch.chdir(tmp_path)
    for name in ("marian", "nllb"):
        (tmp_path / name).symlink_to(models / name)
    for name, count in (("train", 60), ("dev", 8)):
        for side, lines in zip(("en", "de"), zip(*small_pairs(count, seed=count), strict=True), strict=True):
            (tmp_path / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.slow
def test_a_translator_of_another_library_is_tuned_used_and_given_back(models, tmp_path, monkeypatch):
    pairs_in(tmp_path, models, monkeypatch)
    recipe = written(tmp_path, "recipe.yaml", blocks_of("fine_tune_nllb_or_opus")[0])
    called("train", recipe, "--out", "tuned", *SHORT)
    called("export", "tuned", "--to", "hf", "--out", "tuned-hf")
    adapted = written(tmp_path, "lora.yaml", blocks_of("fine_tune_nllb_or_opus")[1])
    called("train", adapted, "--out", "adapted", *SHORT, "data.valid={source: dev.en, target: dev.de}")
    called("export", "adapted", "--to", "peft", "--out", "adapter")
    called("translate", "adapted", "--input", "dev.en", "--output", "one.de")
    called("translate", "marian", "--adapter", "adapter", "--input", "dev.en", "--output", "other.de")
    assert (tmp_path / "one.de").read_text() == (tmp_path / "other.de").read_text()


@pytest.mark.slow
def test_pieces_of_a_new_language_are_added_and_trained(models, tmp_path, monkeypatch):
    pairs_in(tmp_path, models, monkeypatch)
    called("vocabulary", "extend", "nllb", "--text", "train.de", "--add", 4, "--out", "nllb_xx")
    text = blocks_of("add_a_language")[0].replace(".xx", ".de")
    tree = recipe_of(text)
    tree["model"]["path"] = "nllb_xx"
    (tmp_path / "xx.yaml").write_text(json.dumps(tree))
    called("train", "xx.yaml", "--out", "runs/xx", *SHORT)
    called("export", "runs/xx", "--to", "hf", "--out", "nllb_xx_trained")
    assert "nothing has trained" in called("check", "xx.yaml", "adapter={kind: lora}", wanted=2)


@pytest.mark.slow
def test_a_model_learns_instructions_by_the_commands_of_its_page(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "llama").symlink_to(models / "llama")
    for name, words in (("chat", "abcdefghijkl"), ("dev", "mnop")):
        rows = [{"prompt": f"say {word}", "completion": f"the {word}"} for word in words]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "general.txt").write_text(documents(3, seed=2))
    recipe = written(tmp_path, "chat.yaml", blocks_of("teach_instructions")[0])
    called("check", recipe)
    assert "[[" in called("data", "inspect", recipe)
    called("train", recipe, "--out", "runs/chat", *SHORT, "checkpoint.every=2 steps")
    called("generate", "runs/chat", "--chat", "--prompt", "say a", "--max-tokens", 4)
    called("export", "runs/chat", "--to", "hf", "--out", "merged")
    from transformers import AutoModelForCausalLM

    assert AutoModelForCausalLM.from_pretrained(tmp_path / "merged").config.vocab_size == 270
