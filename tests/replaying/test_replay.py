import hashlib
import json
import random
import shutil
from types import SimpleNamespace

import pytest

from tests.one_epoch_run import BROKEN_TARGET, STEPS, one_epoch_recipe
from tests.replaying.conftest import REWINDS
from tests.small_run import small_recipe
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import list_abandoned
from trimtab.errors import InputError
from trimtab.launch import train
from trimtab.progress import Silent
from trimtab.replaying import replay as replaying
from trimtab.replaying.replay import replay
from trimtab.step.learning_rate import LearningRate
from trimtab.training import stopwatch

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


def contents(folder):
    """Every file below a folder, with the sha256 of what is in it and the time it was written at."""
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def metrics(run):
    return {line["step"]: line for line in read_journal(run / "metrics.jsonl")}


@pytest.fixture
def few(monkeypatch):
    """Few windows to compare with, where it is not the verdict that is tested: they take most of the time."""
    monkeypatch.setattr(replaying, "OTHERS", 8)


@pytest.fixture
def ticking(monkeypatch):
    """A clock by which a step takes 60 ms, now more and now less, however fast the machine is."""
    draw, now = random.Random(1), 0.0

    def read() -> float:
        nonlocal now
        now += draw.uniform(0.006, 0.018)  # it is read five times a step
        return now

    monkeypatch.setattr(stopwatch, "time", SimpleNamespace(perf_counter=read))


@pytest.fixture
def copied(healthy_run, tmp_path):
    """A copy of the healthy run, which may be changed."""
    shutil.copytree(healthy_run, tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.quick("21-20")
@pytest.mark.parametrize(("step", "checkpoint"), [(1, 0), (21, 20), (STEPS, 80)])
def test_a_healthy_step_gives_the_numbers_that_were_written_down_to_the_last_bit(
    healthy_run, step, checkpoint, few
):
    found = replay(healthy_run, step=step)
    line = metrics(healthy_run)[step]
    assert (found.evidence.now.window.loss, found.evidence.now.window.grad_norm) == (
        line["loss"],
        line["grad_norm"],
    )
    assert found.evidence.exact
    assert (found.fault, found.started_from, found.trace) == ("no_spike", checkpoint, "")
    assert not any(each.stands_out for each in found.examples[1:])


@pytest.mark.quick("length")
@pytest.mark.parametrize(
    "changes",
    [
        {
            "step.precision": "bf16_mixed",
            "step.optimizer": {"kind": "lion", "learning_rate": 1e-3},
            "step.clip": {"kind": "adaptive"},
        },
        {
            "length": "0.014 minutes",
            "step.schedule.warmup": "0.004 minutes",
            "loss.truncate": {"error_norm": 1.0, "after": "6 steps"},
            "step.batch_warmup": {"start": 64, "over": "9 steps"},
        },
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_other_recipes_are_replayed_to_the_last_bit_too(tmp_path, changes, few, ticking):
    short = {
        "length": "14 steps",
        "step.schedule.warmup": "4 steps",
        "checkpoint.every": "8 steps",
        "data.valid": None,
    }
    run = train(small_recipe(tmp_path, **{**short, **changes}), out=tmp_path / "run").run
    lines = metrics(run)
    last = max(lines)
    assert 10 < last < 20
    if "loss.truncate" in changes:
        assert any(line["truncated"] for line in lines.values())
        assert len({line["target_tokens"] // 64 for line in lines.values()}) > 2, "steps have grown"
        assert lines[last]["learning_rate"] < max(line["learning_rate"] for line in lines.values())
    found = replay(run, step=last)
    assert found.evidence.exact, found.render()
    assert found.fault == "no_spike"


@pytest.mark.slow
def test_a_run_that_began_from_other_weights_begins_from_them_again(healthy_run, tmp_path, few):
    recipe = one_epoch_recipe(
        tmp_path,
        **{"model.warm_start": str(healthy_run), "length": "4 steps", "step.schedule.warmup": "1 steps"},
    )
    run = train(recipe, out=tmp_path / "run").run
    shutil.rmtree(run / "checkpoints")
    found = replay(run, step=3)
    assert found.evidence.exact
    assert found.started_from == 0
    assert not found.older_is_untrained


def test_a_broken_line_is_named_and_the_data_blamed(broken_run):
    run, line, step = broken_run
    found = replay(run, step=step)
    assert found.fault == "data"
    assert found.evidence.exact
    assert found.evidence.refused
    worst = found.examples[0]
    assert (worst.corpus, worst.line, worst.stands_out) == (f"{run.parent.name}/train", line, True)
    assert f"train line {line}" in found.render()
    assert "Correct or remove the lines" in found.render()


def test_the_same_line_was_put_into_quarantine_when_the_step_was_refused(broken_run):
    run, line, step = broken_run
    held = [each for each in read_journal(RunFolder(run).quarantine) if each["step"] == step]
    assert [(each["step"], each["line"], each["target"]) for each in held] == [(step, line, BROKEN_TARGET)]
    assert held[0]["code"] in ("S902", "S903")
    told = [each for each in read_journal(run / "findings.jsonl") if each["code"] == "S911"]
    assert step in [each["step"] for each in told]


@pytest.mark.slow
def test_the_step_before_a_broken_line_is_well(broken_run):
    run, _, step = broken_run
    found = replay(run, step=step - 1)
    assert found.fault == "no_spike"
    rule = found.evidence.rule
    assert (rule.window, rule.active_from, rule.loss_deviations, rule.norm_deviations) == (24, 16, 4.0, 6.0)
    assert len(found.evidence.history) <= 24, "what is judged is what the guard of the run remembers"


@pytest.fixture(scope="module")
def spoilt_run(tmp_path_factory):
    """A run whose rate was a thousand times too high in step 70."""
    folder = tmp_path_factory.mktemp("spoilt")
    left_alone = {"guard.outliers": False}  # with it the run would go back, and the damaged steps be gone
    healthy = LearningRate.at
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            LearningRate,
            "at",
            lambda rates, state: healthy(rates, state) * (1000 if state.step == 69 else 1),
        )
        return train(one_epoch_recipe(folder, **left_alone), out=folder / "run").run


@pytest.mark.slow
@pytest.mark.parametrize("step", [71, 75])
def test_weights_that_were_spoilt_are_blamed_and_no_line_is(spoilt_run, step):
    assert metrics(spoilt_run)[step]["loss"] > 2 * metrics(spoilt_run)[69]["loss"]
    found = replay(spoilt_run, step=step)
    assert (found.fault, found.started_from) == ("state", 60)
    assert found.evidence.exact
    assert "damaged after step 60" in found.explanation


@pytest.mark.slow
def test_a_checkpoint_of_spoilt_weights_is_seen_through(spoilt_run):
    assert replay(spoilt_run, step=70).fault == "no_spike"
    found = replay(spoilt_run, step=81)
    assert found.started_from == 80
    assert found.fault == "state"


@pytest.fixture
def too_fast(monkeypatch):
    """A rate a thousand times too high in step 50, of whichever run."""
    healthy = LearningRate.at
    monkeypatch.setattr(
        LearningRate, "at", lambda rates, state: healthy(rates, state) * (1000 if state.step == 49 else 1)
    )


def refused_loss(run, step):
    """The loss that the guard told of a step when it refused it."""
    said = next(
        each["message"]
        for each in read_journal(run / "findings.jsonl")
        if f"step {step} was" in each["message"]
    )
    return float(said.split("loss ")[1].split(",")[0])


@pytest.mark.slow
def test_a_step_that_was_left_out_is_taken_as_the_branch_that_was_left_took_it(tmp_path, too_fast, few):
    run = train(one_epoch_recipe(tmp_path, **REWINDS), out=tmp_path / "run").run
    assert metrics(run)[55]["refused"] == "masked"
    assert metrics(run)[55]["loss"] < 3 < refused_loss(run, 55)
    found = replay(run, step=55)
    assert (found.fault, found.started_from, found.evidence.refused) == ("state", 50, True)
    assert found.left_out.from_its_checkpoint
    assert float(f"{found.evidence.now.window.loss:.4g}") == refused_loss(run, 55)
    assert "went back from step 58 and takes none of steps 41 to 78" in found.explanation
    for folder in list_abandoned(run / "checkpoints"):
        shutil.rmtree(folder)
    again = replay(run, step=55)
    assert (again.fault, again.started_from, again.left_out.from_its_checkpoint) == ("state", 0, False)
    # On the whole way from the beginning the steps 1 to 40 come from the record, the others from the guard.
    assert again.evidence.now.window.loss == found.evidence.now.window.loss
    assert "damaged after step 27" in again.explanation


@pytest.mark.slow
def test_a_fault_that_does_not_come_again_is_not_reproduced(rewound_run, few):
    found = replay(rewound_run, step=55)
    assert (found.fault, found.started_from) == ("not_reproduced", 50)
    assert "a fault of the hardware" in found.explanation
    assert found.evidence.recorded is None


@pytest.mark.quick("51-as the branch that was left took it")
@pytest.mark.parametrize(
    ("step", "words"),
    [(51, "as the branch that was left took it"), (70, "before it came to this one")],
)
def test_of_a_step_that_was_left_out_before_or_behind_the_spike_it_says_so(rewound_run, few, step, words):
    found = replay(rewound_run, step=step)
    assert found.fault == "no_spike"
    assert found.explanation.startswith("the run left this step out")
    assert words in found.explanation


@pytest.mark.slow
@pytest.mark.parametrize("step", [81, 90])
def test_behind_the_steps_that_were_left_out_all_is_as_ever(rewound_run, few, step):
    found = replay(rewound_run, step=step)
    assert found.evidence.exact
    assert found.left_out is None


@pytest.mark.slow
def test_a_walk_through_steps_that_were_left_out_leaves_them_out(rewound_run, tmp_path, few):
    run = shutil.copytree(rewound_run, tmp_path / "run")
    shutil.rmtree(run / "checkpoints" / "step-00000080")
    found = replay(run, step=85)
    assert found.started_from == 0
    assert found.evidence.exact


@pytest.mark.slow
def test_a_step_that_only_its_own_weights_find_hard_is_blamed_on_both(healthy_run, monkeypatch):
    measure, step = replaying.measure, 75
    take = replaying.take

    def spiked_take(parts, station, records):
        report = take(parts, station, records)
        report.loss.mul_(40.0 if station.step == step else 1.0)
        return report

    monkeypatch.setattr(replaying, "take", spiked_take)
    records = {**metrics(healthy_run)}
    records[step] = {**records[step], "loss": records[step]["loss"] * 40.0}
    monkeypatch.setattr(replaying, "read_journal", lambda path: records.values())
    assert replaying.measure is measure
    found = replay(healthy_run, step=step)
    assert found.fault == "data_and_state"
    assert "Leaving it out is enough" in found.explanation


@pytest.mark.slow
def test_a_record_that_the_replay_does_not_give_is_told(copied, few):
    lines = [json.loads(line) for line in (copied / "metrics.jsonl").read_text().splitlines()]
    lines[49]["loss"] = 9.5
    (copied / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = replay(copied, step=50)
    assert found.fault == "not_reproduced"
    assert "wrote down loss 9.5" in found.explanation


@pytest.mark.slow
def test_without_metrics_the_step_is_judged_all_the_same(copied, few):
    (copied / "metrics.jsonl").unlink()
    found = replay(copied, step=45)
    assert found.fault == "no_spike"
    assert found.evidence.recorded is None
    assert "not written down" in found.render()


@pytest.mark.slow
def test_nothing_is_written_into_the_run_even_while_it_trains(copied, few):
    before = contents(copied)
    with RunFolder.open(copied) as locked:
        replay(copied, step=45)
        assert contents(copied).keys() - before.keys() <= {str(locked.path / ".lock")}
    assert {path: mark for path, mark in contents(copied).items() if not path.endswith(".lock")} == {
        path: mark for path, mark in before.items() if not path.endswith(".lock")
    }


class Heard(Silent):
    """A progress that keeps what it is told."""

    def __init__(self):
        self.messages, self.steps = [], []

    def message(self, text):
        self.messages.append(text)

    def step(self, metrics, *, share, seconds_left):
        self.steps.append((metrics["step"], share))


@pytest.mark.slow
def test_a_damaged_checkpoint_is_passed_over_and_told(copied, few):
    file = copied / "checkpoints" / "step-00000040" / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-9] ^= 1
    file.write_bytes(content)
    heard = Heard()
    found = replay(copied, step=50, progress=heard)
    assert (found.started_from, found.evidence.exact) == (20, True)
    assert any("step-00000040 is damaged: model.safetensors" in text for text in heard.messages)
    assert heard.steps == [(30, pytest.approx(10 / 30)), (40, pytest.approx(20 / 30))]
    assert file.read_bytes() == bytes(content)


@pytest.mark.slow
def test_where_no_checkpoint_is_sound_it_begins_with_the_run_and_says_so(copied, few):
    for folder in (copied / "checkpoints").iterdir():
        (folder / "manifest.json").write_text("{}")
    heard = Heard()
    found = replay(copied, step=30, progress=heard)
    assert (found.started_from, found.evidence.exact) == (0, True)
    assert any("from the beginning of the run" in text for text in heard.messages)


@pytest.mark.parametrize("step", [0, -1, STEPS + 1, 10**12])
def test_a_step_that_the_run_has_not_taken_is_refused(healthy_run, step):
    with pytest.raises(InputError) as error:
        replay(healthy_run, step=step)
    (problem,) = error.value.problems
    assert (problem.got, problem.allowed) == (str(step), f"1 to {STEPS}, the last recorded one")
    assert problem.fix


def test_a_run_without_steps_has_none_to_replay(copied, few):
    (copied / "metrics.jsonl").unlink()
    shutil.rmtree(copied / "checkpoints")
    with pytest.raises(InputError, match="no step to replay"):
        replay(copied, step=1)


@pytest.mark.slow
def test_changed_data_is_refused(tmp_path):
    short = {"length": "4 steps", "step.schedule.warmup": "1 steps", "data.valid": None}
    run = train(small_recipe(tmp_path, **short), out=tmp_path / "run").run
    text = (tmp_path / "train.en").read_text()
    (tmp_path / "train.en").write_text(text.replace("ship", "boat", 1))
    with pytest.raises(
        InputError, match=r"data.train.0 has changed since the checkpoint was written"
    ) as error:
        replay(run, step=3)
    assert "a replay needs the data" in error.value.problems[0].fix
    (tmp_path / "train.en").unlink()
    with pytest.raises(InputError, match=r"train\.en"):
        replay(run, step=3)


def test_a_changed_recipe_or_tokenizer_is_refused(copied, few):
    recipe = copied / "recipe.yaml"
    text = recipe.read_text()
    recipe.write_text(text.replace("\nseed: 1", "\nseed: 2"))
    assert recipe.read_text() != text
    with pytest.raises(InputError, match=r"recipe.seed has changed since the checkpoint was written"):
        replay(copied, step=3)
    recipe.write_text(text)
    shutil.rmtree(copied / "tokenizer")
    with pytest.raises(InputError, match="tokenizer"):
        replay(copied, step=3)
    assert not (copied / "tokenizer").exists()


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such run"):
        replay(tmp_path / "nothing", step=1)
    with pytest.raises(InputError, match="is not a run"):
        replay(tmp_path, step=1)


def test_a_device_that_is_not_there_is_refused(healthy_run):
    with pytest.raises(InputError, match="device"):
        replay(healthy_run, step=1, device="tpu")
