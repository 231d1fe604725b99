"""`trimtab doctor` on the command line."""

import json

import pytest

from trimtab.cli.look_up import doctor


def test_it_prints_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    doctor()
    page = capsys.readouterr().out
    assert page.startswith("trimtab ")
    assert "extras" in page


def test_it_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    doctor(as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert {"trimtab", "torch", "gpus", "extras"} <= told.keys()
