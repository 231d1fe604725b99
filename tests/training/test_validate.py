import math
import random
from dataclasses import replace

import pytest
import torch

from tests.language_run import PAIRS, language_recipe
from tests.small_run import small_recipe
from tests.training.small_line import equal, small_line
from trimtab.checkpoint.journal import read_journal
from trimtab.distributed.ranks import OneRank
from trimtab.evaluation.score_rows import score_rows
from trimtab.launch import train
from trimtab.tasks.text import diagnose
from trimtab.training.activation_statistics import watching
from trimtab.training.validate import rows_of_rank, validate
from trimtab.types import Ragged, TrainState

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

AT_THE_END = TrainState(step=60)
SCORES = {"step", "set", "loss", "bleu", "bleu_signature", "chrf", "chrf_signature", "distinct_outputs"}
SCORES |= {"repeated_4grams", "lines", "seconds"}


@pytest.fixture
def line(tmp_path):
    return small_line(tmp_path)


def test_each_evaluation_is_written_once_with_all_scores(trained_run):
    evaluations = list(read_journal(trained_run / "evaluations.jsonl"))
    assert [each["step"] for each in evaluations] == [20, 40, 60]
    assert all(set(each) == SCORES and each["lines"] == 24 for each in evaluations)
    assert all(
        "version:" in each["bleu_signature"] and "nc:6" in each["chrf_signature"] for each in evaluations
    )
    losses = [each["loss"] for each in evaluations]
    assert losses == sorted(losses, reverse=True)


def test_samples_are_the_same_lines_at_each_evaluation(trained_run):
    samples = list(read_journal(trained_run / "samples.jsonl"))
    assert [each["step"] for each in samples] == [20] * 5 + [40] * 5 + [60] * 5
    dev = (trained_run.parent / "dev.en").read_text().splitlines()
    german = (trained_run.parent / "dev.de").read_text().splitlines()
    for first, later in zip(samples[:5], samples[10:], strict=True):
        assert {**first, "step": 60, "translation": later["translation"]} == later
    for each in samples:
        assert (each["source"], each["reference"]) == (dev[each["line"] - 1], german[each["line"] - 1])


def test_the_last_step_is_evaluated_whether_due_or_not_and_once(tmp_path):
    for name, length in (("due", 4), ("not due", 3)):
        line = small_line(tmp_path / name, **{"length": f"{length} steps", "evaluate.every": "2 steps"})
        line.train()
        assert [each["step"] for each in line.log("evaluations")] == [2, length]
        assert line.train(line.recorder.store.latest().load_state()).step == length
        assert len(line.log("evaluations")) == 2
        assert len(line.log("samples")) == 10


def test_each_of_several_ranks_looks_inside_at_one_of_its_packs(line):
    parts, valid = line.parts, line.parts.datasets.valid["valid"]
    parts.model.eval()
    packs = [
        pack
        for start in range(0, valid.rows, 3)
        for pack in parts.batching.pack_pairs(
            valid.source.between(start, start + 3), valid.target.between(start, start + 3)
        )
    ]
    for rank in (0, 1):
        ranks = OneRank(rank=rank, world_size=2)
        with watching(parts.model, sentences=rows_of_rank(valid.rows, ranks)) as found:
            score_rows(packs, parts.model, device=parts.device, precision=None, ranks=ranks)
        assert len(packs) == 8
        assert len(found) == 1
        with watching(parts.model, sentences=valid.rows) as found:
            score_rows(packs, parts.model, device=parts.device, precision=None, ranks=ranks)
        assert found == []


def test_a_set_whose_pairs_are_all_too_long_has_no_loss_and_no_finding_about_its_sources(line):
    valid = line.parts.datasets.valid["valid"]
    empty = Ragged.of([])
    line.parts.datasets.valid["valid"] = replace(valid, source=empty, target=empty, too_long=24)
    state = validate(line.parts, AT_THE_END, line.recorder)
    assert [each["loss"] for each in line.log("evaluations")] == ["nan"]
    assert "M901" not in [each.code for each in line.told.findings]
    assert state.evaluated == 60


def test_recorded_steps_make_room_before_the_model_is_copied(line, monkeypatch):
    asked, kind = [], type(line.parts.evaluation_model)
    copy = kind.copy

    class Graphs:
        def make_room_to_evaluate(self):
            asked.append("room")

    monkeypatch.setattr(line.parts.stepper, "graphs", Graphs())
    monkeypatch.setattr(kind, "copy", lambda self: [asked.append("copy"), copy(self)][1])
    validate(line.parts, AT_THE_END, line.recorder)
    assert asked == ["room", "copy"]


def test_weights_and_mode_are_as_before(line):
    before = line.weights()
    validate(line.parts, AT_THE_END, line.recorder)
    assert equal(before, line.weights())
    assert line.parts.model.training


def test_without_validation_sets_nothing_is_written(tmp_path):
    line = small_line(tmp_path, **{"data.valid": None})
    assert validate(line.parts, AT_THE_END, line.recorder) == replace(AT_THE_END, evaluated=60)
    assert line.log("evaluations") == []


@pytest.mark.slow
def test_without_validation_sets_weights_that_never_move_are_found_all_the_same(tmp_path):
    line = small_line(
        tmp_path,
        **{
            "data.valid": None,
            "length": "130 steps",
            "evaluate.every": "130 steps",
            "step.optimizer.learning_rate": 1e-12,
        },
    )
    line.train()
    assert "M902" in [each["code"] for each in line.log("findings")]
    assert [each["step"] for each in line.log("health")] == [130]


def test_several_sets_are_scored_by_name_and_one_of_them_chooses_the_best(tmp_path):
    sets = {name: {"source": "dev.en", "target": "dev.de"} for name in ("one", "two")}
    changes = {"data.valid": sets, "evaluate.best": {"set": "two", "metric": "loss"}}
    line = small_line(tmp_path, **changes)
    state = validate(line.parts, AT_THE_END, line.recorder)
    one, two = line.log("evaluations")
    assert (one["set"], two["set"]) == ("one", "two")
    assert {each["set"] for each in line.log("samples")} == {"one"}
    assert state.best == {"set": "two", "metric": "loss", "value": two["loss"], "step": 60, "since": 0}


def test_a_model_that_says_one_thing_whatever_it_reads_is_found_but_not_too_early(line):
    collapse(line.parts)
    validate(line.parts, TrainState(step=11), line.recorder)
    assert line.told.findings == []
    validate(line.parts, TrainState(step=12), line.recorder)
    assert [each.code for each in line.told.findings] == ["E901"]
    assert "23 different sentences have only 1 different translations" in line.told.findings[0].message


@pytest.mark.parametrize(("learned", "severity"), [(0.7, "warning"), (100.0, "error")])
def test_a_collapse_is_an_error_once_the_loss_says_that_something_was_learned(
    line, monkeypatch, learned, severity
):
    monkeypatch.setattr(diagnose, "LEARNED_SHARE", learned)
    line.recorder.input_matters = True
    collapse(line.parts)
    validate(line.parts, AT_THE_END, line.recorder)
    assert [(each.code, each.severity) for each in line.told.findings] == [("E901", severity)]


@torch.no_grad()
def collapse(parts):
    """Ends every translation at once, whatever was read."""
    parts.model.decoder.norm.weight.zero_()
    parts.model.decoder.norm.bias.copy_(10 * parts.model.output_matrix[parts.datasets.tokenizer.end])


@pytest.mark.slow
def test_training_on_lines_that_do_not_belong_together_is_found(tmp_path):
    recipe = small_recipe(tmp_path)
    for name in ("train.de", "dev.de"):
        lines = (tmp_path / name).read_text().splitlines()
        random.Random(3).shuffle(lines)
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    result = train(recipe, out=tmp_path / "run")
    found = [each for each in result.findings if each.code == "M901"]
    assert found
    assert (found[-1].name, found[-1].severity) == ("source-ignored", "error")
    assert "`trimtab data inspect RECIPE`" in found[-1].fix
    assert not result.ok
    # The loss alone looks well.
    losses = [each["loss"] for each in read_journal(tmp_path / "run" / "metrics.jsonl")]
    assert losses[-1] < 0.65 * losses[0]


def test_healthy_training_has_no_finding(trained_run):
    assert list(read_journal(trained_run / "findings.jsonl")) == []


def test_edits_are_counted_by_sacrebleu_and_written_down_with_their_signature(line):
    evaluate = line.parts.recipe.evaluate.model_copy(update={"metrics": ("ter",)})
    parts = replace(
        in_terms_of(line.parts, "ter"), recipe=line.parts.recipe.model_copy(update={"evaluate": evaluate})
    )
    parts = in_terms_of(parts, "ter")
    state = validate(parts, TrainState(step=40), line.recorder)
    (scores,) = line.log("evaluations")
    assert state.best["metric"] == "ter"
    assert state.best["value"] == scores["ter"] > 0
    assert "tok:tercom" in scores["ter_signature"]
    assert "bleu" not in scores


def in_terms_of(parts, metric):
    evaluate = parts.recipe.evaluate
    best = evaluate.best.model_copy(update={"metric": metric})
    recipe = parts.recipe.model_copy(update={"evaluate": evaluate.model_copy(update={"best": best})})
    return replace(parts, recipe=recipe)


def test_a_run_that_recovers_ends_well_and_its_log_remembers(line):
    model, healthy = line.parts.model, line.weights()
    collapse(line.parts)
    validate(line.parts, TrainState(step=40), line.recorder)
    assert [each.code for each in line.recorder.findings.current] == ["E901"]
    model.load_state_dict(healthy)
    validate(line.parts, TrainState(step=60), line.recorder)
    assert line.recorder.findings.current == []
    assert [(each["code"], each["severity"]) for each in line.log("findings")] == [("E901", "warning")]


@pytest.mark.quick("texts")
@pytest.mark.parametrize(
    ("changes", "told"),
    [({}, False), (PAIRS, False), ({**PAIRS, "evaluate.metrics": ["perplexity", "chrf"]}, True)],
    ids=["texts", "pairs", "pairs that are translated"],
)
def test_a_loss_that_is_no_number_speaks_of_translations_where_there_would_be_some(
    tmp_path, monkeypatch, changes, told
):
    monkeypatch.setattr("trimtab.tasks.text.validation_scores.total", lambda _: math.nan)
    run = tmp_path / "run"
    train(language_recipe(tmp_path, **changes, length="10 steps"), out=run)
    (found,) = [each for each in read_journal(run / "findings.jsonl") if each["code"] == "E906"]
    assert ("nothing was translated" in found["message"]) is told
