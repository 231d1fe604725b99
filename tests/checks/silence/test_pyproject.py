import os

import pytest

from trimtab.checks.silence.pyproject import project_of, silences_of_project
from trimtab.errors import InputError

TEXT = """\
[project]
name = "x"

[tool.trimtab.check]
allow = [
  {rule = "S104", because = "smoke test", files = "configs/*.yaml"},
  {rule = "C101", because = ""},
  {rule = "S104", because = "again", files = ["a.yaml", "b.yaml"]},
]
"""


def project(folder, text=TEXT):
    (folder / "pyproject.toml").write_text(text)
    return project_of(folder)


def test_the_nearest_file_upward_speaks(tmp_path):
    project(tmp_path)
    deep = tmp_path / "configs" / "deep"
    deep.mkdir(parents=True)
    found = project_of(deep)
    assert found.folder == tmp_path
    assert [(each.rule, each.because, each.files, each.place.line) for each in found.allowed] == [
        ("S104", "smoke test", ("configs/*.yaml",), 6),
        ("C101", "", ("*",), 7),
        ("S104", "again", ("a.yaml", "b.yaml"), 8),
    ]


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("configs/x.yaml", ["S104", "C101"]),
        ("configs/deep/x.yaml", ["S104", "C101"]),
        ("a.yaml", ["C101", "S104"]),
        ("x.json", ["C101"]),
    ],
)
def test_patterns_are_told_from_the_folder_of_the_project(tmp_path, name, rules):
    silences = silences_of_project(project(tmp_path), tmp_path / name, ())
    assert [rule for silence in silences.values() for rule in silence.rules] == rules


def test_what_was_not_seen_as_a_whole_is_not_certain(tmp_path):
    found = project(tmp_path)
    path = tmp_path / "a.yaml"
    assert [each.is_certain for each in silences_of_project(found, path, ()).values()] == [False, True]
    assert [each.is_certain for each in silences_of_project(found, path, (tmp_path,)).values()] == [
        True,
        True,
    ]


def test_a_project_that_says_nothing_to_trimtab_is_not_even_parsed(tmp_path):
    assert project(tmp_path, "this is = no toml").allowed == ()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[tool.trimtab.check]\nallow = 1", "not a list"),
        ("[tool.trimtab.check]\nallow = [1]", "not a table"),
        ('[tool.trimtab.check]\nallow = [{rule = 1, because = "x"}]', "not text"),
        ('[tool.trimtab.check]\nallow = [{rule = "S104", reason = "x"}]', "unknown key `reason`"),
        ("[tool.trimtab.check]\nselect = []", "unknown key `select`"),
        ("[tool.trimtab.check]\nselect = []", "option of the command line"),
        ('[tool.trimtab.check]\nalow = [{rule = "S104", because = "x"}]', "did you mean `allow`"),
        ("[tool.trimtab.check\n", "not valid TOML"),
        ("[tool.trimtab.chek]\nallow = []", "unknown key `chek`"),
        ("[tool.trimtab.chek]\nallow = []", "did you mean `check`"),
        ("[tool.trimtap.check]\nallow = []", r"did you mean `\[tool.trimtab.check\]`"),
        ("[tool.trimtab]\ncheck = 5", "not one table"),
        ("[[tool.trimtab.check]]\nallow = []", "not one table"),
        ("[tool]\ntrimtab = 5", "not one table"),
        ("[tool.trimtab.check]\nallow = " + "[" * 100_000, "nested too deeply"),
        ("[tool.trimtab.check]\nallow = " + "9" * 5_000, "not valid TOML"),
        ("tool.trimtab" + ".a" * 50_000 + " = 1", "more than 64 parts"),
        ("[tool.trimtab.check]\nallow = [" + '{rule = "S104"},' * 1_001 + "]", "more than 1,000 entries"),
        ("[tool.trimtab.check]\nallow = [{rule = 'S104', files = [" + "'a'," * 1_001 + "]}]", "1,000 files"),
        ("[tool.trimtab.check]\n" + "#" * 1_000_000, "too long"),
    ],
)
def test_what_is_wrong_in_it_is_told(tmp_path, text, what):
    with pytest.raises(InputError, match=what):
        project(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        '[tool]\ntrimtab.check.allow = [{rule = "S104", because = "x"}]',
        'tool.trimtab.check.allow = [{rule = "S104", because = "x"}]',
        '[tool]\ntrimtab = {check = {allow = [{rule = "S104", because = "x"}]}}',
        "[tool . 'trimtab' . check]\nallow = [{rule = 'S104', because = 'x'}]",
        '[[tool.trimtab.check.allow]]\nrule = "S104"\nbecause = "x"',
    ],
)
def test_every_way_to_write_it_in_toml_is_understood(tmp_path, text):
    assert [each.rule for each in project(tmp_path, text).allowed] == ["S104"]


@pytest.mark.parametrize(
    "text", ['dependencies = ["trimtab"]', "[tool.ruff.check]\nx = 1", 'x = "trimtab==0.2"\n', "# trimtab"]
)
def test_who_only_speaks_of_trimtab_says_nothing_to_it(tmp_path, text):
    assert project(tmp_path, text).allowed == ()


def test_what_has_no_end_is_no_project(tmp_path):
    os.mkfifo(tmp_path / "pyproject.toml")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "pyproject.toml").symlink_to("/dev/zero")
    found = project_of(tmp_path / "sub")
    assert found is None or found.folder not in (tmp_path, tmp_path / "sub")


def test_lines_are_those_of_editors(tmp_path):
    text = '# \x85 \u2028\n[tool.trimtab.check]\nallow = [\n{rule = "S104", because = "x"}]\n'
    (tmp_path / "pyproject.toml").write_bytes(text.encode())
    assert [each.place.line for each in project_of(tmp_path).allowed] == [4]
