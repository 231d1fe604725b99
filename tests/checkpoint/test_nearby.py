from pathlib import Path

from trimtab.checkpoint.nearby import near_names


def test_folders_of_like_names_are_named_the_likest_first(tmp_path: Path):
    for name in ("en_de", "en_de_2", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "en_dd").touch()
    assert near_names(tmp_path / "en_dee") == [str(tmp_path / "en_de"), str(tmp_path / "en_de_2")]


def test_where_the_parent_is_missing_nothing_is_near(tmp_path: Path):
    assert near_names(tmp_path / "no" / "run") == []


def test_a_name_without_a_parent_is_looked_for_here(tmp_path: Path, monkeypatch):
    (tmp_path / "demo").mkdir()
    monkeypatch.chdir(tmp_path)
    assert near_names(Path("dmo")) == ["demo"]


def test_a_folder_that_is_there_and_no_run_is_not_near_to_itself(tmp_path: Path):
    for name in ("en_de", "en_de_2"):
        (tmp_path / name).mkdir()
    assert near_names(tmp_path / "en_de") == [str(tmp_path / "en_de_2")]
