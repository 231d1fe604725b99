"""A tag for how it is said, on real text: the reader is addressed (Sie), or is not."""

import logging
import lzma
import re
from importlib.resources import files
from pathlib import Path

import pytest

from tests.small_run import small_recipe
from trimtab.config.load import parse_recipe
from trimtab.data.tags import trained_tags
from trimtab.evaluation.translations import evaluate
from trimtab.inference import load_translator
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

POLITE = re.compile(r"\b(Sie|Ihnen|Ihre?[nmrs]?)\b")
CHANGES = {
    "data.tokenizer": {"vocabulary_size": 600},
    "data.max_tokens": 48,
    "model": {"dim": 64, "heads": 4, "layers": 1, "feed_forward": 128, "dropout": 0.0},
    "evaluate": {"every": "500 steps", "metrics": ["chrf"], "lines": 4},
    "checkpoint.every": "500 steps",
    "step.tokens_per_step": 1024,
    "step.tokens_per_micro_batch": 1024,
    "step.optimizer.learning_rate": 5e-3,
    "length": "250 steps",
}


def sample(name):
    """Pairs of at most seven words, which so small a model can learn something of."""
    with files("trimtab.demo").joinpath(f"data/{name}.tsv.xz").open("rb") as opened:
        pairs = [line.split("\t") for line in lzma.decompress(opened.read()).decode().splitlines()]
    return [pair for pair in pairs if len(pair[0].split()) <= 7 and len(pair[1].split()) <= 8]


def write(folder, name, pairs):
    (folder / name).write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return {"pairs": name, "source": 1, "target": 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("style")
    pairs = sample("train")
    polite = [pair for pair in pairs if POLITE.search(pair[1])][:1500]
    plain = [pair for pair in pairs if not POLITE.search(pair[1])][:1500]
    corpora = [
        {**write(folder, "polite.tsv", polite), "tags": ["<polite>"]},
        {**write(folder, "plain.tsv", plain), "tags": ["<plain>"]},
    ]
    held = write(folder, "dev.tsv", [pair for pair in sample("valid") if POLITE.search(pair[1])])
    recipe = {**CHANGES, "data.train": corpora, "data.valid": {**held, "tags": ["<polite>"]}}
    return train(small_recipe(folder, **recipe), out=folder / "run").run


def polite_share(run, tag):
    lines = [source for source, _ in sample("heldout")[:60]]
    outputs = load_translator(str(run), beam=1, tags=[tag], device="cpu").translate(lines)
    return sum(bool(POLITE.search(line)) for line in outputs) / len(outputs)


@pytest.mark.slow
def test_the_same_lines_are_said_as_the_tag_asks(run):
    polite, plain = polite_share(run, "<polite>"), polite_share(run, "<plain>")
    assert polite >= plain + 0.3, (polite, plain)


@pytest.mark.slow
def test_the_right_tag_has_the_lower_loss_and_a_forgotten_one_is_told(run, tmp_path, caplog):
    pairs = [pair for pair in sample("heldout") if POLITE.search(pair[1])][:40]
    source, reference = tmp_path / "s", tmp_path / "r"
    source.write_text("".join(f"{line}\n" for line, _ in pairs))
    reference.write_text("".join(f"{line}\n" for _, line in pairs))
    losses = {}
    for tags in (("<polite>",), ("<plain>",), ()):
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="trimtab"):
            losses[tags] = evaluate(str(run), source=source, reference=reference, beam=1, tags=tags).loss
        told = [record.getMessage() for record in caplog.records if "E902" in record.getMessage()]
        assert len(told) == (not tags)
        assert all("<polite>, <plain>" in message for message in told)
    assert losses[("<polite>",)] < losses[("<plain>",)]


def test_the_recipes_of_the_page_are_read_and_their_tags_are_known():
    page = Path(__file__).parent.parent / "docs" / "how_to" / "tags.md"
    recipes = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(recipes) >= 4
    known = [trained_tags(parse_recipe(text).recipe.data) for text in recipes]
    assert known[0] == ("<ui>", "<manual>")
    assert known[-1] == ("<polite>", "<plain>")
