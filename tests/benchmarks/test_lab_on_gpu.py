import json
from argparse import Namespace

import pytest

from tests.benchmarks.open_benchmark import open_benchmark


@pytest.fixture
def script(monkeypatch):
    return open_benchmark("lab_on_gpu", monkeypatch)


def test_the_file_has_every_run_that_ended_although_the_call_was_cut(script, monkeypatch, tmp_path):
    seen = []

    def run_experiments(_, plan, *, say, after_each):
        for number in range(2):
            plan.out.mkdir(parents=True, exist_ok=True)
            (plan.out / "rms_norm.json").write_text(json.dumps({"runs": number, "arms": {}}))
            after_each()
            seen.append(json.loads((tmp_path / "lab.json").read_text()))
        raise KeyboardInterrupt

    monkeypatch.setattr(script, "run_experiments", run_experiments)
    given = Namespace(
        names=["rms_norm"], out=tmp_path / "lab.json", runs=tmp_path / "runs", scale="tiny", seeds=None,
        jobs=1, device="cpu", minutes=0.15,
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        script.run(given)
    assert [each["results"] for each in seen] == [{"rms_norm.json": {"runs": n, "arms": {}}} for n in (0, 1)]
    assert not list(tmp_path.glob("*.part"))
