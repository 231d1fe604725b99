import sys
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.versions import Versions, library_of, own_versions, parse_versions, read_version
from trimtab.errors import InputError


@for_each(
    ("text", "version"),
    [
        ("5.24.0", (5, 24, 0)),
        ("5", (5, 0, 0)),
        ("v1.2", (1, 2, 0)),
        ("5.0.0rc1", (5, 0, 0)),
        ("5.0.0.dev0", (5, 0, 0)),
        ("2.11.0+cu128", (2, 11, 0)),
        ("1!2.0", (2, 0, 0)),
        ("1.2.3.4", (1, 2, 3, 4)),
        ("latest", ()),
        ("", ()),
    ],
)
def test_versions_are_numbers_that_compare(text: str, version: tuple[int, ...]):
    assert read_version(text) == version


def test_a_short_version_is_no_older_than_a_long_one():
    assert read_version("5.24") >= read_version("5.24.0")


@given(st.text(max_size=12))
def test_any_text_has_a_version_or_none(text: str):
    assert all(isinstance(number, int) for number in read_version(text))


def test_what_the_user_asks_for_is_read():
    asked = parse_versions(["transformers=5.24.0 peft==0.21.2", "OpenNMT_py=3.5,torch=2.11+cu128"])
    assert asked == {
        "transformers": (5, 24, 0),
        "peft": (0, 21, 2),
        "OpenNMT-py": (3, 5, 0),
        "torch": (2, 11, 0),
    }
    assert parse_versions([]) == {}


def test_everything_that_is_wrong_is_told_at_once():
    with pytest.raises(InputError) as caught:
        parse_versions(["transformers", "trl=new", "transfomers=5", "numpy=2.0"])
    told = [(problem.what, problem.fix) for problem in caught.value.problems]
    assert told == [
        ("--with transformers: no library with its version", "write it such as `--with transformers=5.24.0`"),
        ("--with trl=new: no library with its version", "write it such as `--with transformers=5.24.0`"),
        ("--with transfomers=5: the version of transfomers decides nothing", "did you mean `transformers`?"),
        ("--with numpy=2.0: the version of numpy decides nothing", "leave it out"),
    ]


def test_a_library_has_many_spellings():
    assert library_of("opennmt_py") == "OpenNMT-py"
    assert library_of("Flash.Attn") == "flash-attn"
    assert library_of("numpy") is None


def install(folder: Path, *names: str) -> str:
    for name in names:
        (folder / name).mkdir(parents=True)
    return str(folder)


def test_what_is_asked_for_wins_over_pins_and_pins_over_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "requirements.txt").write_text("peft==0.1.0\ntransformers==4.0\n")
    first = install(
        tmp_path / "first", "trl-1.2.3.dist-info", "peft-9.9.9.dist-info", "OpenNMT_py-3.5.1-py3.11.egg-info"
    )
    second = install(
        tmp_path / "second", "trl-0.1.0.dist-info", "torchao-0.15.0+cu128.dist-info", "broken.dist-info"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path / "none"), first, second])
    versions = Versions(tmp_path, asked={"transformers": (5, 0, 0)})
    assert versions["transformers"] == (5, 0, 0)
    assert versions["peft"] == (0, 1, 0)
    assert versions["trl"] == (1, 2, 3)
    assert versions.get("deepspeed") is None
    assert dict(versions) == {
        "transformers": (5, 0, 0),
        "peft": (0, 1, 0),
        "trl": (1, 2, 3),
        "OpenNMT-py": (3, 5, 1),
        "torchao": (0, 15, 0),
    }
    assert len(versions) == 5


def test_what_is_installed_here_is_found(tmp_path: Path):
    assert versions_here(tmp_path, "pydantic") == read_version(metadata.version("pydantic"))


def versions_here(folder: Path, library: str) -> tuple[int, ...] | None:
    return Versions(folder, asked={}).get(library)


def test_what_is_installed_does_not_count_where_the_project_asks_for_another(tmp_path: Path):
    (installed,) = [Versions(tmp_path / "none", asked={})["torch"]]
    (tmp_path / "requirements.txt").write_text(f"torch<{installed[0]}\n")
    assert "torch" not in Versions(tmp_path, asked={})
    other = tmp_path / "other"
    other.mkdir()
    (other / "requirements.txt").write_text(f"torch>={installed[0]}\n")
    assert Versions(other, asked={})["torch"] == installed


def test_versions_that_a_script_installs_are_known_by_library():
    text = "!pip install transformers==4.56.2 numpy==2.0 PyTorch==2.1\n"
    assert own_versions(text) == {"transformers": (4, 56, 2), "torch": (2, 1, 0)}
