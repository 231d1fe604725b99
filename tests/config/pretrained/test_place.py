import pytest

from trimtab.config.pretrained.place import find_pretrained, where_it_is
from trimtab.errors import InputError


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub" / "models--owner--name"


def snapshot(cache, revision="abc", *, main=True):
    folder = cache / "snapshots" / revision
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    if main:
        (cache / "refs").mkdir(exist_ok=True)
        (cache / "refs" / "main").write_text(revision)
    return folder


def test_a_folder_a_file_and_a_folder_with_one_file_are_found(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "config.json").write_text("{}")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "model.gguf").write_bytes(b"")
    assert find_pretrained("folder", folder=tmp_path).path == tmp_path / "folder"
    for name in ("files", "files/model.gguf"):
        found = find_pretrained(name, folder=tmp_path)
        assert found.path == tmp_path / "files" / "model.gguf"
        assert found.is_gguf


def test_a_name_of_the_hub_is_the_snapshot_that_was_downloaded(tmp_path, cache):
    newest = snapshot(cache)
    snapshot(cache, "older", main=False)
    assert find_pretrained("owner/name", folder=tmp_path).path == newest
    assert where_it_is("owner/name", folder=tmp_path) == newest


def test_a_name_that_was_not_downloaded_says_how(tmp_path, cache):
    with pytest.raises(InputError) as error:
        find_pretrained("owner/name", folder=tmp_path)
    assert error.value.problems[0].fix == "`hf download owner/name`"
    assert where_it_is("owner/name", folder=tmp_path) == tmp_path / "owner" / "name"


def test_a_folder_without_settings_says_what_is_in_it(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(InputError, match=r"has no config\.json") as error:
        find_pretrained("folder", folder=tmp_path)
    assert error.value.problems[0].got == "pytorch_model.bin"


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "model.bin").write_bytes(b"")
    with pytest.raises(InputError, match="is a file of another kind"):
        find_pretrained("model.bin", folder=tmp_path)
