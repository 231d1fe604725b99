"""Learning rates by role through whole runs: on real text, resumed, with both models."""

import lzma
from importlib.resources import files

import pytest
import torch

from tests.language_run import language_parts
from tests.small_run import small_parts
from tests.streams import pack_of
from tests.text_run import text_recipe
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.load import load_recipe
from trimtab.config.optimizers import AdamW
from trimtab.errors import InputError
from trimtab.launch import train
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.roles import role_of
from trimtab.step.optimizer.build import build_optimizer
from trimtab.training import prepare
from trimtab.training.preflight import preflight

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

KEY = "step.optimizer.learning_rate_multipliers"
TEXT = {
    "data.tokenizer": {"vocabulary_size": 420},
    "step.schedule": {"kind": "constant"},
    "length": "12 steps",
    "checkpoint.every": "6 steps",
    "evaluate.every": "12 steps",
}
SLOW = {"hidden": 0.125, "vector": 2.0}
SOME = {KEY: {**SLOW, "output": 0.5}}
UNTIED = {
    "translator": {"model.tie_embeddings": "none"},
    "language model": {"model.tie_embeddings": False},
}


def parts_of(which, folder, **changes):
    return (small_parts if which == "translator" else language_parts)(folder, **UNTIED[which] | changes)


def real_text_recipe(folder, **changes):
    """A language model of English lines of the sample that trimtab brings."""
    recipe = text_recipe(folder, **changes)
    with lzma.open(files("trimtab.demo").joinpath("data", "train.tsv.xz"), "rt", encoding="utf-8") as sample:
        lines = [line.split("\t")[0] for _, line in zip(range(330), sample, strict=False)]
    for name, some in (("train", lines[:300]), ("dev", lines[300:])):
        (folder / f"{name}.txt").write_text("\n\n".join(some) + "\n", encoding="utf-8")
    return recipe


@pytest.mark.quick("language model")
@pytest.mark.parametrize("which", UNTIED)
def test_the_first_step_moves_each_weight_by_its_own_multiple(tmp_path, which):
    def moved(changes):
        parts = parts_of(which, tmp_path, **changes)
        before = {name: each.detach().clone() for name, each in parts.model.named_parameters()}
        _, packs = next(iter(parts.stream.batches(0)))
        parts.stepper.reseed(0)
        parts.model.train()
        report = parts.stepper.take_step(packs, learning_rate=1e-3)
        assert report.learning_rate == 1e-3
        return {name: each.detach() - before[name] for name, each in parts.model.named_parameters()}

    plain, found = moved({}), moved(SOME)
    times = {"embedding": 1.0, "hidden": 0.125, "output": 0.5, "vector": 2.0}
    assert {role_of(name) for name in found} == times.keys()
    for name, change in found.items():
        if role_of(name) == "embedding":
            assert torch.equal(change, plain[name])
        torch.testing.assert_close(change, times[role_of(name)] * plain[name], rtol=1e-3, atol=3e-7)


@pytest.mark.quick("translator")
@pytest.mark.parametrize("which", UNTIED)
def test_written_ones_change_no_bit_and_no_check_objects_to_others(tmp_path, which):
    def weights(changes):
        parts = parts_of(which, tmp_path, **changes)
        parts.model.train()
        for step, (_, packs) in zip(range(3), parts.stream.batches(0), strict=False):
            parts.stepper.reseed(step)
            parts.stepper.take_step(packs, learning_rate=1e-3)
        return [each.detach() for each in parts.model.parameters()]

    ones = {KEY: dict.fromkeys(("embedding", "hidden", "output", "vector"), 1)}
    assert all(map(torch.equal, weights({}), weights(ones)))
    assert [str(each) for each in preflight(parts_of(which, tmp_path, **SOME))] == []


def change_of_hidden(width, multipliers):
    """How far three steps of Adam move the last hidden vectors of a decoder: root mean square."""
    config = DecoderModel(
        dim=width, heads=width // 16, layers=2, feed_forward=2 * width, tie_embeddings=False
    )
    model = DecoderOnly(config, num_ids=64, max_positions=64, seed=1)
    optimizer = build_optimizer(AdamW(learning_rate_multipliers=multipliers), model, role_of=role_of)
    rows = torch.randint(4, 64, (8, 32), generator=torch.Generator().manual_seed(3)).tolist()
    pack = pack_of(rows, rows)
    before = model(pack).detach()
    for _ in range(3):
        logits = model(pack) @ model.output_matrix.T
        torch.nn.functional.cross_entropy(logits, pack.labels).backward()
        optimizer.update(learning_rate=3e-4, skip=torch.tensor(False))
        for each in model.parameters():
            each.grad = None
    return float((model(pack).detach() - before).square().mean().sqrt())


@pytest.mark.slow
def test_a_wider_decoder_moves_far_less_with_the_rates_of_mup_than_with_one_rate():
    narrow = change_of_hidden(64, {})
    assert change_of_hidden(256, {}) > 2.5 * narrow
    assert change_of_hidden(256, {"hidden": 1 / 4, "output": 1 / 4}) < 1.6 * narrow


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Of 12 steps on real text, and its recipe."""
    folder = tmp_path_factory.mktemp("rates")
    recipe = real_text_recipe(folder, **TEXT, **{KEY: SLOW})
    return train(recipe, out=folder / "run").run, recipe


@pytest.mark.slow
def test_a_run_on_real_text_learns_and_writes_down_the_rate_of_the_schedule(run, tmp_path):
    lines = list(read_journal(run[0] / "metrics.jsonl"))
    assert lines[-1]["loss"] < lines[0]["loss"] - 0.2
    plain = train(real_text_recipe(tmp_path, **TEXT), out=tmp_path / "run")
    others = list(read_journal(plain.run / "metrics.jsonl"))
    assert [each["learning_rate"] for each in lines] == [each["learning_rate"] for each in others]
    assert [each["loss"] for each in lines] != [each["loss"] for each in others]
    stored = load_recipe(run[0] / "recipe.yaml").recipe.step.optimizer.learning_rate_multipliers
    assert stored.model_dump() == {
        "embedding": 1.0,
        "output": 1.0,
        "lora_b": 1.0,
        "layer_decay": 1.0,
        "names": {},
        **SLOW,
    }


@pytest.mark.slow
def test_a_run_that_goes_on_has_the_bits_of_one_in_a_piece_and_another_multiplier_is_told(run, tmp_path):
    whole, recipe = run
    train(recipe, out=tmp_path / "run", overrides=["length=6 steps"])
    with pytest.raises(
        InputError, match=r"learning_rate_multipliers\.hidden has changed since the checkpoint was written"
    ) as caught:
        train(recipe, out=tmp_path / "run", resume=True, overrides=[f"{KEY}.hidden=0.5"])
    (problem,) = caught.value.problems
    assert (problem.got, problem.allowed) == ("0.5", "0.125")
    train(recipe, out=tmp_path / "run", resume=True)
    first, second = (resolve_checkpoint(f"{each}@12").load_model() for each in (whole, tmp_path / "run"))
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.slow
def test_a_run_that_is_older_than_the_setting_goes_on(tmp_path, monkeypatch):
    """As if the checkpoint had been taken before there were multipliers."""
    recipe = real_text_recipe(tmp_path, **TEXT)
    train(recipe, out=tmp_path / "run", overrides=["length=6 steps"])
    whole = prepare.check_fingerprints

    def of_an_older_version(saved, current, **options):
        known = {name: value for name, value in saved.items() if KEY not in name}
        assert len(known) == len(saved) - 7
        whole(known, current, **options)

    monkeypatch.setattr(prepare, "check_fingerprints", of_an_older_version)
    assert train(recipe, out=tmp_path / "run", resume=True).state.step == 12
