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
        ("[tool.trimtab.check\n", "not TOML"),
    ],
)
def test_what_is_wrong_in_it_is_told(tmp_path, text, what):
    with pytest.raises(InputError, match=what):
        project(tmp_path, text)
