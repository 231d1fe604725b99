import unicodedata

import pytest

from trimtab.config.images import CharsetConfig
from trimtab.errors import InputError
from trimtab.tasks.recognition.charset import Charset, described, load_charset, prepare_charset


def test_characters_are_those_of_the_texts_in_one_form(tmp_path):
    texts = [("cafe\u0301", "a:1"), ("na\u00efve", "a:2")]
    charset = prepare_charset(CharsetConfig(), texts, folder=tmp_path)
    assert charset == load_charset(tmp_path)
    assert "\u00e9" in charset.characters
    assert "\u0301" not in charset.characters
    (row,) = charset.encode(["cafe\u0301"])
    assert charset.decode([row]) == ["caf\u00e9"]
    assert charset.encode(["?"]) == [[charset.unknown, charset.end]]
    assert charset.unknown_in("a?") == {"?"}


def test_a_character_that_a_file_lacks_is_named_with_count_and_place(tmp_path):
    (tmp_path / "set.txt").write_text("a\nb\n", encoding="utf-8")
    config = CharsetConfig(file=str(tmp_path / "set.txt"))
    with pytest.raises(InputError) as error:
        prepare_charset(config, [("ab", "x:1"), ("aé éb", "x:2")], folder=tmp_path / "run")
    assert "x:2" in str(error.value)
    assert described("é") in str(error.value)
    assert "2 times" in str(error.value)
    kept = prepare_charset(config, [("ab", "x:1")], folder=tmp_path / "run")
    assert kept.characters == (" ", "a", "b")
    with pytest.raises(InputError, match="not in this run"):
        prepare_charset(CharsetConfig(), [("abc", "x:1")], folder=tmp_path / "run")


@pytest.mark.parametrize("content", [b"", b"ab\n", b"\xff\n"])
def test_a_file_that_lists_no_characters_is_refused(tmp_path, content):
    (tmp_path / "set.txt").write_bytes(content)
    with pytest.raises(InputError, match=r"set\.txt"):
        prepare_charset(
            CharsetConfig(file=str(tmp_path / "set.txt")), [("a", "x:1")], folder=tmp_path / "run"
        )


@pytest.mark.parametrize("content", ["", "[]", '{"characters": ["ab"], "normalization": "nfc"}', "{}"])
def test_damaged_characters_of_a_run_are_refused(tmp_path, content):
    (tmp_path / "charset.json").write_text(content)
    with pytest.raises(InputError, match="no list of characters"):
        load_charset(tmp_path)


def test_every_letter_comes_back(tmp_path):
    letters = "".join(chr(code) for code in range(0x20, 0x250) if unicodedata.category(chr(code)) != "Cc")
    charset = Charset(tuple(sorted(set(unicodedata.normalize("NFC", letters)))), "nfc")
    assert charset.decode(charset.encode([letters])) == [unicodedata.normalize("NFC", letters)]
