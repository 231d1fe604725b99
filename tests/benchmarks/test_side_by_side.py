"""Arms one after another and all at once, in a script whose arms take no time."""

import json
import os
import runpy
import sys

import pytest

from tests.benchmarks.open_benchmark import FOLDER, open_benchmark

SCRIPT = """
import argparse, os, sys
sys.path.insert(0, {folder!r})
from record import Record
from side_by_side import add_options, do_arms

def fails():
    raise ValueError("no luck")

def dies():
    print("the last that it said", flush=True)
    os._exit(3)

parser = argparse.ArgumentParser()
parser.add_argument("--out", required=True)
add_options(parser)
parser.add_argument("given", nargs="*")
args = parser.parse_args()
record = Record(args.out, question="which?", device="cpu")
works = dict(works=lambda: dict(process=os.getpid(), given=args.given), fails=fails)
if "--dying" in args.given:
    works["dies"] = dies

def conclude():
    record.result["done"] = list(record.arms)

do_arms(args, record, works, conclude=conclude)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    script, out = tmp_path / "script.py", tmp_path / "result.json"
    script.write_text(SCRIPT.format(folder=str(FOLDER)), encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path])

    def done(*arguments):
        monkeypatch.setattr(sys, "argv", [str(script), "--out", str(out), *arguments])
        runpy.run_path(str(script))
        return json.loads(out.read_text(encoding="utf-8"))

    return done


@pytest.mark.slow
def test_arms_side_by_side_have_a_process_each_and_one_record_whatever_becomes_of_them(run, capfd):
    result = run("--side-by-side", "--", "--dying")
    assert list(result["arms"]) == result["done"] == ["works"]
    assert result["arms"]["works"]["process"] != os.getpid()
    assert result["arms"]["works"]["given"] == ["--dying"]
    assert {each["arm"]: each["error"] for each in result["failed"]} == {
        "fails": "ValueError: no luck",
        "dies": "its process ended with 3: the last that it said",
    }
    assert result["side_by_side"] is True
    assert result["command"].endswith("--side-by-side -- --dying")
    assert "dies: the last that it said" in capfd.readouterr().out


def test_arms_one_after_another_share_a_process(run):
    result = run()
    assert result["arms"]["works"]["process"] == os.getpid()
    assert [each["arm"] for each in result["failed"]] == ["fails"]
    assert result["side_by_side"] is False


def test_one_arm_can_be_asked_for_and_no_other_than_there_are(run):
    with pytest.raises(SystemExit, match="none is none of works, fails"):
        run("--only", "none")
    result = run("--only", "works")
    assert (list(result["arms"]), result["failed"]) == (["works"], [])


def test_merged_arms_stand_in_the_order_that_was_asked_for(tmp_path, monkeypatch):
    script = open_benchmark("side_by_side", monkeypatch)
    record = open_benchmark("record", monkeypatch).Record(tmp_path / "it.json", question="?", device="cpu")
    for name in ("second", "first"):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({"arms": {name: {}}, "failed": []}), encoding="utf-8")
        script.merge(record, name, file, 0, "")
        script.in_order(record, ["first", "second"])
    assert list(record.arms) == ["first", "second"]


def test_what_one_arm_is_told_stands_before_what_is_no_option(monkeypatch):
    narrowed = open_benchmark("side_by_side", monkeypatch).narrowed
    told = ["--out", "one.json", "--only", "an arm"]
    assert narrowed(["--out", "all.json", "a=1"], "an arm", "one.json") == ["--out", "all.json", "a=1", *told]
    assert narrowed(["--x", "--", "a=1"], "an arm", "one.json") == ["--x", *told, "--", "a=1"]
