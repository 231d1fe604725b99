from pathlib import Path

import pytest

from trimtab.checks.files import surroundings_of


def test_files_of_the_same_folder_are_read(tmp_path: Path):
    (tmp_path / "config.json").write_text('{"model_type": "t5"}')
    (tmp_path / "ds").mkdir()
    (tmp_path / "ds" / "zero.json").write_text("{}")
    around = surroundings_of(str(tmp_path / "train.yaml"))
    found = around.beside("config.json")
    assert found is not None
    assert found.tree == {"model_type": "t5"}
    assert found.path == str(tmp_path / "config.json")
    assert around.beside("ds/zero.json") is not None


@pytest.mark.parametrize(
    "name",
    ["none.json", "broken.json", "folder", "../secret.json", "/etc/hostname", "", "a\0b", "large.json"],
)
def test_what_is_not_there_or_not_beside_is_nothing(tmp_path: Path, name: str):
    inside = tmp_path / "inside"
    (inside / "folder").mkdir(parents=True)
    (inside / "broken.json").write_text("{")
    (inside / "large.json").write_bytes(b" " * 2_000_001)
    (tmp_path / "secret.json").write_text("{}")
    assert surroundings_of(str(inside / "train.yaml")).beside(name) is None


def test_versions_that_are_asked_for_are_there(tmp_path: Path):
    around = surroundings_of(str(tmp_path / "f.yaml"), asked={"trl": (1, 2, 3)})
    assert around.versions["trl"] == (1, 2, 3)


def test_standard_input_has_the_current_folder_around_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert surroundings_of("-").beside("config.json") is not None
