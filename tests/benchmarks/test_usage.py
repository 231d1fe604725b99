"""Scripts of benchmarks tell their options."""

import sys

import pytest

from tests.benchmarks.open_benchmark import open_benchmark


@pytest.mark.parametrize(
    "name",
    [
        "averaging",
        "compiled_steps",
        "data_pipeline",
        "decoder_only_translation",
        "lm_quality",
        "mbr",
        "shortlist",
    ],
)
def test_a_script_tells_its_options(name, monkeypatch, capsys):
    script = open_benchmark(name, monkeypatch)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == 0
    assert "--out" in capsys.readouterr().out
