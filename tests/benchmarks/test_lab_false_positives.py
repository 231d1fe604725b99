import json
import random

from tests.benchmarks.open_benchmark import FOLDER, open_benchmark


def test_differences_by_chance_are_rarely_significant_and_those_of_an_effect_are_not_counted(monkeypatch):
    script = open_benchmark("lab_false_positives", monkeypatch)
    chance = random.Random(0)
    assert 0.03 < script.false_positives([chance.gauss(0, 1) for _ in range(200)]) < 0.07
    assert script.false_positives([1.0] * 20) < 0.1


def test_the_stored_share_follows_from_the_stored_losses(monkeypatch):
    script = open_benchmark("lab_false_positives", monkeypatch)
    stored = json.loads((FOLDER / "lab_false_positives.json").read_text())
    assert stored["false_positives"] == script.false_positives([one - two for one, two in stored["losses"]])
    assert stored["comparisons"] == script.COMPARISONS >= 200
