import math
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language_run import PAIRS, language_recipe
from tests.small_run import small_recipe
from tests.training.small_line import equal, small_line
from trimtab.checkpoint.journal import read_journal
from trimtab.flow import Ragged, TrainState
from trimtab.launch import train
from trimtab.model.block import CrossAttention
from trimtab.training import validate as stage
from trimtab.training.validate import look_at_source, loss_of, shifted, spread, validate, with_best

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
    for name, length in (("due", 8), ("not due", 7)):
        line = small_line(tmp_path / name, **{"length": f"{length} steps", "evaluate.every": "4 steps"})
        line.train()
        assert [each["step"] for each in line.log("evaluations")] == [4, length]
        assert line.train(line.recorder.store.latest().load_state()).step == length
        assert len(line.log("evaluations")) == 2
        assert len(line.log("samples")) == 10


def test_the_loss_is_the_mean_over_all_targets_of_the_set(line):
    valid = line.parts.sources.valid["valid"]
    line.parts.model.eval()
    total = sum(
        loss_of(line.parts, line.parts.model, replace_rows(valid, i)) * len(valid.target.row(i))
        for i in range(len(valid.target))
    )
    expected = total / valid.target.offsets[-1]
    assert loss_of(line.parts, line.parts.model, valid) == pytest.approx(expected, rel=1e-5)


def replace_rows(valid, i):
    return replace(valid, source=valid.source.between(i, i + 1), target=valid.target.between(i, i + 1))


def test_a_set_whose_pairs_are_all_too_long_has_no_loss_and_no_finding_about_its_sources(line):
    valid = line.parts.sources.valid["valid"]
    empty = Ragged.of([])
    line.parts.sources.valid["valid"] = replace(valid, source=empty, target=empty, too_long=24)
    state = validate(line.parts, AT_THE_END, line.recorder)
    assert [each["loss"] for each in line.log("evaluations")] == ["nan"]
    assert "M901" not in [each.code for each in line.told.findings]
    assert state.evaluated == 60


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=4), min_size=1, max_size=9), st.integers(0, 20)
)
def test_shifted_rows_are_a_rotation(rows, shift):
    found = shifted(Ragged.of(rows), shift)
    place = shift % len(rows)
    assert [found.row(i).tolist() for i in range(len(rows))] == rows[-place:] + rows[:-place]


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 500), st.one_of(st.none(), st.integers(1, 600)))
def test_lines_are_spread_evenly_over_the_set(count, limit):
    lines = spread(count, limit)
    assert len(lines) == min(count, limit or count)
    assert lines == sorted(set(lines))
    assert lines[0] == 0
    assert lines[-1] < count
    assert max(np.diff([*lines, count])) <= math.ceil(count / len(lines))


def test_weights_and_mode_are_as_before(line):
    before = line.weights()
    validate(line.parts, AT_THE_END, line.recorder)
    assert equal(before, line.weights())
    assert line.parts.model.training


def test_without_validation_sets_nothing_is_written(tmp_path):
    line = small_line(tmp_path, **{"data.valid": None})
    assert validate(line.parts, AT_THE_END, line.recorder) == replace(AT_THE_END, evaluated=60)
    assert line.log("evaluations") == []


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
    monkeypatch.setattr(stage, "LEARNED_SHARE", learned)
    line.recorder.source_matters = True
    collapse(line.parts)
    validate(line.parts, AT_THE_END, line.recorder)
    assert [(each.code, each.severity) for each in line.told.findings] == [("E901", severity)]


@torch.no_grad()
def collapse(parts):
    """Ends every translation at once, whatever was read."""
    parts.model.decoder.norm.weight.zero_()
    parts.model.decoder.norm.bias.copy_(10 * parts.model.output_matrix[parts.sources.tokenizer.end])


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


@pytest.mark.parametrize(
    ("loss", "pairs", "codes"),
    [
        (1.0, 24, ["M901"]),
        (1.0, 8, ["M901"]),
        (1.0, 7, []),  # too few to judge by
        (3.5, 24, []),  # nothing is learned yet
        (math.nan, 24, []),
    ],
)
def test_sources_are_judged_where_something_is_learned_by_pairs_enough(line, loss, pairs, codes):
    deaf(line.parts.model)
    valid = line.parts.sources.valid["valid"]
    valid = replace(valid, source=valid.source.between(0, pairs), target=valid.target.between(0, pairs))
    look_at_source(line.parts, line.parts.model.eval(), valid, line.recorder, loss=loss)
    assert [each.code for each in line.told.findings] == codes


def test_sources_are_not_judged_too_early(line, monkeypatch):
    monkeypatch.setattr(stage, "LEARNED_SHARE", 10.0)
    deaf(line.parts.model)
    validate(line.parts, TrainState(step=11), line.recorder)
    assert "M901" not in [each.code for each in line.told.findings]
    validate(line.parts, TrainState(step=12), line.recorder)
    assert "M901" in [each.code for each in line.told.findings]


def test_sources_that_were_seen_to_matter_are_not_judged_again(line, monkeypatch):
    monkeypatch.setattr(stage, "LEARNED_SHARE", 10.0)
    line.recorder.source_matters = True
    deaf(line.parts.model)
    validate(line.parts, TrainState(step=30), line.recorder)
    assert "M901" not in [each.code for each in line.told.findings]


def deaf(model):
    """Cuts the decoder off from the encoder."""
    for module in model.modules():
        if isinstance(module, CrossAttention):
            torch.nn.init.zeros_(module.out.weight)


def test_the_best_evaluation_is_the_highest_score_or_the_lowest_loss(line):
    state = TrainState()
    for step, value in ((1, 10.0), (2, 9.0), (3, 10.0), (4, 11.0), (5, math.nan)):
        state = with_best(replace(state, step=step), {"valid": {"chrf": value, "loss": 3.0}}, line.parts)
    assert (state.best["step"], state.best["value"], state.best["since"]) == (4, 11.0, 1)
    by_loss = in_terms_of(line.parts, "loss")
    state = TrainState()
    for step, value in ((1, math.nan), (2, 3.0), (3, 3.0), (4, 2.0), (5, math.inf)):
        state = with_best(replace(state, step=step), {"valid": {"chrf": 1.0, "loss": value}}, by_loss)
    assert (state.best["step"], state.best["value"], state.best["since"]) == (4, 2.0, 1)


def test_the_fewest_edits_are_the_best(line):
    by_ter, state = in_terms_of(line.parts, "ter"), TrainState()
    for step, value in ((1, 80.0), (2, 110.0), (3, 60.0), (4, 60.0)):
        state = with_best(replace(state, step=step), {"valid": {"chrf": 1.0, "ter": value}}, by_ter)
    assert (state.best["metric"], state.best["step"], state.best["value"], state.best["since"]) == (
        "ter",
        3,
        60.0,
        1,
    )


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


def test_another_measure_of_the_best_begins_anew(line):
    state = with_best(TrainState(step=1), {"valid": {"chrf": 40.0, "loss": 2.0}}, line.parts)
    state = with_best(
        replace(state, step=2), {"valid": {"chrf": 41.0, "loss": 2.5}}, in_terms_of(line.parts, "loss")
    )
    assert (state.best["metric"], state.best["value"], state.best["step"]) == ("loss", 2.5, 2)
    state = with_best(replace(state, step=3), {"valid": {"chrf": 1.0, "loss": 2.0}}, line.parts)
    assert (state.best["metric"], state.best["value"], state.best["step"]) == ("chrf", 1.0, 3)


def in_terms_of(parts, metric):
    evaluate = parts.recipe.evaluate
    best = evaluate.best.model_copy(update={"metric": metric})
    recipe = parts.recipe.model_copy(update={"evaluate": evaluate.model_copy(update={"best": best})})
    return replace(parts, recipe=recipe)


def test_a_run_that_recovers_ends_well_and_its_log_remembers(line):
    model, healthy = line.parts.model, line.weights()
    collapse(line.parts)
    validate(line.parts, TrainState(step=40), line.recorder)
    assert [each.code for each in line.recorder.findings.standing] == ["E901"]
    model.load_state_dict(healthy)
    validate(line.parts, TrainState(step=60), line.recorder)
    assert line.recorder.findings.standing == []
    assert [(each["code"], each["severity"]) for each in line.log("findings")] == [("E901", "warning")]


@pytest.mark.parametrize(
    ("changes", "told"),
    [({}, False), (PAIRS, False), ({**PAIRS, "evaluate.metrics": ["perplexity", "chrf"]}, True)],
    ids=["texts", "pairs", "pairs that are translated"],
)
def test_a_loss_that_is_no_number_speaks_of_translations_where_there_would_be_some(
    tmp_path, monkeypatch, changes, told
):
    monkeypatch.setattr(stage, "loss_of", lambda *_, **__: math.nan)
    run = tmp_path / "run"
    train(language_recipe(tmp_path, **changes, length="10 steps"), out=run)
    (found,) = [each for each in read_journal(run / "findings.jsonl") if each["code"] == "E906"]
    assert ("nothing was translated" in found["message"]) is told
