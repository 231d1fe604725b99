from pathlib import Path

import pytest

from tests.lab.laboratory import written
from trimtab.checks.say.tips import SEEDS, all_tips
from trimtab.lab.tip_pages import FOLDER, LIST, tip_pages

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages():
    return tip_pages(ROOT / "experiments")


def test_the_pages_in_docs_are_those_of_the_tips(pages):
    assert pages
    for name, page in pages.items():
        assert (ROOT / name).read_text(encoding="utf-8") == page, f"{name}: run python tools/write_pages.py"


def test_each_tip_stands_on_the_page_of_its_document(pages):
    for tip in all_tips():
        assert f"| {tip.id} | {tip.claim} |" in pages[f"{FOLDER}/{tip.id[:2]}.md"]
    assert [seed for seed in SEEDS if f"(tips/{seed}.md)" not in pages[LIST]] == []


def test_a_tip_leads_to_rules_findings_of_a_run_and_verdicts(pages):
    text = "\n".join(pages.values())
    assert "[S123](../rules/S123.md)" in text
    assert "[E901](../rules/E901.md)" in text
    assert "[dropout](../lab.md#dropout): **refuted**" in text


def test_an_experiment_without_a_result_has_no_verdict(tmp_path):
    loaded = written(tmp_path, "asked")
    path = loaded.folder / "experiment.yaml"
    path.write_text(path.read_text() + "tips: [S4-07]\n")
    page = tip_pages(tmp_path)[f"{FOLDER}/S4.md"]
    assert "experiment asked (not run yet)" in page
    assert "**" not in page
