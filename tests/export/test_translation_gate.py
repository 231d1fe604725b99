import json
from dataclasses import replace

import pytest

from tests.for_each import for_each
from trimtab.export.gate import BOUND
from trimtab.export.quantized import Quantized
from trimtab.export.samples import gate_lines
from trimtab.export.targets import build_target
from trimtab.export.translation_gate import TranslationReport, compare_translations
from trimtab.inference import load_model

GOOD = TranslationReport(
    lines=200,
    tokens=1000,
    worst_token=1e-6,
    worst_sentence=1e-5,
    read_otherwise=(),
    written_otherwise=(),
    ties=0,
    translated_otherwise=(),
)


class Changed:
    """An export that does one thing otherwise."""

    def __init__(self, opened, **changes):
        for name in ("encode", "log_probabilities", "search", "decode"):
            setattr(self, name, changes.get(name, getattr(opened, name)))


@pytest.fixture(scope="module")
def both(trained_run, exported_run):
    model = load_model(f"{trained_run}@last", device="cpu")
    return model, build_target("hf").as_users_open_it(exported_run), gate_lines(model, count=30)


def report(both, **changes):
    model, opened, lines = both
    return compare_translations(model, Changed(opened, **changes), lines)


@pytest.mark.slow
def test_a_faithful_export_passes(both):
    found = report(both)
    assert found.passed
    assert found.lines == 30
    assert found.tokens == sum(len(line.target_ids) for line in both[2])
    assert max(found.worst_token, found.worst_sentence) < BOUND


@pytest.mark.slow
def test_one_token_that_is_off_by_more_than_the_bound_fails(both):
    def off(source, target):
        rows = both[1].log_probabilities(source, target)
        rows[7][0] -= 3 * BOUND
        return rows

    found = report(both, log_probabilities=off)
    assert not found.passed
    assert found.worst_token == pytest.approx(3 * BOUND, rel=0.01)


@pytest.mark.quick("0")
@pytest.mark.parametrize("place", [0, 29])
def test_a_score_that_is_no_number_fails_wherever_it_stands(both, place):
    def broken(source, target):
        rows = both[1].log_probabilities(source, target)
        rows[place][0] = float("nan")
        return rows

    assert not report(both, log_probabilities=broken).passed


@pytest.mark.slow
def test_another_translation_fails_unless_it_scores_the_same(both):
    def shorter(source, *, beam, limits):
        rows = both[1].search(source, beam=beam, limits=limits)
        longest = max(range(len(rows)), key=lambda row: len(rows[row]))
        rows[longest] = rows[longest][:-1]
        return rows

    found = report(both, search=shorter)
    assert not found.passed
    assert len(found.translated_otherwise) == 1
    assert " became " in found.translated_otherwise[0]


@pytest.mark.slow
def test_a_tie_is_no_difference(both, monkeypatch):
    from trimtab.export import translation_gate as gate

    def other(source, *, beam, limits):
        rows = both[1].search(source, beam=beam, limits=limits)
        rows[3] = [*rows[3], 7]
        return rows

    monkeypatch.setattr(gate, "_ties", lambda model, source, ours, theirs, differing: set(differing))
    found = report(both, search=other)
    assert found.passed
    assert found.ties == 1


@pytest.mark.slow
def test_another_tokenizer_fails_and_so_does_another_text_of_the_same_ids(both):
    opened = both[1]
    found = report(
        both, encode=lambda lines, tags: opened.encode([line.replace("the", "The") for line in lines], tags)
    )
    assert not found.passed
    assert all("the" in line for line in found.read_otherwise)
    found = report(both, decode=lambda rows: [text.replace(" ", "") for text in opened.decode(rows)])
    assert not found.passed
    assert found.written_otherwise


@for_each(
    "change",
    [
        {"worst_token": 2 * BOUND},
        {"worst_token": float("nan")},
        {"read_otherwise": ("a",)},
        {"written_otherwise": ("a",)},
        {"translated_otherwise": ("a",)},
    ],
)
def test_each_kind_of_difference_is_enough_to_fail(change):
    assert GOOD.passed
    assert not replace(GOOD, **change).passed


@pytest.mark.slow
def test_rounded_weights_are_held_to_the_loss_and_not_to_every_token(both):
    model, opened, lines = both
    quantized = Quantized(kind="int8", most_loss=5.0)
    found = compare_translations(model, opened, lines, quantized)
    assert found.loss is not None
    assert (found.loss.chrf, found.loss.changed) == (100.0, 0.0)
    off = replace(found, worst_token=0.5, translated_otherwise=("a",))
    assert off.passed
    assert "(bound" not in off.render()
    assert not replace(off, loss=replace(found.loss, chrf=94.9)).passed
    assert not replace(off, worst_token=float("nan")).passed
    assert not replace(off, worst_token=float("inf")).passed
    assert not replace(off, read_otherwise=("a",)).passed
    assert json.loads(json.dumps(off.to_dict()))["loss"]["most"] == 5.0
    assert compare_translations(model, opened, lines, Quantized()).loss is None


def test_the_report_says_numbers_and_a_few_lines():
    told = replace(GOOD, ties=2, translated_otherwise=tuple(f"line {number}" for number in range(9))).render()
    assert "a token differs by at most 1.0e-06" in told
    assert "189 translations the same, 2 ties, 9 others" in told
    assert "line 2" in told
    assert "line 3" not in told
    assert json.loads(json.dumps(GOOD.to_dict()))["passed"] is True
