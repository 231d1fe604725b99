"""The page docs/how_to/back_translation.md, and the way it describes from one model to the next."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.small_run import WORDS, small_pairs, small_recipe
from trimtab.cli.app import app
from trimtab.config.load import load_recipe, parse_recipe
from trimtab.config.paths import resolve_paths
from trimtab.inference import load_translator
from trimtab.launch import train
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

PAGE = (Path(__file__).parent.parent / "docs" / "how_to" / "back_translation.md").read_text(encoding="utf-8")
LONG = {"length": "300 steps", "evaluate.every": "300 steps", "checkpoint.every": "300 steps"}


def called(*words):
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return result.output


def recipes_of_the_page():
    blocks = re.findall(r"^( *)```yaml\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in blocks]


@pytest.mark.parametrize("text", recipes_of_the_page())
def test_the_recipes_of_the_page_load(text):
    assert parse_recipe(text).recipe.data.train


def test_the_page_has_its_recipes():
    assert len(recipes_of_the_page()) == 3


@pytest.mark.slow
def test_what_one_model_translates_is_what_the_next_one_learns_from(tmp_path):
    mono = [target for _, target in small_pairs(80, seed=9)]
    (tmp_path / "mono.de").write_text("".join(line + "\n" for line in mono))
    reverse = {"data.train.0": {"source": "train.de", "target": "train.en"},
               "data.valid": {"source": "dev.de", "target": "dev.en"}}  # fmt: skip
    train(small_recipe(tmp_path, **reverse, **LONG), out=tmp_path / "de-en")
    called(
        "translate",
        tmp_path / "de-en",
        "--input",
        tmp_path / "mono.de",
        "--output",
        tmp_path / "bt.en",
        "--beam",
        2,
    )
    lines = (tmp_path / "bt.en").read_text().splitlines()
    assert len(lines) == len(mono)
    assert sum(line.split()[:1] != [] and line.split()[0] in WORDS for line in lines) > 70, (
        "words of the source"
    )

    corpora = [
        {"name": "real", "source": "train.en", "target": "train.de"},
        {"name": "bt", "source": "bt.en", "target": "mono.de", "tags": ["<bt>"]},
    ]
    recipe = small_recipe(tmp_path, **{"data.train": corpora, "data.tokenizer.vocabulary_size": 68}, **LONG)
    run = train(recipe, out=tmp_path / "en-de").run
    sources = open_datasets(
        resolve_paths(load_recipe(recipe)), tokenizer_folder=run / "tokenizer", progress=Silent()
    )
    tag = sources.tokenizer.id("<bt>")
    tagged = sum(tag in sources.sample.source.row(number) for number in range(len(sources.sample.target)))
    assert tagged == pytest.approx(80, abs=3), "all that were not dropped as empty"
    pairs = small_pairs(20, seed=7)
    outputs = load_translator(str(run), beam=1, device="cpu").translate([source for source, _ in pairs])
    right = sum(output == target for output, (_, target) in zip(outputs, pairs, strict=True))
    assert right >= 5
