from pathlib import Path

import pytest

from tests.for_each import for_each
from trimtab.checks.pins import pins_around, pins_of_script

UV = """\
version = 1

[[package]]
name = "transformers"
version = "5.24.0"
source = { registry = "https://pypi.org/simple" }
dependencies = [{ name = "torch" }]

[[package]]
name = "torch"
version = "2.11.0+cu128"
"""
PYPROJECT = """\
[project]
name = "x"
version = "1.0"
dependencies = ["transformers==5.0.0", "trl>=1", "peft~=0.1", "torch==2.1.* "]

[project.optional-dependencies]
gpu = ["deepspeed[all] == 0.15.4"]

[dependency-groups]
dev = ["accelerate===1.2.3", {include-group = "x"}]

[tool.poetry.dependencies]
python = "^3.11"
axolotl = "0.9.0"
eole = {version = "==0.5.0", extras = ["x"]}
"""
REQUIREMENTS = """\
# comment
transformers==5.1.0  # newest
Flash_Attn==2.8.0 --hash=sha256:abc
trl>=1.0
peft==0.1.0 ; python_version < "3.12"
-r other.txt
accelerate[x] == 1.0.0
torch==2.0
torch==2.1
-e git+https://example.org/x.git#egg=deepspeed==1
eole==1.0,<2
"""
CONDA = """\
name: x
dependencies:
  - python=3.11
  - pytorch=2.5.1=py3.11_cuda
  - "conda-forge::accelerate==1.1.0"
  - pip:
      - transformers[torch]==5.2.0
      - trl>=1
"""
SETUP = "[metadata]\nversion = 1.0\n[options]\ninstall_requires =\n    transformers==5.3.0\n    trl\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("uv.lock", UV, {"transformers": "5.24.0", "torch": "2.11.0+cu128"}),
        ("poetry.lock", UV.replace("\n", "\r\n"), {"transformers": "5.24.0", "torch": "2.11.0+cu128"}),
        (
            "pyproject.toml",
            PYPROJECT,
            {
                "transformers": "5.0.0",
                "deepspeed": "0.15.4",
                "accelerate": "1.2.3",
                "axolotl": "0.9.0",
                "eole": "0.5.0",
            },
        ),
        (
            "requirements.txt",
            REQUIREMENTS,
            {"transformers": "5.1.0", "flash-attn": "2.8.0", "accelerate": "1.0.0"},
        ),
        (
            "environment.yml",
            CONDA,
            {"python": "3.11", "torch": "2.5.1", "accelerate": "1.1.0", "transformers": "5.2.0"},
        ),
        ("setup.cfg", SETUP, {"transformers": "5.3.0"}),
        ("pyproject.toml", "broken [", {}),
        ("pyproject.toml", 'project = "x"\ntool = 5\n', {}),
        ("requirements.txt", "\xff\0==", {}),
        ("other.txt", "transformers==1.0", {}),
    ],
)
def test_only_exact_versions_without_a_condition_are_pins(
    tmp_path: Path, name: str, text: str, expected: dict[str, str]
):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert pins_around(tmp_path) == expected


def test_a_lock_file_wins_over_what_was_wanted(tmp_path: Path):
    (tmp_path / "uv.lock").write_text(UV)
    (tmp_path / "requirements.txt").write_text("transformers==1.0\ntrl==1.0")
    assert pins_around(tmp_path) == {"transformers": "5.24.0", "torch": "2.11.0+cu128", "trl": "1.0"}


def test_parents_are_asked_up_to_the_root_of_the_repository(tmp_path: Path):
    inside = tmp_path / "repository" / "examples" / "one"
    inside.mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text("trl==9.0")
    (tmp_path / "repository" / "requirements.txt").write_text("trl==1.0\npeft==1.0")
    (inside / "requirements.txt").write_text("trl==2.0")
    assert pins_around(inside) == {"trl": "2.0", "peft": "1.0"}


def test_outside_of_a_repository_only_the_folder_itself_is_asked(tmp_path: Path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "requirements.txt").write_text("trl==9.0")
    assert pins_around(tmp_path / "inside") == {}


def test_a_folder_that_is_not_there_pins_nothing(tmp_path: Path):
    assert pins_around(tmp_path / "none") == {}


@for_each(
    ("text", "expected"),
    [
        ("!pip install transformers==4.56.2 trl==0.22.2\n", {"transformers": "4.56.2", "trl": "0.22.2"}),
        ('"!uv pip install -q \\"transformers[torch]==4.56\\"\\n"', {"transformers": "4.56"}),
        ('# /// script\n# dependencies = [\n#   "trl==0.22.2",\n# ]\n# ///\n', {"trl": "0.22.2"}),
        ("!pip install trl==0.1\n!pip install trl==0.2\n", {"trl": "0.2"}),
        ("!pip install transformers>=4.56 trl==0.*\n", {}),
        ("assert version == 4.5 or a==4.5\n", {}),
    ],
)
def test_a_script_may_say_what_it_installs(text: str, expected: dict[str, str]):
    assert pins_of_script(text) == expected
