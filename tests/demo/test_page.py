from pathlib import Path

from trimtab.demo.page import DemoReport
from trimtab.metrics.bleu import bleu
from trimtab.metrics.chrf import chrf


def report(count):
    pairs = [(f"source {i}", f"satz {i}", f"satz {i + 1}") for i in range(count)]
    lines = [pair[1] for pair in pairs]
    scores = (bleu(lines, [pair[2] for pair in pairs]), chrf(lines, [pair[2] for pair in pairs]))
    return DemoReport(
        run=Path("runs/x"),
        seconds=70.4,
        training_seconds=60.0,
        parameters=2_850_000,
        pairs=pairs,
        scores={"copy the source": scores, "trained model": scores},
    )


def test_ten_lines_stand_beside_their_references_spread_over_the_set():
    text = report(100).render()
    assert text.count("  reference") == 10
    assert "source 0\n  translation satz 0\n  reference   satz 1\n" in text
    assert "source 90" in text


def test_a_small_set_is_shown_whole():
    assert report(3).render().count("  reference") == 3


def test_the_table_names_systems_signatures_and_the_run():
    made = report(20)
    text = made.render()
    for name, (b, c) in made.scores.items():
        assert f"{name:<22}{b.value:6.1f} {c.value:6.1f}" in text
        assert b.signature in text
        assert c.signature in text
    assert "20 held-out lines" in text
    assert "2.9M parameters, 60 s of training, 70 s in all" in text
    assert "trimtab translate runs/x" in text
