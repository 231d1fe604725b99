import pytest

from tests.shared_folder import shared_folder


class Factory:
    """As pytest's, of one process of several."""

    def __init__(self, path):
        self.path = path

    def getbasetemp(self):
        return self.path


@pytest.fixture
def factories(tmp_path, monkeypatch):
    """Those of two processes."""
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    return [Factory(tmp_path / name) for name in ("gw0", "gw1")]


def test_the_first_makes_it_and_the_others_get_what_it_made(factories):
    folders = [
        shared_folder(each, "run", lambda folder, each=each: (folder / "by").write_text(each.path.name))
        for each in factories
    ]
    assert folders[0] == folders[1]
    assert (folders[0] / "by").read_text() == "gw0"


def test_where_one_fails_the_next_begins_anew(factories):
    def fails(folder):
        (folder / "half").touch()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        shared_folder(factories[0], "run", fails)
    assert [*shared_folder(factories[1], "run", lambda folder: None).iterdir()] == []
