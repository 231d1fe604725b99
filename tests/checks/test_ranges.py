import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.ranges import allows, ranges_around

NUMBERS = st.lists(st.integers(0, 30), min_size=1, max_size=3).map(tuple)


@for_each(
    ("text", "inside", "outside"),
    [
        ("~=4.46", (4, 57, 0), (5, 0, 0)),
        ("~=4.46.1", (4, 46, 9), (4, 47, 0)),
        ("==4.46.*", (4, 46, 3), (4, 47, 0)),
        (">=4.40,<5", (4, 57, 1), (5, 24, 0)),
        (">4.46", (4, 47, 0), (4, 46, 0)),
        ("<=4.46", (4, 46, 0), (4, 46, 1)),
        ("!=4.46.*", (4, 47, 0), (4, 46, 2)),
        ("== 4.46", (4, 46, 0), (4, 46, 1)),
    ],
)
def test_a_range_has_an_inside_and_an_outside(text, inside, outside):
    assert allows(text, inside)
    assert not allows(text, outside)


@given(NUMBERS, NUMBERS)
def test_every_version_is_below_or_at_or_above_every_bound(version, bound):
    text = ".".join(map(str, bound))
    assert allows(f"<{text}", version) != allows(f">={text}", version)
    assert allows(f"<={text}", version) == (allows(f"<{text}", version) or allows(f"=={text}", version))


@pytest.mark.parametrize(
    ("name", "text", "out"),
    [
        ("requirements.txt", "torch\ntransformers[torch] ~= 4.46  # for now\n", True),
        ("requirements.txt", "transformers>=4.46\n", False),
        ("requirements.txt", 'transformers~=4.46; python_version < "3.9"\n', False),
        ("requirements.txt", "transformers-stream-generator<0.1\n", False),
        ("pyproject.toml", '[project]\ndependencies = ["torch>2", "transformers>=4.40,<5"]\n', True),
        ("setup.cfg", "[options]\ninstall_requires =\n    transformers<5\n", True),
        ("pyproject.toml", "not = = toml", False),
    ],
)
def test_the_files_of_a_project_leave_versions_out(tmp_path, name, text, out):
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text)
    inner = tmp_path / "configs"
    inner.mkdir()
    ranges = ranges_around(inner).get("transformers", ())
    assert (not all(allows(each, (5, 24, 0)) for each in ranges)) is out
