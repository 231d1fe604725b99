"""A moving average of the weights through a whole run: kept, scored, killed, resumed, named and used."""

import hashlib
import lzma
import signal
import sys
from dataclasses import replace
from importlib.resources import files

import pytest

from tests.faults.killing import Moment, end_one, finish
from tests.small_run import small_parts, small_recipe
from tests.training.small_line import equal, small_line, snapshot
from trimtab.averaging.average import average
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.step_folders import step_name
from trimtab.config.load import load_recipe
from trimtab.config.render import render_recipe
from trimtab.config.run import EvaluateConfig
from trimtab.inference import load_model
from trimtab.launch import train
from trimtab.progress import Silent
from trimtab.tasks.text.validation_scores import loss_of
from trimtab.training.preflight import preflight
from trimtab.training.validate import validate, with_best
from trimtab.training.warm_start import warm_start
from trimtab.types import TrainState

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

EMA = {
    "length": "12 steps",
    "step.schedule.warmup": "2 steps",
    "checkpoint.every": "4 steps",
    "evaluate.every": "12 steps",
    "evaluate.weights": "ema",
    "step.ema": {"decay": 0.9},
    "data.train.0.name": "words",
}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("averaged")
    return train(small_recipe(folder, **EMA), out=folder / "run").run


def digests(run, step=12):
    folder = run / "checkpoints" / step_name(step)
    return [
        hashlib.sha256((folder / f"{name}.safetensors").read_bytes()).hexdigest()
        for name in ("model", "optimizer")
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="ends a process by SIGKILL")
def test_killed_and_resumed_the_mean_has_the_bits_of_a_run_that_nobody_disturbed(undisturbed, tmp_path):
    recipe = small_recipe(tmp_path, **EMA)
    found = end_one(recipe, tmp_path / "run", Moment(4, 0.01), number=signal.SIGKILL, resume=False)
    assert found.code == -signal.SIGKILL
    assert 4 <= found.checkpoint < 12
    finish(recipe, tmp_path / "run", resume=True)
    assert digests(tmp_path / "run") == digests(undisturbed)


@pytest.mark.slow
def test_training_itself_does_not_notice_and_nothing_is_written_where_it_is_off(undisturbed, tmp_path):
    line = small_line(tmp_path, **EMA | {"step.ema": None, "evaluate.weights": None})
    line.train()
    plain, averaged = line.recorder.store.at(12), resolve_checkpoint(f"{undisturbed}@12")
    assert equal(plain.load_model(), averaged.load_model())
    moments, kept = plain.load_optimizer(), averaged.load_optimizer()
    assert moments
    assert not any(name.startswith("ema.") for name in moments)
    assert equal({name: kept[name] for name in moments}, moments)
    assert "weights" not in plain.load_state().best


@pytest.mark.slow
def test_the_run_means_what_it_evaluated_and_the_other_weights_have_a_name(undisturbed):
    checkpoint = resolve_checkpoint(f"{undisturbed}@12")
    raw, mean = checkpoint.load_model(), checkpoint.load_optimizer(prefix="ema.weights.")
    for spec, wanted in {
        "@12": mean,
        "@12:ema": mean,
        "@last:ema": mean,
        "@last": mean,
        "@12:raw": {f"ema.weights.{name}": tensor for name, tensor in raw.items()},
    }.items():
        loaded = load_model(f"{undisturbed}{spec}", device="cpu").model.state_dict()
        assert equal({f"ema.weights.{name}": tensor for name, tensor in loaded.items()}, wanted), spec
    assert load_model(f"{undisturbed}@ema").checkpoint.step == load_model(str(undisturbed)).checkpoint.step
    best = checkpoint.load_state().best
    assert (best["weights"], best["step"]) == ("ema", load_model(str(undisturbed)).checkpoint.step)


@pytest.mark.slow
def test_evaluation_scores_the_mean_and_leaves_the_weights_alone(tmp_path):
    line = small_line(tmp_path, **EMA, **{"evaluate.metrics": ["chrf"]})
    state = line.train()
    before = line.weights()
    valid = line.parts.datasets.valid["valid"]
    averaged = line.parts.evaluation_model.copy().eval()
    scored = line.log("evaluations")[-1]["loss"]
    assert loss_of(line.parts, averaged, valid) == pytest.approx(scored, rel=1e-6)
    line.parts.model.eval()
    assert loss_of(line.parts, line.parts.model, valid) != pytest.approx(scored, rel=1e-6)
    validate(line.parts, state, line.recorder)
    assert equal(line.weights(), before)


def test_a_score_of_the_mean_is_not_compared_with_one_of_the_raw_weights(tmp_path):
    parts = small_parts(tmp_path)

    def scored(weights, value, state):
        evaluate = EvaluateConfig(weights=weights, best={"metric": "loss"})
        parts.recipe = parts.recipe.model_copy(update={"evaluate": evaluate})
        return with_best(state, {"valid": {"loss": value}}, parts.recipe.evaluate)

    raw = scored("raw", 1.0, TrainState(step=1))
    assert set(raw.best) == {"set", "metric", "value", "step", "since"}
    assert scored("raw", 2.0, replace(raw, step=2)).best == {**raw.best, "since": 1}
    mean = scored("ema", 2.0, replace(raw, step=2))
    assert (mean.best["step"], mean.best["weights"], mean.best["since"]) == (2, "ema", 0)
    assert scored("ema", 3.0, replace(mean, step=3)).best == {**mean.best, "since": 1}
    assert scored("raw", 3.0, replace(mean, step=3)).best["step"] == 3


@pytest.mark.slow
def test_all_checks_before_the_run_pass_with_it_and_with_bounded_weights(tmp_path):
    line = small_line(tmp_path, **EMA, **{"step.weight_clip": 1.5})
    before = snapshot(line.parts.stepper.optimizer.state_tensors())
    assert [each for each in preflight(line.parts) if each.severity == "error"] == []
    assert equal(snapshot(line.parts.stepper.optimizer.state_tensors()), before)


@pytest.mark.quick("@12:ema-:ema")
@pytest.mark.parametrize(("behind", "named"), [("@12:ema", ":ema"), ("@12:raw", ":raw"), ("@last", ":ema")])
def test_a_warm_start_takes_the_weights_that_are_named_and_a_mean_begins_from_them(
    undisturbed, tmp_path, behind, named
):
    parts = small_parts(tmp_path, **EMA, **{"model.warm_start": f"{undisturbed}{behind}"})
    warm_start(parts, progress=Silent())
    old = load_model(f"{undisturbed}@12{named}", device="cpu").model.state_dict()
    assert equal(snapshot(parts.model.state_dict()), snapshot(old))
    assert equal(snapshot(parts.stepper.optimizer.averaged_copy(parts.model).state_dict()), snapshot(old))
    assert parts.recipe.model.warm_start == f"{undisturbed}@12{named}"


def test_the_settings_are_written_down_and_read_again(tmp_path):
    loaded = load_recipe(small_recipe(tmp_path), ["step.ema.decay=0.999", "evaluate.weights=ema"]).recipe
    assert (loaded.step.ema.decay, loaded.step.ema.warmup, loaded.step.ema.every) == (0.999, True, 1)
    (tmp_path / "again.yaml").write_text(render_recipe(loaded))
    assert load_recipe(tmp_path / "again.yaml").recipe == loaded


@pytest.mark.slow
def test_on_real_text_at_a_rate_that_does_not_fall_the_mean_is_better_than_the_weights(tmp_path):
    with files("trimtab.demo").joinpath("data/train.tsv.xz").open("rb") as opened:
        text = lzma.decompress(opened.read()).decode().splitlines()
    recipe = small_recipe(
        tmp_path,
        **EMA,
        **{
            "data.train": [{"pairs": "train.tsv", "source": 1, "target": 2}],
            "data.valid": {"pairs": "dev.tsv", "source": 1, "target": 2},
            "data.tokenizer": {"vocabulary_size": 700},
            "data.max_tokens": 64,
            "evaluate.lines": 4,
            "step.tokens_per_step": 1024,
            "step.tokens_per_micro_batch": 1024,
            "step.schedule": {"kind": "constant", "warmup": "10 steps"},
        },
    )
    (tmp_path / "train.tsv").write_text("".join(line + "\n" for line in text[1:900]))
    (tmp_path / "dev.tsv").write_text("".join(line + "\n" for line in text[2000:2080]))
    run = train(recipe, overrides=["length=120 steps", "checkpoint.every=40 steps"], out=tmp_path / "run").run
    report = average([f"{run}@last"], ema=True, metric="loss", out=tmp_path / "mean")
    assert report.comparison.gain > 0
