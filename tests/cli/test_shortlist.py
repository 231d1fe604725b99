import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.refusal import refused


@pytest.fixture
def calls(stand_in):
    seen = []

    def build_shortlist(run, **options):
        seen.append((run, options))
        return SimpleNamespace(to_dict=lambda: {"pairs": 3}, render=lambda: "written")

    stand_in("shortlisting", build_shortlist=build_shortlist)
    return seen


def test_a_shortlist_is_made(call, calls):
    result = call("shortlist", "run", "--out", "s", "--first", 7, "--best", 9, "--pairs", 11)
    assert (result.exit_code, result.stdout) == (0, "written\n")
    options = {"out": Path("s"), "first": 7, "best": 9, "pairs": 11, "source": None, "target": None}
    assert calls == [("run", options)]
    assert json.loads(call("shortlist", "run", "--out", "s", "--json").stdout) == {"pairs": 3}


def test_the_defaults_are_those_of_python():
    import inspect

    from trimtab.cli.shortlist import shortlist
    from trimtab.shortlisting import build_shortlist

    own, python = (inspect.signature(each).parameters for each in (shortlist, build_shortlist))
    for name in ("first", "best", "pairs"):
        assert own[name].default == python[name].default


def test_numbers_out_of_range_are_refused(call, calls):
    refused(call("shortlist", "run", "--out", "s", "--best", 0), "--best: out of range")
    assert calls == []
