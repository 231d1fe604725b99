import hashlib
import json
import shutil
import signal
import threading
from dataclasses import replace

import pytest

from tests.small_run import small_recipe
from tests.training.small_line import Told
from trimtab import launch
from trimtab.checkpoint import retention
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import list_steps, step_name
from trimtab.checkpoint.store import CheckpointStore
from trimtab.config.load import load_recipe
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.data.tokenizer import train_tokenizer
from trimtab.errors import InputError, NothingToResume, RunFailed, Terminated
from trimtab.finding import Finding
from trimtab.flow import TrainState
from trimtab.launch import RunResult, forget, smoke, train
from trimtab.scoring import scores
from trimtab.training.findings import Findings
from trimtab.training.preflight import every_check
from trimtab.training.preflight.every_check import of_the_data

SHORT = {"length": "4 steps", "step.schedule.warmup": "2 steps", "evaluate.every": "50 steps"}
TIMES = {"seconds", "tokens_per_second"}
ALL_CHECKS = launch.preflight


@pytest.fixture(autouse=True)
def checks_of_data_only(monkeypatch, trained_run):
    """Runs of four steps take half as long without the checks of the model, which `trained_run` had."""
    monkeypatch.setattr(launch, "preflight", of_the_data)


@pytest.fixture
def recipe(tmp_path):
    """A recipe of four steps, one checkpoint at their end."""
    return small_recipe(tmp_path, **SHORT)


@pytest.fixture
def copied_run(trained_run, tmp_path):
    """A copy of the trained run, and the recipe it came from."""
    shutil.copytree(trained_run, tmp_path / "run")
    return tmp_path / "run", trained_run.parent / "recipe.yaml"


def model_sha(run, step):
    return hashlib.sha256(
        (run / "checkpoints" / step_name(step) / "model.safetensors").read_bytes()
    ).hexdigest()


def log(run, name):
    """The records of a log without what depends on the clock."""
    records = read_journal(run / f"{name}.jsonl")
    return [{key: value for key, value in each.items() if key not in TIMES} for each in records]


def newest_state(run):
    return CheckpointStore(run / "checkpoints", keep=9).latest().load_state()


def test_a_run_folder_holds_all_that_belongs_to_a_run(trained_run):
    assert {path.name for path in trained_run.iterdir() if not path.name.startswith(".")} == {
        "recipe.yaml",
        "tokenizer",
        "metrics.jsonl",
        "evaluations.jsonl",
        "samples.jsonl",
        "health.jsonl",
        "data_ledger.json",
        "checkpoints",
    }
    assert list_steps(trained_run / "checkpoints") == [20, 40, 60]


def test_the_resolved_recipe_says_what_was_chosen_and_needs_no_other_folder(trained_run):
    resolved = load_recipe(trained_run / "recipe.yaml").recipe
    assert (resolved.step.precision, resolved.step.compile) == ("fp32", "off")
    assert resolved.step.source_tokens_per_micro_batch is not None
    assert resolved.data.train[0].source == str(trained_run.parent / "train.en")


def test_the_result_says_where_the_run_is_and_whether_it_is_well(recipe, tmp_path):
    result = train(recipe, out=tmp_path / "run")
    assert (result.run, result.state.step) == (tmp_path / "run", 4)
    well, ill = [RunResult(result.run, TrainState(), [finding(each)]) for each in ("warning", "error")]
    assert well.ok
    assert not ill.ok


def finding(severity):
    return Finding(code="S901", name="non-finite-step", severity=severity, message="a step")


def test_without_a_folder_the_run_is_named_after_its_recipe(recipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert train(str(recipe)).run.resolve() == tmp_path / "runs" / "recipe"


def test_a_model_that_could_not_be_exported_as_the_recipe_says_is_not_trained(tmp_path):
    recipe = small_recipe(tmp_path, **{"export": ["ctranslate2", "hf"], "model.norm": "rms"})
    with pytest.raises(InputError, match=r"model\.norm: no class of transformers") as caught:
        train(recipe, overrides=["data.transforms=[{kind: normalize}]"], out=tmp_path / "run")
    assert len(caught.value.problems) == 2, "what two targets cannot express is told once"
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
    launch.check_exports(load_recipe(recipe, ["export=[ctranslate2]"]).recipe)


def test_overrides_are_part_of_the_recipe(recipe, tmp_path):
    train(recipe, overrides=["length=3 steps", "seed=7"], out=tmp_path / "run")
    resolved = load_recipe(tmp_path / "run" / "recipe.yaml").recipe
    assert (str(resolved.length), resolved.seed) == ("3 steps", 7)
    assert newest_state(tmp_path / "run").step == 3


def test_a_folder_that_holds_a_run_is_not_written_over(copied_run):
    run, recipe = copied_run
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="holds a run already"):
        train(recipe, out=run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_without_a_run_there_is_nothing_to_resume(recipe, tmp_path):
    with pytest.raises(NothingToResume) as caught:
        train(recipe, out=tmp_path / "nowhere", resume=True)
    assert caught.value.exit_code == 3
    assert not (tmp_path / "nowhere").exists()


def test_what_must_not_change_is_named_when_a_run_goes_on(recipe, tmp_path):
    run = train(recipe, out=tmp_path / "run").run
    name = "data.train.0"
    first, rest = (tmp_path / "train.en").read_text().split("\n", 1)
    (tmp_path / "train.en").write_text("never\n" + rest)
    assert refused(recipe, run) == {name}
    (tmp_path / "train.en").write_text(first + "\n" + rest)
    assert refused(recipe, run, "seed=2") == {"recipe.seed"}
    assert refused(recipe, run, "model.dim=64", "loss.label_smoothing=0.2") == {
        "recipe.model.dim",
        "recipe.loss.label_smoothing",
    }
    assert refused(recipe, run, "step.tokens_per_micro_batch=64") == {"recipe.step.tokens_per_micro_batch"}
    other = SentencePieceTokenizer(
        vocabulary_size=66, byte_fallback=False, character_coverage=1.0, model="bpe"
    )
    shutil.rmtree(run / "tokenizer")
    lines = (tmp_path / "train.en").read_text().splitlines() + (
        tmp_path / "train.de"
    ).read_text().splitlines()
    train_tokenizer(other, lines=lines, symbols=[], out=run / "tokenizer")
    assert refused(recipe, run) == {"tokenizer"}
    assert newest_state(run).step == 4


def test_a_run_goes_on_where_its_data_was_moved(tmp_path):
    run = train(small_recipe(tmp_path / "old", **SHORT), out=tmp_path / "run").run
    (tmp_path / "old").rename(tmp_path / "new")
    recipe = tmp_path / "new" / "recipe.yaml"
    assert train(recipe, overrides=["length=6 steps"], out=run, resume=True).state.step == 6


def refused(recipe, run, *overrides):
    """The names of what is told to be different."""
    with pytest.raises(InputError) as caught:
        train(recipe, overrides=overrides, out=run, resume=True)
    assert all(problem.got and problem.allowed and problem.fix for problem in caught.value.problems)
    return {problem.what.split(" is not what it was")[0] for problem in caught.value.problems}


def test_a_damaged_tokenizer_is_named(recipe, tmp_path):
    run = train(recipe, out=tmp_path / "run").run
    model = run / "tokenizer" / "sentencepiece.model"
    model.write_bytes(model.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"sentencepiece\.model"):
        train(recipe, out=run, resume=True)


def test_a_longer_length_goes_on(copied_run):
    run, recipe = copied_run
    metrics = log(run, "metrics")
    overrides = ["length=70 steps", "evaluate.every=35 steps", "data.workers=0", "checkpoint.keep=1"]
    result = train(recipe, overrides=overrides, out=run, resume=True)
    assert result.state.step == 70
    assert log(run, "metrics")[:60] == metrics
    assert [each["step"] for each in log(run, "metrics")] == list(range(1, 71))
    assert [each["step"] for each in log(run, "evaluations")] == [20, 40, 60, 70]
    assert str(load_recipe(run / "recipe.yaml").recipe.length) == "70 steps"


def test_a_finished_run_is_left_as_it_is(copied_run):
    run, recipe = copied_run
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert train(recipe, out=run, resume=True).state.step == 60
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_finished_run_ends_as_it_ended_before_and_says_that_nothing_is_left(copied_run):
    run, recipe = copied_run
    record = {"step": 60, "code": "E901", "name": "collapsed-outputs", "severity": "error", "message": "seen"}
    early = record | {"step": 20}
    lines = [json.dumps(each | {"why": "", "fix": "", "where": ""}) + "\n" for each in (early, record)]
    told, texts = Told(), []
    told.message = texts.append
    assert train(recipe, out=run, resume=True, progress=told).ok
    assert "nothing to do: the run is at step 60, its length of 60 steps is reached" in texts
    (run / "findings.jsonl").write_text(lines[0])
    assert train(recipe, out=run, resume=True).ok
    (run / "findings.jsonl").write_text("".join(lines))
    assert not train(recipe, out=run, resume=True).ok


def test_what_was_written_after_the_checkpoint_is_cut_off_and_comes_again(copied_run, trained_run):
    run, recipe = copied_run
    shutil.rmtree(run / "checkpoints" / step_name(60))
    with open(run / "metrics.jsonl", "a") as file:
        file.write('{"step": 61, "lo')
    with open(run / "findings.jsonl", "a") as file:
        file.write(
            json.dumps({"step": 41, "code": "S901"}) + "\n" + json.dumps({"step": 0, "code": "D201"}) + "\n"
        )
    train(recipe, out=run, resume=True)
    assert model_sha(run, 60) == model_sha(trained_run, 60)
    for name in ("metrics", "evaluations", "samples"):
        assert log(run, name) == log(trained_run, name)
    assert [each["code"] for each in log(run, "findings")] == ["D201"]
    assert (run / "data_ledger.json").read_bytes() == (trained_run / "data_ledger.json").read_bytes()


class StopsAt(Told):
    """Whoever watches presses Ctrl-C so hard that nothing is saved, at an evaluation or a step."""

    def __init__(self, *, evaluation=None, step=None):
        super().__init__()
        self.at = {"evaluation": evaluation, "step": step}

    def evaluation(self, scores):
        if scores["step"] == self.at["evaluation"]:
            raise KeyboardInterrupt

    def step(self, metrics, *, share, seconds_left):
        if metrics["step"] == self.at["step"]:
            raise KeyboardInterrupt


def test_an_evaluation_that_was_cut_short_at_the_end_is_made_again(tmp_path):
    recipe = small_recipe(tmp_path, **SHORT, **{"checkpoint.every": "2 steps"})
    with pytest.raises(KeyboardInterrupt):
        train(recipe, out=tmp_path / "run", progress=StopsAt(evaluation=4))
    assert newest_state(tmp_path / "run").step == 4
    assert [each["step"] for each in log(tmp_path / "run", "evaluations")] == [4]
    result = train(recipe, out=tmp_path / "run", resume=True)
    assert [each["step"] for each in log(tmp_path / "run", "evaluations")] == [4]
    assert len(log(tmp_path / "run", "samples")) == 5
    assert (result.state.evaluated, result.state.best["step"]) == (4, 4)


def test_a_finding_of_an_evaluation_that_is_made_again_is_written_once(tmp_path, monkeypatch):
    found = Finding(code="E901", name="collapsed-outputs", severity="warning", message="one", why="", fix="")
    monkeypatch.setattr("trimtab.training.validate.find_collapse", lambda sources, outputs: found)
    changes = {**SHORT, "evaluate.every": "2 steps", "checkpoint.every": "1 steps"}
    recipe, run = small_recipe(tmp_path, **changes), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(recipe, out=run, progress=StopsAt(evaluation=4))
    # As after a kill between two saves of one step: the older state says that step 2 was evaluated last.
    store = CheckpointStore(run / "checkpoints", keep=9)
    state = replace(store.latest().load_state(), step=4)
    forget(RunFolder(run), replace(state, evaluated=2), from_nothing=False)
    assert [each["step"] for each in log(run, "findings") if each["code"] == "E901"] == [2]
    train(recipe, out=run, resume=True)
    assert [each["step"] for each in log(run, "findings") if each["code"] == "E901"] == [2, 4]


def test_what_was_found_before_an_evaluation_at_the_same_step_is_not_forgotten_with_it(tmp_path):
    run = RunFolder(tmp_path)
    findings = Findings(run, Told())
    spike, loop = (
        Finding(code=code, name="n", severity="warning", message="m", why="", fix="")
        for code in ("S902", "E903")
    )
    for step in (2, 4):
        findings.step = step
        findings.tell(spike)
        with findings.of_an_evaluation():
            findings.tell(loop)
    forget(run, TrainState(step=4, evaluated=2), from_nothing=False)
    assert [(each["step"], each["code"]) for each in read_journal(run.findings)] == [
        (2, "S902"),
        (2, "E903"),
        (4, "S902"),
    ]


def test_a_run_that_never_saved_begins_again_with_empty_logs_and_a_new_tokenizer(tmp_path):
    recipe = small_recipe(tmp_path, **SHORT, **{"data.transforms": [{"kind": "length", "min": 4}]})
    with pytest.raises(KeyboardInterrupt):
        train(recipe, out=tmp_path / "run", progress=StopsAt(step=3))
    assert [each["code"] for each in log(tmp_path / "run", "findings")] == ["D202"]
    before = (tmp_path / "run" / "tokenizer" / "sentencepiece.model").read_bytes()
    recipe = small_recipe(tmp_path, **SHORT, **{"data.tokenizer.vocabulary_size": 65})
    result = train(recipe, out=tmp_path / "run", resume=True)
    assert result.state.step == 4
    assert [each["step"] for each in log(tmp_path / "run", "metrics")] == [1, 2, 3, 4]
    assert "D202" not in [each["code"] for each in log(tmp_path / "run", "findings")]
    assert (tmp_path / "run" / "tokenizer" / "sentencepiece.model").read_bytes() != before


def test_after_an_error_of_preflight_the_run_can_be_mended_and_resumed(tmp_path):
    recipe = small_recipe(tmp_path, **SHORT, **{"data.transforms": [{"kind": "length", "min": 6}]})
    with pytest.raises(RunFailed) as caught:
        train(recipe, out=tmp_path / "run")
    assert caught.value.exit_code == 1
    recipe = small_recipe(tmp_path, **SHORT)
    assert train(recipe, out=tmp_path / "run", resume=True).state.step == 4


def test_an_error_of_a_check_of_the_model_is_told_before_the_first_step(recipe, tmp_path, monkeypatch):
    def check(parts):
        yield Finding(code="M205", name="found", severity="error", message="m", why="", fix="")

    monkeypatch.setattr(launch, "preflight", ALL_CHECKS)
    monkeypatch.setattr(every_check, "OF_THE_MODEL", (*every_check.OF_THE_MODEL, check))
    with pytest.raises(RunFailed, match=r"nothing was trained: M205 found"):
        train(recipe, out=tmp_path / "run")
    assert [each["code"] for each in log(tmp_path / "run", "findings")] == ["M205"]
    assert log(tmp_path / "run", "metrics") == []


def test_what_the_checkpoints_say_is_written_down(copied_run, monkeypatch):
    run, recipe = copied_run
    weights = run / "checkpoints" / step_name(60) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    remove = retention.shutil.rmtree

    def cannot(path, *args, **kwargs):
        if "step-00000020" in str(path):
            raise PermissionError(13, "Permission denied")
        return remove(path, *args, **kwargs)

    monkeypatch.setattr(retention.shutil, "rmtree", cannot)
    result = train(recipe, overrides=["checkpoint.keep=1", "guard.rewinds=0"], out=run, resume=True)
    assert result.state.step == 60
    codes = [each["code"] for each in log(run, "findings")]
    # Damaged, seen at the start; not removed, seen along the way.
    assert codes[0] == "K901"
    assert "K904" in codes
    assert [each.code for each in result.findings] == codes


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_run_after_the_step_at_hand_and_it_can_go_on(trained_run, tmp_path, number):
    recipe, run = trained_run.parent / "recipe.yaml", tmp_path / "run"
    before, during = signal.getsignal(number), []

    def watch(step):
        if step == 33:
            signal.raise_signal(number)
            during.append(signal.getsignal(number))

    with pytest.raises(Terminated, match="after step 33; go on with --resume") as caught:
        train(recipe, out=run, progress=Told(watch=watch))
    assert caught.value.exit_code == 143
    assert during == [signal.SIG_DFL]  # a second one ends it at once
    assert signal.getsignal(number) == before
    assert newest_state(run).step == 33
    assert train(recipe, out=run, resume=True).state.step == 60
    assert model_sha(run, 60) == model_sha(trained_run, 60)
    assert log(run, "metrics") == log(trained_run, "metrics")
    assert log(run, "evaluations") == log(trained_run, "evaluations")


def test_a_run_outside_of_the_main_thread_leaves_signals_alone(recipe, tmp_path):
    results = []
    thread = threading.Thread(target=lambda: results.append(train(recipe, out=tmp_path / "run")))
    thread.start()
    thread.join()
    assert results[0].state.step == 4


def test_two_runs_of_one_recipe_end_with_the_same_weights(trained_run, tmp_path):
    train(trained_run.parent / "recipe.yaml", out=tmp_path / "run")
    assert model_sha(tmp_path / "run", 60) == model_sha(trained_run, 60)


def test_a_run_tells_what_is_about_to_happen(recipe, tmp_path):
    told, texts = Told(), []
    told.message = texts.append
    train(recipe, out=tmp_path / "run", progress=told)
    assert (
        "256 target tokens a step in 2 packs; 200 pairs an epoch; peak rate 0.01; length 4 steps" in texts[-1]
    )
    train(recipe, overrides=["length=5 steps"], out=tmp_path / "run", resume=True, progress=told)
    assert texts[-1].endswith("length 5 steps; going on from step 4")


def test_smoke_takes_a_recipe_that_was_loaded(tmp_path):
    assert smoke(load_recipe(small_recipe(tmp_path))) < 1.0


def test_the_folder_is_free_again_afterwards(recipe, tmp_path):
    train(recipe, out=tmp_path / "run")
    RunFolder.open(tmp_path / "run").close()


def test_a_bleu_tokenizer_whose_library_is_missing_is_told_before_the_first_step(tmp_path, monkeypatch):
    def without_library(**_):
        raise RuntimeError("Japanese tokenization requires extra dependencies")

    monkeypatch.setattr(scores, "BLEU", without_library)
    recipe = small_recipe(tmp_path, **SHORT, **{"data.valid.bleu_tokenizer": "ja-mecab"})
    with pytest.raises(InputError, match="ja-mecab needs a library"):
        train(recipe, out=tmp_path / "run")
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
    train(recipe, overrides=["evaluate.metrics=[chrf]", "evaluate.every=9 steps"], out=tmp_path / "other")


def test_a_run_that_is_older_than_some_settings_goes_on(copied_run, monkeypatch):
    """As if the checkpoint had been taken before these settings came."""
    run, recipe = copied_run
    newer = {"recipe.data.temperature", "recipe.model.kv_heads"}
    whole = launch.check_fingerprints

    def of_an_older_version(saved, current, **options):
        assert newer <= saved.keys()
        corpora = [
            {key: value for key, value in corpus.items() if key != "documents"}
            for corpus in json.loads(saved["recipe.data.train"])
        ]
        known = {name: value for name, value in saved.items() if name not in newer}
        whole(known | {"recipe.data.train": json.dumps(corpora, sort_keys=True)}, current, **options)

    monkeypatch.setattr(launch, "check_fingerprints", of_an_older_version)
    assert train(recipe, out=run, resume=True).state.step == 60
    with pytest.raises(InputError, match=r"data\.temperature is not what it was"):
        train(recipe, out=run, resume=True, overrides=["data.temperature=5"])


def test_a_run_whose_checkpoints_are_gone_says_that_it_begins_anew(copied_run):
    run, recipe = copied_run
    shutil.rmtree(run / "checkpoints")
    told = Told()
    messages = []
    told.message = messages.append
    train(recipe, out=run, resume=True, progress=told)
    assert any("the run begins anew; 60 steps had been taken" in each for each in messages)
