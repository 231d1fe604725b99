import hashlib
import json
import os

import pytest

from trimtab.errors import InputError
from trimtab.export.plain_files import JSON_BYTES, plain_file, read_object, sha256_of


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "outside.json").write_text('{"a": 1}')
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.json").write_text('{"a": 2}')
    return inside


def test_a_plain_file_is_read_and_marked(folder):
    assert plain_file(folder, "a.json") == folder / "a.json"
    assert read_object(folder, "a.json") == {"a": 2}
    assert sha256_of(folder / "a.json") == hashlib.sha256(b'{"a": 2}').hexdigest()


def test_a_link_to_a_file_inside_is_followed_even_where_the_folder_is_one(folder, tmp_path):
    (folder / "b.json").symlink_to("a.json")
    (tmp_path / "other").symlink_to(folder)
    assert read_object(folder, "b.json") == {"a": 2}
    assert read_object(tmp_path / "other", "b.json") == {"a": 2}


@pytest.mark.parametrize(
    "name", ["../outside.json", "/etc/hostname", "x/../../outside.json", "a\0b", "gone", "."]
)
def test_a_name_that_leaves_the_folder_or_is_none_is_wrong_input(folder, name):
    with pytest.raises(InputError, match="not a file of an export"):
        plain_file(folder, name)


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "link of a folder", "link to nothing"])
def test_what_is_no_plain_file_of_the_folder_is_wrong_input(folder, kind):
    name = "b.json"
    match kind:
        case "pipe":
            os.mkfifo(folder / name)
        case "folder":
            (folder / name).mkdir()
        case "link":
            (folder / name).symlink_to("../outside.json")
        case "link of a folder":
            (folder / "up").symlink_to("..")
            name = "up/outside.json"
        case _:
            (folder / name).symlink_to("nowhere")
    with pytest.raises(InputError, match="not a file of an export"):
        read_object(folder, name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no valid JSON"),
        (b"{", "no valid JSON"),
        (b"\xff\xfe{", "no valid JSON"),
        (b"[" * 200_000, "brackets too deep"),
        (b"[]", "list"),
        (b"null", "NoneType"),
    ],
)
def test_what_is_no_json_object_is_wrong_input(folder, content, message):
    (folder / "a.json").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_object(folder, "a.json")


def test_a_file_that_is_too_large_is_not_read(folder):
    (folder / "a.json").write_text(json.dumps({"a": "x" * JSON_BYTES}))
    with pytest.raises(InputError, match="at most 1,048,576 bytes"):
        read_object(folder, "a.json")
