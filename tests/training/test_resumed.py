import json
import shutil
from dataclasses import replace

import pytest

from tests.box_run import SMALL_MODEL, box_recipe
from tests.config.test_corpora import WRITTEN
from tests.short_run import SHORT, log, model_sha, newest_state
from tests.small_run import small_recipe
from tests.training.small_line import Told
from trimtab.checkpoint.fingerprints import check_fingerprints
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.lock import LOCK
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import step_name
from trimtab.checkpoint.store import CheckpointStore
from trimtab.config.corpora import TrainCorpus
from trimtab.config.load import load_recipe
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.data.tokenizer import train_tokenizer
from trimtab.errors import InputError, NothingToResume
from trimtab.finding import Finding
from trimtab.launch import train
from trimtab.training import prepare
from trimtab.training.findings import Findings
from trimtab.training.resumed import migrate_fingerprints, truncate_logs, with_chosen_values, without_paths
from trimtab.types import TrainState

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


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


@pytest.mark.slow
def test_a_run_goes_on_where_its_data_was_moved(tmp_path):
    run = train(small_recipe(tmp_path / "old", **SHORT), out=tmp_path / "run").run
    (tmp_path / "old").rename(tmp_path / "new")
    recipe = tmp_path / "new" / "recipe.yaml"
    assert train(recipe, overrides=["length=6 steps"], out=run, resume=True).state.step == 6


@pytest.mark.parametrize("kind", WRITTEN)
def test_no_path_of_a_corpus_is_part_of_what_a_run_is(tmp_path, kind):
    """A dataset folder once was: a run refused to continue where it had been moved."""
    recipe = load_recipe(small_recipe(tmp_path, **SHORT)).recipe
    corpus = TrainCorpus(**WRITTEN[kind])
    here, there = (
        with_corpus(recipe, corpus.with_paths(lambda path, to=to: to + path)) for to in ("here/", "there/")
    )
    assert without_paths(here) == without_paths(there)
    if kind not in ("text", "images", "boxes", "source"):
        changed = with_corpus(here, here.data.train[0].model_copy(update={"source": "another"}))
        assert without_paths(here) != without_paths(changed)


def test_a_detector_resumes_with_the_recipe_that_names_a_folder_of_weights(tmp_path):
    model = SMALL_MODEL | {"path": "there", "sha256": "0" * 64, "settings": "{}"}
    begun = load_recipe(box_recipe(tmp_path / "run", model=model)).recipe
    given = load_recipe(box_recipe(tmp_path / "new", model=SMALL_MODEL | {"path": "moved"})).recipe
    found = with_chosen_values(given, RunFolder(tmp_path / "run"))
    assert found.model.sha256 == "0" * 64
    assert without_paths(found)["model"] == without_paths(begun)["model"]


def with_corpus(recipe, corpus):
    return recipe.model_copy(update={"data": recipe.data.model_copy(update={"train": (corpus,)})})


def refused(recipe, run, *overrides):
    """The names of what is told to be different."""
    with pytest.raises(InputError) as caught:
        train(recipe, overrides=overrides, out=run, resume=True)
    assert all(problem.got and problem.allowed and problem.fix for problem in caught.value.problems)
    return {
        problem.what.split(" has changed since the checkpoint was written")[0]
        for problem in caught.value.problems
    }


def test_a_run_that_is_older_than_some_settings_goes_on(copied_run, monkeypatch):
    """As if the checkpoint had been taken before these settings came."""
    run, recipe = copied_run
    newer = {"recipe.data.temperature", "recipe.model.kv_heads"}
    whole = prepare.check_fingerprints

    def of_an_older_version(saved, current, **options):
        assert newer <= saved.keys()
        corpora = [
            {key: value for key, value in corpus.items() if key != "documents"}
            for corpus in json.loads(saved["recipe.data.train"])
        ]
        known = {name: value for name, value in saved.items() if name not in newer}
        whole(known | {"recipe.data.train": json.dumps(corpora, sort_keys=True)}, current, **options)

    monkeypatch.setattr(prepare, "check_fingerprints", of_an_older_version)
    assert train(recipe, out=run, resume=True).state.step == 60
    with pytest.raises(InputError, match=r"data\.temperature has changed since the checkpoint was written"):
        train(recipe, out=run, resume=True, overrides=["data.temperature=5"])


@pytest.mark.slow
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
    before = contents(run)
    assert train(recipe, out=run, resume=True).state.step == 60
    assert contents(run) == before


def contents(run):
    """All files but the lock, which names the process that was the last to open the run."""
    return {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != LOCK}


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


@pytest.mark.slow
def test_a_run_that_patience_ended_says_so_at_its_end_and_where_it_is_resumed(tmp_path):
    evaluate = {"every": "2 steps", "patience": 3, "metrics": [], "best": {"metric": "loss"}}
    changes = {"length": "30 steps", "step.optimizer.learning_rate": 0.9, "evaluate": evaluate}
    recipe = small_recipe(tmp_path, **SHORT | changes)
    told, texts = Told(), []
    told.message = texts.append
    why = "evaluate.patience is at its end: the last 3 evaluations were no better; raise it to continue"
    run = train(recipe, out=tmp_path / "run", progress=told).run
    assert [text for text in texts if "patience" in text] == [f"ended at step 8: {why}"]
    texts.clear()
    train(recipe, overrides=["length=60 steps"], out=run, resume=True, progress=told)
    assert [text for text in texts if "patience" in text] == [f"nothing to do: the run is at step 8, {why}"]


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_finding_of_an_evaluation_that_is_made_again_is_written_once(tmp_path, monkeypatch):
    found = Finding(code="E901", name="collapsed-outputs", severity="warning", message="one", why="", fix="")
    monkeypatch.setattr("trimtab.tasks.text.diagnose.find_collapse", lambda sources, outputs: found)
    changes = {**SHORT, "evaluate.every": "2 steps", "checkpoint.every": "1 steps"}
    recipe, run = small_recipe(tmp_path, **changes), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(recipe, out=run, progress=StopsAt(evaluation=4))
    # As after a kill between two saves of one step: the older state says that step 2 was evaluated last.
    store = CheckpointStore(run / "checkpoints", keep=9)
    state = replace(store.latest().load_state(), step=4)
    truncate_logs(RunFolder(run), replace(state, evaluated=2), from_nothing=False)
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
    truncate_logs(run, TrainState(step=4, evaluated=2), from_nothing=False)
    assert [(each["step"], each["code"]) for each in read_journal(run.findings)] == [
        (2, "S902"),
        (2, "E903"),
        (4, "S902"),
    ]


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_run_that_began_anew_says_so(recipe, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(recipe, out=tmp_path / "run", progress=StopsAt(step=3))
    told = Told()
    messages = []
    told.message = messages.append
    train(recipe, out=tmp_path / "run", resume=True, progress=told)
    assert any("the run starts again from step 0; it had reached step 3" in each for each in messages)


@pytest.mark.parametrize("emptied", [True, False], ids=["emptied", "gone"])
def test_a_run_whose_checkpoints_are_gone_does_not_begin_anew(copied_run, emptied):
    run, recipe = copied_run
    shutil.rmtree(run / "checkpoints")
    if emptied:
        (run / "checkpoints").mkdir()
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != ".lock"}
    with pytest.raises(NothingToResume, match=r"the checkpoints of .* are gone"):
        train(recipe, out=run, resume=True)
    assert {path: path.read_bytes() for path in before} == before


def test_a_dataset_of_an_older_version_is_known_wherever_its_folder_is():
    """Versions before counted its path, and neither columns nor a `text`."""
    old = {"dataset": "/old/place", "split": None, "weight": 1.0}
    other = {"dataset": None, "weight": 1.0}
    saved = {"recipe.seed": "1", "recipe.data.train": json.dumps([old, other], sort_keys=True)}
    new = [{"split": None, "source": "en", "target": "de", "text": None, "weight": 1.0}, other]
    now = {"recipe.seed": "1", "recipe.data.train": json.dumps(new, sort_keys=True)}
    check_fingerprints(migrate_fingerprints(saved), now, as_read_now=now)
    with pytest.raises(InputError, match=r"recipe\.data\.train has changed since the checkpoint was written"):
        check_fingerprints(saved, now, as_read_now=now)
    assert migrate_fingerprints({"recipe.seed": "1"}) == {"recipe.seed": "1"}
