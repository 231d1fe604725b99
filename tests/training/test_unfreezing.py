"""A run that trains more weights from one step on than before it."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from tests.pretrained_folder import pretrained_folder
from tests.pretrained_run import pretrained_recipe
from trimtab.checkpoint.journal import read_journal
from trimtab.config.load import load_recipe
from trimtab.errors import InputError
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")
LOWER = "decoder.blocks.0.*"
FREEZE = ["decoder.norm.weight", {"weights": [LOWER, "embedding.weight"], "until": "2 steps"}]
EACH = {"length": "4 steps", "checkpoint": {"every": "1 steps", "keep": 4}}


@pytest.fixture(scope="module")
def unfrozen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unfrozen")
    pretrained_folder(folder / "base")
    return train(pretrained_recipe(folder, freeze=FREEZE, **EACH), out=folder / "run").run


def saved(run, step, name="model.safetensors"):
    return load_file(run / "checkpoints" / f"step-{step:08d}" / name)


def differing(first, second):
    return {name for name in first if not torch.equal(first[name], second[name])}


@pytest.mark.slow
def test_weights_join_with_moments_of_their_own_and_the_others_go_on(unfrozen):
    names = saved(unfrozen, 1).keys()
    early = {name for name in names if name.startswith("decoder.blocks.1")}
    assert differing(saved(unfrozen, 1), saved(unfrozen, 2)) == early
    assert differing(saved(unfrozen, 2), saved(unfrozen, 3)) == names - {"decoder.norm.weight"}
    moments = {step: saved(unfrozen, step, "optimizer.safetensors") for step in (2, 3)}
    assert {name.rpartition(".")[0] for name in moments[2]} == early
    counts = {
        name.rpartition(".")[0]: int(each) for name, each in moments[3].items() if name.endswith(".step")
    }
    assert counts == {name: 3 if name in early else 1 for name in names - {"decoder.norm.weight"}}


@pytest.mark.slow
def test_a_resumed_run_crosses_the_boundary_with_the_same_bits(unfrozen, tmp_path):
    shutil.copytree(unfrozen.parent, tmp_path / "copy")
    run = tmp_path / "copy" / "run"
    for step in (3, 4):
        shutil.rmtree(run / "checkpoints" / f"step-{step:08d}")
    train(tmp_path / "copy" / "text.yaml", out=run, resume=True)
    for name in ("model.safetensors", "optimizer.safetensors"):
        ours, others = saved(unfrozen, 4, name), saved(run, 4, name)
        assert ours.keys() == others.keys()
        assert not differing(ours, others)


def test_the_run_records_what_is_trained_from_which_step_on(unfrozen):
    stages = json.loads((unfrozen / "facts.json").read_text())["trained"]
    assert [each["step"] for each in stages] == [1, 3]
    assert stages[0]["parameters"] < stages[1]["parameters"]
    again = load_recipe(unfrozen / "recipe.yaml").recipe.freeze
    assert [each if isinstance(each, str) else str(each.until) for each in again] == [
        "decoder.norm.weight",
        "2 steps",
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"freeze": [{"weights": [LOWER], "until": "4 steps"}], "length": "4 steps"},
            "for longer than the run",
        ),
        ({"freeze": [{"weights": [LOWER], "until": "2 epochs"}]}, "a number of steps"),
        ({"step.optimizer": {"kind": "adafactor"}}, "cannot start training weights later"),
        ({"step.gradients": "released"}, "cannot start training weights later"),
        ({"parallel": {"kind": "fsdp"}}, "cannot start training weights later"),
    ],
)
def test_what_cannot_unfreeze_is_refused_with_the_recipe(tmp_path, changes, words):
    pretrained_folder(tmp_path / "base")
    with pytest.raises(InputError, match=words):
        load_recipe(pretrained_recipe(tmp_path, **{"freeze": FREEZE, **changes}))


@pytest.mark.gpu
def test_recorded_steps_cross_the_boundary_as_plain_ones_do(tmp_path):
    """Three plain steps are taken behind the boundary before the next recording."""
    pretrained_folder(tmp_path / "base")
    losses = {}
    for graph in ("on", "off"):
        changes = {
            "length": "20 steps",
            "step.cuda_graph": graph,
            "step.compile": "off",
            "evaluate.every": "20 steps",
        }
        freeze = [{"weights": [LOWER, "embedding.weight"], "until": "8 steps"}]
        path = pretrained_recipe(
            tmp_path,
            freeze=freeze,
            **changes,
            **{"step.precision": "bf16_mixed", "checkpoint.every": "20 steps"},
        )
        run = train(path, out=tmp_path / graph).run
        losses[graph] = [line["loss"] for line in read_journal(run / "metrics.jsonl")]
    assert losses["on"] == pytest.approx(losses["off"], rel=2e-3)
