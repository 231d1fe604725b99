import math
from pathlib import Path

import pytest

import trimtab
from tests.averaging.made import made, made_of_texts
from tests.language_run import PAIRS, language_recipe
from trimtab.averaging.members import open_member
from trimtab.averaging.report import AverageReport
from trimtab.averaging.validation_scores import ValidationScorer, check_metric, compared, scores_of_set
from trimtab.checkpoint.journal import read_journal
from trimtab.data.corpus import open_corpus
from trimtab.data.text_rows import passage_bytes
from trimtab.errors import InputError
from trimtab.inference import load_model
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


@pytest.fixture(scope="module")
def member(run):
    return open_member(f"{run}@40")


@pytest.mark.slow
def test_it_measures_what_evaluation_finds(member, run):
    scorer = ValidationScorer.of(member, metric=None)
    measured = scorer.measure(member.load())
    files = member.recipe.data.valid["valid"]
    found = trimtab.evaluate(f"{run}@40", source=files.source, reference=files.target, beam=1)
    assert (scorer.metric, scorer.chosen, scorer.how) == ("chrf", "valid", "24 lines, beam 1")
    assert measured.losses == {"valid": pytest.approx(found.loss, rel=1e-6)}
    assert measured.score == pytest.approx(found.chrf.value)
    assert scorer.signature == found.chrf.signature
    bleu = ValidationScorer.of(member, metric="bleu")
    assert bleu.measure(member.load()).score == pytest.approx(found.bleu.value)


def test_other_weights_are_measured_by_the_same_scorer_one_after_another(member, run):
    scorer = ValidationScorer.of(member, metric="loss")
    earlier = open_member(f"{run}@10")
    first, second, third = (scorer.measure(each.load()).score for each in (member, earlier, member))
    assert first == third == scorer.measure(member.load()).losses["valid"]
    assert second > first
    assert scorer.how == "24 lines"


def test_weights_that_are_no_numbers_have_a_score_that_is_none(member):
    scorer = ValidationScorer.of(member, metric="chrf")
    spoiled = {name: tensor * math.nan for name, tensor in member.load().items()}
    assert math.isnan(scorer.measure(spoiled).score)


@pytest.mark.parametrize(("metric", "better", "worse"), [("loss", 1.0, 2.0), ("chrf", 2.0, 1.0)])
def test_what_holds_is_not_worse_and_what_is_no_number_never_does(member, metric, better, worse):
    scorer = ValidationScorer.of(member, metric=metric)
    assert scorer.holds(better, worse)
    assert scorer.holds(better, better)
    assert not scorer.holds(worse, better)
    assert scorer.holds(worse, math.nan)
    assert scorer.holds(worse, None)
    assert not scorer.holds(math.nan, math.nan)
    assert not scorer.holds(None, worse)
    assert scorer.gain(over=worse, score=better) == 1.0


def test_a_set_that_is_not_there_is_wrong_input(tmp_path):
    member = made(tmp_path, **{"data.valid": {"source": "/no/such/file", "target": "/no/such/other"}})
    with pytest.raises(InputError, match="no such file"):
        ValidationScorer.of(member, metric=None)


@pytest.fixture(scope="module")
def pair_run(own_cache, tmp_path_factory):
    """A language model that was trained on pairs."""
    folder = tmp_path_factory.mktemp("pairs")
    return train(language_recipe(folder, **PAIRS), out=folder / "run").run


@pytest.mark.slow
def test_a_language_model_of_pairs_is_measured_as_evaluation_does(pair_run):
    member = open_member(f"{pair_run}@20")
    files = member.recipe.data.valid["valid"]
    found = trimtab.evaluate(f"{pair_run}@20", source=files.source, reference=files.target, beam=1)
    for metric, score in (
        (None, found.loss),
        ("loss", found.loss),
        ("chrf", found.chrf.value),
        ("bleu", found.bleu.value),
    ):
        check_metric(member, metric)
        scorer = ValidationScorer.of(member, metric=metric)
        measured = scorer.measure(member.load())
        assert measured.losses == {"valid": pytest.approx(found.loss, rel=1e-6)}
        assert measured.score == pytest.approx(score, rel=1e-6), metric


@pytest.fixture(scope="module")
def text_runs(own_cache, tmp_path_factory):
    """A language model of texts, and one of texts and pairs with validation sets of both."""
    folder = tmp_path_factory.mktemp("texts")
    both = {
        "data.train": [{"text": "train.txt"}, PAIRS["data.train"][0]],
        "data.valid": {"prose": {"text": "dev.txt"}, "ui": PAIRS["data.valid"]},
        "data.max_tokens": 64,
    }
    return (
        train(language_recipe(folder / "texts"), out=folder / "texts" / "run").run,
        train(language_recipe(folder / "both", **both), out=folder / "both" / "run").run,
    )


@pytest.mark.slow
def test_texts_are_measured_as_the_run_did_and_as_evaluation_does(text_runs):
    for run in text_runs:
        member = open_member(f"{run}@20")
        scorer = ValidationScorer.of(member, metric=None)
        measured = scorer.measure(member.load())
        name, files = next(iter(member.recipe.data.valid.items()))
        found = trimtab.evaluate_text(f"{run}@20", text=files.text)
        assert (scorer.metric, scorer.chosen, scorer.how) == ("loss", name, "6 documents")
        assert measured.score == measured.losses[name] == pytest.approx(found.loss, rel=1e-6)
        last = {each["set"]: each for each in read_journal(run / "evaluations.jsonl") if each["step"] == 20}
        assert set(measured.perplexities) == set(last)
        for each, told in last.items():
            for measure in ("perplexity", "byte_perplexity", "bits_per_byte"):
                assert measured.perplexities[each][measure] == pytest.approx(told[measure], rel=1e-5)
        bits = ValidationScorer.of(member, metric="bits_per_byte")
        assert bits.measure(member.load()).score == pytest.approx(found.bits_per_byte, rel=1e-6)
        assert bits.holds(1.0, 2.0)


def test_nothing_but_the_loss_is_measured_of_a_translator(member):
    assert ValidationScorer.of(member, metric="loss").measure(member.load()).perplexities == {}


@pytest.mark.parametrize(
    ("changes", "fix"),
    [
        ({"data.valid": None}, "--text FILE"),
        ({**PAIRS, "data.valid": None}, "--source FILE --reference FILE"),
    ],
    ids=["texts without a set", "pairs without a set"],
)
def test_what_cannot_be_measured_is_sent_to_the_evaluation_that_can(tmp_path, changes, fix):
    with pytest.raises(InputError) as caught:
        ValidationScorer.of(made_of_texts(tmp_path, **changes), metric=None)
    assert caught.value.problems[0].fix.endswith(f"trimtab evaluate DIR {fix}")


@pytest.mark.quick("chrf")
@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_a_measure_of_translations_is_refused_for_texts(tmp_path, text_runs, metric):
    of_texts = made_of_texts(tmp_path / "texts")
    for member in (of_texts, open_member(f"{text_runs[1]}@20")):
        with pytest.raises(InputError, match=f"--metric {metric}: a metric of translations") as caught:
            check_metric(member, metric)
        assert "bits_per_byte" in caught.value.problems[0].allowed
        check_metric(member, "loss")
        check_metric(member, "bits_per_byte")
        check_metric(member, None)


@pytest.mark.parametrize("metric", ["perplexity", "byte_perplexity", "bits_per_byte"])
def test_a_measure_of_language_models_is_refused_for_translators(member, metric):
    with pytest.raises(InputError, match=f"--metric {metric}: a metric of language models"):
        check_metric(member, metric)


def opened(model, cache):
    files = model.recipe.data.valid["valid"]
    most = passage_bytes(model.recipe.data) if model.recipe.facts.continues_texts else None
    return open_corpus(files, root=Path.cwd(), cache=cache, passage_bytes=most)


@pytest.mark.quick("texts")
@pytest.mark.parametrize("changes", [{}, PAIRS], ids=["texts", "pairs"])
def test_a_language_model_has_the_scores_that_its_run_had(tmp_path, own_cache, changes):
    run = train(language_recipe(tmp_path, **changes, length="10 steps"), out=tmp_path / "run").run
    model = load_model(str(run), device="cpu")
    found_scores = scores_of_set(model, opened(model, own_cache))
    (told,) = read_journal(run / "evaluations.jsonl")
    assert found_scores.loss == pytest.approx(told["loss"], rel=1e-5)
    assert found_scores.perplexities == {
        name: pytest.approx(told[name], rel=1e-5) for name in found_scores.perplexities
    }
    assert list(found_scores.perplexities) == ["perplexity", "byte_perplexity", "bits_per_byte"]
    assert found_scores.perplexities["perplexity"] == pytest.approx(math.exp(found_scores.loss))


@pytest.mark.slow
def test_a_translator_has_its_loss_alone(trained_run, own_cache):
    model = load_model(str(trained_run), device="cpu")
    found_scores = scores_of_set(model, opened(model, own_cache))
    files = model.recipe.data.valid["valid"]
    found = trimtab.evaluate(str(trained_run), source=files.source, reference=files.target, beam=1)
    assert found_scores.loss == pytest.approx(found.loss, rel=1e-6)
    assert found_scores.perplexities == {}


@pytest.mark.quick("chrf")
@pytest.mark.parametrize("metric", ["loss", "chrf"])
def test_single_ones_and_the_average_stand_beside_each_other(run, metric):
    first, second = open_member(f"{run}@10"), open_member(f"{run}@40")
    scorer = ValidationScorer.of(second, metric=metric)
    singles = {each.label: scorer.measure(each.load()) for each in (first, second)}
    report = compared(AverageReport(Path("x"), (first.label,), {}), scorer, second.load(), singles)
    scores, losses = report.comparison.scores, report.losses["valid"]
    assert list(scores) == list(losses) == [first.label, second.label, "average"]
    assert scores["average"] == scores[second.label]
    assert losses["average"] == losses[second.label]
    assert (scores == losses) == (metric == "loss")
    assert report.comparison.best_single == second.label
    assert report.comparison.gain == 0
    assert bool(report.comparison.signature) == (metric == "chrf")
