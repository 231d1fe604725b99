import os
from pathlib import Path

import pytest

from trimtab.checks.read.limits import MAX_BYTES
from trimtab.checks.walk import Found, walk
from trimtab.errors import InputError


def plant(folder: Path, *names: str) -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("a: 1")


def names(folder: Path, *paths: str) -> list[str]:
    return [os.path.relpath(found.path, folder) for found in walk(paths or [str(folder)])]


def test_a_folder_gives_what_can_be_read_in_a_fixed_order(tmp_path: Path):
    plant(
        tmp_path,
        "b/z.yml",
        "b/a.json",
        "a.py",
        "c.txt",
        "d.ipynb",
        "README",
        "b/deep/x.YAML",
        "e.sh",
        "a/q.bash",
    )
    assert names(tmp_path) == ["a.py", "d.ipynb", "e.sh", "a/q.bash", "b/a.json", "b/z.yml", "b/deep/x.YAML"]


def test_a_named_file_is_taken_whatever_it_is(tmp_path: Path):
    plant(tmp_path, "c.txt", "d.yaml")
    file, folder = str(tmp_path / "c.txt"), str(tmp_path)
    assert walk([file, "-"]) == [Found(file, named=True), Found("-", named=True)]
    assert walk([folder]) == [Found(str(tmp_path / "d.yaml"), named=False)]


def test_a_file_comes_once_and_is_named_if_anywhere(tmp_path: Path):
    plant(tmp_path, "d.yaml")
    file = str(tmp_path / "d.yaml")
    assert walk([str(tmp_path), file, file]) == [Found(file, named=True)]


def test_folders_that_nobody_writes_are_left_out(tmp_path: Path):
    plant(
        tmp_path,
        ".git/a.yaml",
        "node_modules/b.json",
        "x/__pycache__/c.py",
        ".venv/d.py",
        "build/e.py",
        "f.py",
    )
    assert names(tmp_path) == ["f.py"]


def test_a_folder_that_is_named_is_looked_at_even_if_it_is_called_build(tmp_path: Path):
    plant(tmp_path, "build/e.py")
    assert names(tmp_path, str(tmp_path / "build")) == ["build/e.py"]


def test_ignore_files_leave_out_what_they_name(tmp_path: Path):
    plant(tmp_path, "a.yaml", "out/b.yaml", "c/d.yaml", "c/e.json", "c/f/e.json")
    (tmp_path / ".gitignore").write_text("out/\n")
    (tmp_path / "c" / ".gitignore").write_text("/e.json\n")
    assert names(tmp_path) == ["a.yaml", "c/d.yaml", "c/f/e.json"]
    assert names(tmp_path, str(tmp_path / "out" / "b.yaml")) == ["out/b.yaml"]


def test_ignore_files_above_count_inside_a_repository(tmp_path: Path):
    plant(tmp_path, "r/c/a.yaml", "r/c/b.json", "r/c/d.py")
    (tmp_path / "r" / ".git").mkdir()
    (tmp_path / "r" / ".gitignore").write_text("*.json\n")
    (tmp_path / ".gitignore").write_text("*.py\n")
    assert names(tmp_path, str(tmp_path / "r" / "c")) == ["r/c/a.yaml", "r/c/d.py"]


def test_links_lead_to_files_and_never_in_circles(tmp_path: Path):
    plant(tmp_path, "a/b.yaml")
    (tmp_path / "a" / "again").symlink_to(tmp_path / "a", target_is_directory=True)
    (tmp_path / "a" / "c.yaml").symlink_to(tmp_path / "a" / "b.yaml")
    (tmp_path / "a" / "nowhere.yaml").symlink_to(tmp_path / "none.yaml")
    (tmp_path / "a" / "self.yaml").symlink_to(tmp_path / "a" / "self.yaml")
    assert names(tmp_path) == ["a/b.yaml", "a/c.yaml"]


def test_large_files_of_folders_are_data(tmp_path: Path):
    (tmp_path / "data.json").write_bytes(b" " * 2_000_001)
    assert names(tmp_path) == []
    assert len(walk([str(tmp_path / "data.json")])) == 1


def test_all_paths_that_are_not_there_are_told_at_once(tmp_path: Path):
    with pytest.raises(InputError) as caught:
        walk([str(tmp_path / "one"), "-", str(tmp_path / "two")])
    assert [problem.where for problem in caught.value.problems] == [
        str(tmp_path / "one"),
        str(tmp_path / "two"),
    ]


def test_the_current_folder_gives_names_as_a_user_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    plant(tmp_path, "a.yaml", "b/c.yaml")
    monkeypatch.chdir(tmp_path)
    assert [found.path for found in walk(["."])] == ["a.yaml", "b/c.yaml"]


def test_a_named_folder_that_may_not_be_entered_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    plant(tmp_path, "closed/a.yaml", "open/b.yaml", "open/closed/c.yaml")
    look = os.scandir

    def refuse(path: str | Path):
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return look(path)

    monkeypatch.setattr(os, "scandir", refuse)
    closed = str(tmp_path / "closed")
    with pytest.raises(InputError, match="closed: cannot be read") as caught:
        walk([closed, str(tmp_path / "open")])
    assert [(each.got, each.where) for each in caught.value.problems] == [("Permission denied", closed)]
    found = walk([str(tmp_path / "open")])
    assert [(Path(each.path).name, each.closed) for each in found] == [
        ("b.yaml", ""),
        ("closed", "Permission denied"),
    ]


def test_named_as_found_a_file_is_no_more_than_one_of_a_folder(tmp_path: Path):
    plant(tmp_path, "a.yaml", "b.json")
    (tmp_path / "large.json").write_bytes(b" " * (MAX_BYTES + 1))
    (tmp_path / "endless.yaml").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.yaml")
    paths = [str(tmp_path / name) for name in ("a.yaml", "b.json", "large.json", "endless.yaml", "pipe.yaml")]
    assert walk(paths, named_as_found=True) == [Found(path, named=False) for path in paths[:2]]
    with pytest.raises(InputError, match="no such file"):
        walk([str(tmp_path / "gone.yaml")], named_as_found=True)
