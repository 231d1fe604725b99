"""Runs that are ill on purpose: whoever opens the report reads the fault first. Those that train are slow tests; their
small versions are in `test_findings.py` and `tests/data/test_corpus_findings.py`."""

import re
from contextlib import suppress

import pytest

from tests.small_run import small_pairs, small_recipe, write_pairs
from trimtab.errors import RunFailed
from trimtab.report.findings import findings_of
from trimtab.report.overview import overview_of
from trimtab.report.page import page_html, report_of
from trimtab.report.run_data import open_run

SMALL = {
    "model.dim": 16, "model.heads": 2, "model.feed_forward": 32, "length": "10 steps", "evaluate.every": "10 steps",
    "step.schedule.warmup": "2 steps", "evaluate.lines": 4, "checkpoint.every": "10 steps",
}  # fmt: skip


def copied(folder):
    """A fifth of the lines, sentences among them, are their own translations."""
    pairs = [(s, s) if number % 5 == 0 else (s, t) for number, (s, t) in enumerate(small_pairs(200))]
    write_pairs(folder, "train", pairs)


def foreign(folder):
    """One line in twelve ends with a character that no other line has."""
    pairs = [(f"{s} {chr(0x4E00 + n)}" if n % 12 == 0 else s, t) for n, (s, t) in enumerate(small_pairs(200))]
    write_pairs(folder, "train", pairs)


FAULTS = {
    "rate": ({"step.optimizer.learning_rate": 0.5}, None, "S202", "the learning rate peaks at 0.5"),
    "copies": ({}, copied, "D211", "source is target in"),
    "unknown": (
        {"data.tokenizer.byte_fallback": False, "data.tokenizer.character_coverage": 0.98},
        foreign,
        "D201",
        "are unknown to the vocabulary",
    ),
}


@pytest.fixture(
    scope="session",
    params=[pytest.param(name, marks=[pytest.mark.slow] if name != "unknown" else []) for name in FAULTS],
)
def ill(request, own_cache, tmp_path_factory):
    """The run of each fault, and what must be said of it."""
    from trimtab.launch import train

    changes, spoil, code, said = FAULTS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    recipe = small_recipe(folder, **{**SMALL, **changes})
    if spoil:
        spoil(folder)
    with suppress(
        RunFailed
    ):  # an error of preflight ends a run before its first step, and it has a report too
        train(recipe, out=folder / "run")
    return open_run(folder / "run"), code, said


def test_the_fault_is_the_first_thing_that_the_page_says(ill):
    run, code, said = ill
    findings = findings_of(run)
    assert findings[0].code == code, [each.code for each in findings]
    html = page_html(report_of([run]))
    begun = html[html.index("What to do next") :]
    first = re.search(r'<code>(\w+)</code>.*?<span class="message" dir="auto">(.*?)</span>', begun, re.DOTALL)
    assert first[1] == code
    assert said in first[2]
    assert overview_of(run, findings).health != "good"
    assert findings[0].name.replace("-", " ") in overview_of(run, findings).verdict
