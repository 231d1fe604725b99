"""What the laboratory shows of Min-SNR follows from the numbers that were stored."""

import json

from tests.benchmarks.open_benchmark import open_benchmark


def test_the_stored_verdict_follows_from_the_stored_arms(monkeypatch):
    script = open_benchmark("min_snr", monkeypatch)
    stored = json.loads(script.RESULT.read_text(encoding="utf-8"))
    judged = script.shown(stored)
    assert judged.items() <= stored.items()
    assert len(judged["verdict"]["claims"]) == len(script.PREDICTIONS)


def test_a_clear_gain_confirms_and_a_clear_change_refutes(monkeypatch):
    script = open_benchmark("min_snr", monkeypatch)
    reads = {"epsilon, none": 0.2, "epsilon, min_snr": 0.5, "v, none": 0.4, "v, min_snr": 0.6}
    arms = {
        f"{arm}, seed {seed}": {"samples": {script.MEASURE: {"read_as_their_class": share + seed / 1000}}}
        for arm, share in reads.items()
        for seed in script.SEEDS
    }
    verdict = script.verdict(arms)
    assert [claim["holds"] for claim in verdict["claims"]] == [True, False]
    assert [each["outcome"] for each in verdict["predictions"]] == ["confirmed", "refuted"]
    assert not verdict["as predicted"]
