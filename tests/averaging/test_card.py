import json

from trimtab.averaging.card import FIGURES, README, card, write_card
from trimtab.averaging.report import AverageReport, Comparison, Tried
from trimtab.checkpoint.journal import read_journal


def report(folder, **changes):
    compared = Comparison(
        metric="chrf",
        set="dev",
        how="500 lines, beam 1",
        signature="nrefs:1",
        lower_is_better=False,
        scores={"run|x@1": 40.0, "average": 41.5},
    )
    losses = {"dev": {"run|x@1": 2.0, "average": 1.5}, "other": {"run|x@1": None, "average": 1.0}}
    return AverageReport(folder, ("run|x@1",), losses, **{"comparison": compared, **changes})


def test_the_card_has_every_weight_with_its_losses_and_score(tmp_path):
    text = card(report(tmp_path / "mean"))
    assert text.startswith("# mean\n")
    assert "+1.50 against the best single one, run|x@1 (chrf on dev, 500 lines, beam 1)." in text
    assert "| weights | loss, dev | loss, other | chrf, dev |" in text
    assert "| run\\|x@1 | 2.0000 | none | 40.00 |" in text
    assert "| average | 1.5000 | 1.0000 | 41.50 |" in text
    assert "Signature: `nrefs:1`" in text


def test_what_was_not_measured_and_what_was_tried_stand_in_it(tmp_path):
    tried = (Tried(label="a@1", score=3.0, with_it=None, taken=False),)
    text = card(report(tmp_path, comparison=None, unread="dev.en is\ngone", tried=tried, notes=("why\nso",)))
    assert "Not measured: dev.en is\\ngone." in text
    assert "| a@1 | 3.00 | none | no |" in text
    assert "- why\\nso" in text


def test_programs_and_later_exports_find_the_figures(tmp_path):
    made = report(tmp_path)
    write_card(made, step=7)
    assert (tmp_path / README).read_text() == card(made)
    assert json.loads((tmp_path / FIGURES).read_text()) == made.to_dict()
    first, second = read_journal(tmp_path / "evaluations.jsonl")
    assert first == {
        "step": 7,
        "set": "dev",
        "loss": 1.5,
        "chrf": 41.5,
        "chrf_signature": "nrefs:1",
        "lines": 500,
    }
    assert second == {"step": 7, "set": "other", "loss": 1.0}
