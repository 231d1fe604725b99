import pytest

from trimtab.checks.catalogue import all_rules
from trimtab.checks.check import check
from trimtab.checks.silence.pages import BASELINE_OF_NOTHING, PAGES


def found(folder, example, **options):
    path = folder / example.file
    path.write_text(example.text)
    return [each.finding.code for each in check(path, select=["S104"], **options).diagnoses]


@pytest.mark.parametrize(
    "rule", [rule for rule in PAGES if rule is not BASELINE_OF_NOTHING], ids=lambda rule: rule.code
)
def test_what_silences_are_held_to_fires_on_its_bad_example_only(tmp_path, rule):
    assert rule.code in found(tmp_path, rule.bad)
    assert found(tmp_path, rule.good) == []


def test_a_stale_baseline_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "args.json").write_text('{"output_dir": "out", "per_device_train_batch_size": 8}')
    for example, codes in ((BASELINE_OF_NOTHING.bad, ["C194"]), (BASELINE_OF_NOTHING.good, [])):
        (tmp_path / "baseline.json").write_text(example.text)
        report = check("args.json", select=["S104"], baseline="baseline.json")
        assert [each.finding.code for each in report.diagnoses] == codes


def test_their_codes_belong_to_no_other_rule():
    assert {rule.code for rule in PAGES} == {"C190", "C191", "C192", "C193", "C194"}
    assert not {rule.code for rule in PAGES} & {rule.code for rule, _ in all_rules()}
