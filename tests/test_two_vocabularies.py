"""Runs whose source and target have each a vocabulary of their own, from the recipe to the translation."""

import re
import shutil
import signal
from pathlib import Path

import pytest
import torch

from tests.data.small_text import small_tokenizer
from tests.faults.killing import STEPS, Moment, digest, end_in_turn, logs
from tests.short_run import SHORT
from tests.small_run import small_pairs, small_parts, small_recipe
from trimtab.checkpoint.journal import read_journal
from trimtab.config.load import parse_recipe
from trimtab.errors import InputError
from trimtab.evaluation.translations import evaluate
from trimtab.inference import load_model, load_translator
from trimtab.launch import train
from trimtab.training.preflight import preflight

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

SEPARATE = {
    "data.source_tokenizer": {"vocabulary_size": 290},
    "data.tokenizer": {"vocabulary_size": 300},
    "model.tie_embeddings": "decoder",
}
LONG = {
    "data.source_tokenizer": {"vocabulary_size": 300},
    "data.tokenizer": {"vocabulary_size": 302},
    "length": "600 steps",
    "evaluate.every": "600 steps",
    "checkpoint.every": "600 steps",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    return train(small_recipe(folder, **SEPARATE | LONG | SHORT), out=folder / "run").run


@pytest.mark.slow
def test_every_command_reads_each_side_with_its_own(run):
    report = evaluate(str(run), source=run.parent / "dev.en", reference=run.parent / "dev.de")
    *_, validated = read_journal(run / "evaluations.jsonl")
    assert report.loss == pytest.approx(validated["loss"], rel=1e-5)


@pytest.mark.slow
def test_it_learns_and_every_command_reads_each_side_with_its_own(tmp_path):
    run = train(small_recipe(tmp_path, **SEPARATE | LONG), out=tmp_path / "run").run
    translator = load_translator(str(run), beam=1, device="cpu")
    pairs = small_pairs(20, seed=7)
    outputs = translator.translate([source for source, _ in pairs])
    assert sum(out == target for out, (_, target) in zip(outputs, pairs, strict=True)) >= 10
    long = translator.translate([" ".join(source for source, _ in pairs)])
    assert translator.counts.cut_lines == 1
    assert set(long[0].split()) <= {word for _, target in pairs for word in target.split()}
    report = evaluate(str(run), source=run.parent / "dev.en", reference=run.parent / "dev.de")
    *_, validated = read_journal(run / "evaluations.jsonl")
    assert report.loss == pytest.approx(validated["loss"], rel=1e-5)
    assert report.chrf.value == pytest.approx(validated["chrf"], abs=8), "another beam"


@pytest.mark.slow
def test_two_tokenizers_of_one_file_give_the_very_run_that_shares_it(tmp_path):
    """The reference: the model has the same matrices, so every bit must be the same."""
    changes = {"length": "20 steps", "model.tie_embeddings": "decoder"}
    first = train(small_recipe(tmp_path / "one", **changes), out=tmp_path / "one" / "run").run
    given = {"path": str(first / "tokenizer" / "sentencepiece.model")}
    shared = {**changes, "data.tokenizer": given}
    second = train(small_recipe(tmp_path / "two", **shared), out=tmp_path / "two" / "run").run
    both = {**shared, "data.source_tokenizer": given}
    third = train(small_recipe(tmp_path / "three", **both), out=tmp_path / "three" / "run").run
    one, two, three = (load_model(str(run), device="cpu") for run in (first, second, third))
    assert not three.tokenizers.shared
    for name, tensor in one.model.state_dict().items():
        assert torch.equal(tensor, two.model.state_dict()[name])
        assert torch.equal(tensor, three.model.state_dict()[name]), name
    evaluations = [
        [
            {key: value for key, value in line.items() if key != "seconds"}
            for line in read_journal(run / "evaluations.jsonl")
        ]
        for run in (second, third)
    ]
    assert evaluations[0] == evaluations[1]
    lines = [source for source, _ in small_pairs(20, seed=3)]
    two, three = (load_translator(str(run), device="cpu") for run in (second, third))
    assert two.translate(lines) == three.translate(lines)


@pytest.mark.slow
def test_a_killed_run_goes_on_bit_for_bit(tmp_path):
    changes = {**SEPARATE, "length": f"{STEPS} steps", "data.train.0.name": "words"}
    undisturbed = train(small_recipe(tmp_path / "one", **changes), out=tmp_path / "one" / "run").run
    recipe = small_recipe(tmp_path / "two", **changes)
    found = end_in_turn(recipe, tmp_path / "two" / "run", [Moment(40, 0.0)])
    assert found[0].code == -signal.SIGKILL
    train(recipe, out=tmp_path / "two" / "run", resume=True)
    assert digest(tmp_path / "two" / "run") == digest(undisturbed)
    assert logs(tmp_path / "two" / "run") == logs(undisturbed)


@pytest.mark.parametrize("side", ["source", "target"])
def test_another_tokenizer_on_either_side_is_refused(run, tmp_path, side):
    copied = shutil.copytree(run, tmp_path / "run")
    other = "target" if side == "source" else "source"
    shutil.rmtree(copied / "tokenizer" / side)
    shutil.copytree(copied / "tokenizer" / other, copied / "tokenizer" / side)
    name = "source tokenizer" if side == "source" else "tokenizer"
    with pytest.raises(InputError, match=f"not the {name} that the model was trained with"):
        load_model(str(copied), device="cpu")


def test_resuming_with_one_vocabulary_is_refused(run, tmp_path):
    copied = shutil.copytree(run.parent, tmp_path / "all")
    with pytest.raises(InputError, match=r"data\.source_tokenizer"):
        train(small_recipe(copied, **LONG | {"data.source_tokenizer": None}), out=copied / "run", resume=True)


@pytest.mark.quick("none")
@pytest.mark.parametrize("tied", ["decoder", "none"])
def test_preflight_finds_nothing_where_the_sides_differ_in_size(tmp_path, tied):
    (tmp_path / "adopted.model").write_bytes(small_tokenizer().model)
    adopted = {"data.source_tokenizer": {"path": "adopted.model"}, "model.tie_embeddings": tied}
    parts = small_parts(tmp_path, **{**SEPARATE, **adopted})
    assert list(preflight(parts)) == []
    sizes = {name: tuple(each.shape) for name, each in parts.model.named_parameters() if each.ndim == 2}
    assert sizes["source_embedding.weight"] == (448, 32)
    assert sizes["embedding.weight"] == (320, 32)
    assert ("output.weight" in sizes) == (tied == "none")


@pytest.mark.slow
def test_unknown_pieces_are_told_of_the_side_that_has_them(tmp_path):
    parts = small_parts(tmp_path, **SEPARATE)
    parts.datasets.sample.source.values[::10] = parts.datasets.tokenizers.source.unknown
    findings = [each for each in preflight(parts) if each.code == "D201"]
    assert [each.message.split(" of the ")[1].split()[0] for each in findings] == ["source"]
    assert "data.source_tokenizer.byte_fallback" in findings[0].fix


def test_the_recipes_of_the_page_are_read():
    page = Path(__file__).parent.parent / "docs" / "how_to" / "vocabularies.md"
    recipes = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    apart, superwords, *warm = recipes
    assert parse_recipe(apart).recipe.data.source_tokenizer is not None
    assert parse_recipe(superwords).recipe.data.tokenizer.kind == "superbpe"
    for text, run in zip(warm, ["runs/general@50000", "runs/law_start"], strict=True):
        with pytest.raises(InputError, match=rf"model\.warm_start: there is no run {run}") as caught:
            parse_recipe(text)
        assert len(caught.value.problems) == 1
