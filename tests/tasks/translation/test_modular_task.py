"""A modular run from recipe to translation: loss, evaluation by direction, resume, warm start, one direction alone."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.modular_run import DIRECTIONS, MODEL, modular_recipe, modular_sources
from tests.short_run import SHORT
from tests.unchecked import model_unchecked
from trimtab import evaluate, load_translator, train
from trimtab.build import build
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.config.modular_model import ModularModel
from trimtab.errors import InputError
from trimtab.exporting import export_model
from trimtab.inference.load import load_model, load_modular
from trimtab.tasks.task_of import task_of
from trimtab.tasks.translation.modular_task import covering
from trimtab.watch.unseen_tokens import BOTH


@pytest.fixture(scope="session")
def modular_run(own_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished modular run of 40 steps."""
    folder = tmp_path_factory.mktemp("modular")
    changes: dict[str, Any] = {"step.clip": {"kind": "component", "at": 0.5}, "model.dim": 24}
    changes |= {"evaluate.every": "20 steps", "checkpoint.every": "40 steps", "length": "40 steps"}
    recipe = modular_recipe(folder, **changes)
    with model_unchecked():
        return train(recipe, out=folder / "run").run


def test_tables_of_single_languages_have_no_unseen_tokens(tmp_path: Path) -> None:
    recipe, sources = modular_sources(tmp_path)
    for embeddings, sides in (("shared", {BOTH}), ("language", set())):
        model = ModularModel(**MODEL, embeddings=embeddings)
        changed = recipe.model_copy(update={"model": model})
        assert task_of(changed).embedding_rows(changed, sources).keys() == sides


@pytest.mark.slow
def test_every_check_before_the_first_step_passes(tmp_path: Path) -> None:
    changes: dict[str, Any] = {**SHORT, "step.clip": {"kind": "component", "at": 0.5}}
    run = train(modular_recipe(tmp_path, **changes), out=tmp_path / "run").run
    assert len(metrics(run)) == 4  # an error of a check would have ended it before


def metrics(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_the_loss_falls_and_each_direction_is_evaluated(modular_run: Path) -> None:
    losses = [line["loss"] for line in metrics(modular_run)]
    assert losses[-1] < 0.8 * losses[0]
    lines = [json.loads(line) for line in (modular_run / "evaluations.jsonl").read_text().splitlines()]
    first, last = ({line["set"]: line for line in lines if line["step"] == step} for step in (20, 40))
    assert set(last) == {"en-de", "pt-en"}
    assert all(last[name]["loss"] < first[name]["loss"] for name in last)


def test_clips_are_counted_by_component_and_their_cosine_is_logged(modular_run: Path) -> None:
    last = metrics(modular_run)[-1]
    assert 0 < last["clip_cosine"] <= 1
    assert set(last["n_clips"]) >= {"encoder.shared", "decoder.de", "embeddings.shared"}
    assert max(last["n_clips"].values()) > 0


def test_a_direction_is_translated_by_its_name_or_its_languages(modular_run: Path) -> None:
    lines = ["the small ship", "wind turns"]
    named = load_translator([f"{modular_run}@40#en-de"]).translate(lines)
    assert named == load_translator([f"{modular_run}@40#en:de"]).translate(lines)
    assert named != load_translator([f"{modular_run}#en-pt"]).translate(lines)
    assert len(load_translator([f"{modular_run}#de-pt"]).translate(lines)) == 2
    with pytest.raises(InputError, match="--direction en-de"):
        load_translator([str(modular_run)])


def test_a_direction_of_a_plain_run_is_refused(modular_run: Path, tmp_path: Path) -> None:
    shutil.copytree(modular_run, tmp_path / "plain")
    (tmp_path / "plain" / "recipe.yaml").write_text(PLAIN, encoding="utf-8")
    with pytest.raises(InputError, match="only a modular model has directions"):
        load_model(f"{tmp_path / 'plain'}#en-de")


PLAIN = """\
data: {train: [{source: train.en, target: train.de}]}
model: {dim: 24, heads: 2, layers: 1, feed_forward: 32}
length: 60 steps
"""


def test_the_translator_of_a_direction_computes_what_the_modular_model_does(modular_run: Path) -> None:
    whole, alone = load_modular(modular_run), load_model(f"{modular_run}#pt-en")
    inside = dict(whole.model.translator("pt-en").named_parameters())
    found = dict(alone.model.named_parameters())
    assert found.keys() == inside.keys()
    assert all(torch.equal(found[name], inside[name]) for name in found)


def test_evaluating_a_direction_takes_its_tags_and_tokenizer(modular_run: Path) -> None:
    folder = modular_run.parent
    report = evaluate(f"{modular_run}#en-de", source=folder / "dev.en", reference=folder / "dev.de", beam=1)
    assert report.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("target", ["hf", "ctranslate2", "onnx"])
def test_one_direction_is_exported_alone_with_the_proof(
    modular_run: Path, tmp_path: Path, target: str
) -> None:
    report = export_model(f"{modular_run}@40#de-en", to=target, out=tmp_path / target)
    assert report.folder.is_dir()
    exported = load_translator([str(tmp_path / target)]).translate(["das kleine schiff"])
    assert exported == load_translator([f"{modular_run}@40#de-en"]).translate(["das kleine schiff"])


def test_a_resumed_run_ends_with_the_same_bits(tmp_path: Path, checks_of_data_only: None) -> None:
    changes: dict[str, Any] = {**SHORT, "step.clip": {"kind": "component"}, "checkpoint.every": "2 steps"}
    recipe = modular_recipe(tmp_path / "a", **changes)
    through = train(recipe, out=tmp_path / "through").run
    shutil.copytree(through, tmp_path / "parts")
    shutil.rmtree(tmp_path / "parts" / "checkpoints" / "step-00000004")
    parts = train(recipe, out=tmp_path / "parts", resume=True).run
    one, other = (resolve_checkpoint(f"{run}@last").load_model() for run in (through, parts))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert metrics(through)[-1]["n_clips"] == metrics(parts)[-1]["n_clips"]


def test_a_new_component_is_trained_with_the_rest_frozen(
    modular_run: Path, tmp_path: Path, checks_of_data_only: None
) -> None:
    directions = {**DIRECTIONS, "en-xx": {"encoder": ["shared"], "decoder": ["xx"]}}
    model = {**MODEL, "dim": 24, "directions": directions, "warm_start": str(modular_run)}
    model["decoder_components"] = {**MODEL["decoder_components"], "xx": 1}
    changes: dict[str, Any] = {**SHORT, "model": model, "step.clip": {"kind": "component"}}
    changes["freeze"] = ["encoder.*", "embeddings.*", *(f"decoder.{name}.*" for name in ("de", "en", "pt"))]
    recipe = modular_recipe(tmp_path, **changes)
    tree = json.loads(recipe.read_text())
    tree["data"]["train"].append({"source": "train.en", "target": "train2.pt", "direction": "en-xx"})
    tree["data"].pop("tokenizer")
    (tmp_path / "train3.en").write_text((tmp_path / "train2.en").read_text())
    tree["data"]["train"][-1]["source"] = "train3.en"
    (tmp_path / "xx.txt").write_text((tmp_path / "train2.pt").read_text())
    tree["data"]["train"][-1]["target"] = "xx.txt"
    recipe.write_text(json.dumps(tree))
    run = train(recipe, out=tmp_path / "run").run
    before, after = load_modular(modular_run), load_modular(run)
    old, new = dict(before.model.named_parameters()), dict(after.model.named_parameters())
    changed = {name for name in old if not torch.equal(old[name], new[name])}
    assert not changed
    assert any(name.startswith("decoder.xx") for name in new)


def test_checks_look_at_directions_that_cover_all_components() -> None:
    assert covering(ModularModel.model_validate(MODEL)) == ["en-de", "de-en", "en-pt"]


def test_a_direction_of_which_nothing_is_left_is_named(tmp_path: Path) -> None:
    long = [{"kind": "length", "unit": "words", "min": 5, "max": 200}]
    recipe = modular_recipe(tmp_path, **{"data.transforms": long, "data.tokenizer.vocabulary_size": 60})
    (tmp_path / "train2.pt").write_text("a b\n" * 200)
    (tmp_path / "train2.en").write_text("the ship\n" * 200)
    with pytest.raises(InputError, match=r"model\.directions\.en-pt: nothing is left to train on"):
        train(recipe, out=tmp_path / "run")


def test_packs_of_one_shape_have_the_planned_number_of_each_direction(tmp_path: Path) -> None:
    recipe, datasets = modular_sources(tmp_path)
    parts = build(recipe, datasets)
    packing = parts.task.plan_batches(recipe, datasets, packed=True, device=torch.device("cpu"))
    window, _ = next(parts.stream.batches(0))
    batches = packing.cut_at(window, 0)
    assert sum(batch.num_targets for batch in batches) == window.num_targets
    assert {name for batch in batches for name, _ in batch.parts} == set(DIRECTIONS)
    assert packing.resolved["source_tokens_per_micro_batch"] is not None


def test_a_direction_of_one_language_restores_corrupted_lines(tmp_path: Path) -> None:
    directions = {**DIRECTIONS, "de-de": {"encoder": ["shared"], "decoder": ["de"], "tags": ["<2de>"]}}
    corpora = [
        {"source": "train.en", "target": "train.de", "direction": "en-de", "both_directions": True},
        {"source": "train2.en", "target": "train2.pt", "direction": "en-pt", "both_directions": True},
        {"name": "alone", "text": "train.de", "direction": "de-de"},
    ]
    denoised = [{"kind": "denoise", "only": ["alone"]}]
    changes = {
        "data.train": corpora,
        "data.transforms": denoised,
        "model": {**MODEL, "directions": directions},
    }
    recipe, datasets = modular_sources(tmp_path, **changes)
    sample = datasets.of_direction("de-de").sample
    mask = datasets.tokenizers.target.id("<mask>")
    masked = int((sample.source.values == mask).sum())
    assert len(sample.target) / 2 < masked
    assert not (sample.target.values == mask).any()
    assert recipe.data.train[2].tags == ("<2de>",)
