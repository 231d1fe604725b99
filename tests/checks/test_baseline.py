import json
import os
from pathlib import Path

import pytest

from trimtab.checks.baseline import fingerprint, known, read_baseline, write_baseline
from trimtab.checks.place import Place
from trimtab.checks.rules.s104_warmup_longer_than_run import RULE
from trimtab.errors import InputError


def found(path, line=1, warmup="1,000", steps="500"):
    return RULE.at(Place(str(path), line, 1), warmup=warmup, steps=steps)


def test_a_finding_is_known_again_after_lines_moved_and_numbers_changed(tmp_path):
    one = fingerprint(found(tmp_path / "a.yaml", 3), tmp_path)
    assert one == fingerprint(found(tmp_path / "a.yaml", 70, warmup="2,000", steps="1.5e3"), tmp_path)
    assert one != fingerprint(found(tmp_path / "b.yaml", 3), tmp_path)


def test_what_a_baseline_knows_is_not_new_and_what_is_gone_is_told(tmp_path):
    file = tmp_path / "baseline.json"
    write_baseline(
        file, [found(tmp_path / "a.yaml"), found(tmp_path / "gone.yaml"), found(tmp_path / "away.yaml")]
    )
    baseline = read_baseline(file)
    here = [found(tmp_path / "a.yaml", 5), found(tmp_path / "new.yaml")]
    looked_at = [str(tmp_path / name) for name in ("a.yaml", "gone.yaml", "new.yaml")]
    new, old, stale = known(baseline, here, looked_at)
    assert (new, old) == ([here[1]], [here[0]])
    assert [(each.finding.code, each.place.line) for each in stale] == [("C194", 6)]
    assert "gone.yaml" in file.read_text().splitlines()[5]


def test_two_of_a_kind_need_two_entries(tmp_path):
    file = tmp_path / "baseline.json"
    write_baseline(file, [found(tmp_path / "a.yaml", 1)])
    new, old, _ = known(
        read_baseline(file), [found(tmp_path / "a.yaml", 1), found(tmp_path / "a.yaml", 9)], []
    )
    assert (len(new), len(old)) == (1, 1)


def test_paths_are_told_from_the_baseline_so_that_the_project_may_move(tmp_path):
    (tmp_path / "sub").mkdir()
    write_baseline(tmp_path / "baseline.json", [found(tmp_path / "sub" / "a.yaml")])
    assert json.loads((tmp_path / "baseline.json").read_text())["findings"][0]["path"] == "sub/a.yaml"


def test_no_finding_is_a_baseline_too(tmp_path):
    write_baseline(tmp_path / "baseline.json", [])
    assert read_baseline(tmp_path / "baseline.json").entries == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version": 2, "findings": []}',
        '{"version": 1}',
        '{"version": 1, "findings": [1]}',
        "[" * 9999,
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path, text):
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not a baseline"):
        read_baseline(path)


def test_a_baseline_that_cannot_be_read_or_written_says_so():
    with pytest.raises(InputError, match="cannot be read"):
        read_baseline(Path("/nowhere/baseline.json"))
    with pytest.raises(InputError, match="cannot be written"):
        write_baseline(Path("/nowhere/baseline.json"), [])


def test_a_name_that_is_not_utf_8_is_written_and_known_again(tmp_path):
    file, path = tmp_path / "baseline.json", tmp_path / "bad\udcff.yaml"
    write_baseline(file, [found(path)])
    file.read_bytes().decode("utf-8")
    new, old, stale = known(read_baseline(file), [found(path)], [str(path)])
    assert (new, len(old), stale) == ([], 1, [])


def test_a_baseline_that_cannot_be_written_is_told_and_the_old_one_stays(tmp_path, monkeypatch):
    file = tmp_path / "baseline.json"
    write_baseline(file, [found(tmp_path / "a.yaml")])
    before = file.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(30, "Read-only file system")))
    with pytest.raises(InputError, match="Read-only"):
        write_baseline(file, [])
    assert file.read_bytes() == before


def test_a_pipe_takes_a_baseline():
    write_baseline(Path(os.devnull), [found("a.yaml")])
    assert not Path(os.devnull).is_file()
