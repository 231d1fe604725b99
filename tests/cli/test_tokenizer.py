import gzip

from trimtab.data.sentencepiece_model import load_tokenizer

LINES = [f"line {number} of a small text about words {number * 7 % 13}\n" for number in range(300)]


def train(call, tmp_path, *more, files=("a.txt",)):
    inputs = [part for name in files for part in ("--input", tmp_path / name)]
    return call("tokenizer", "train", *inputs, "--out", tmp_path / "spm", "--vocabulary-size", 300, *more)


def test_a_tokenizer_is_trained_from_plain_and_packed_files(call, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text("".join(LINES))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress("".join(LINES).encode()))
    result = train(call, tmp_path, "--tag", "<ui>", "--model", "bpe", files=("a.txt", "b.txt.gz"))
    assert result.exit_code == 0, result.output
    assert "300 pieces" in result.stdout
    tokenizer = load_tokenizer(tmp_path / "spm")
    assert tokenizer.num_ids == 300
    assert tokenizer.symbols == ("<ui>",)
    assert tokenizer.decode(tokenizer.encode(["line 3 of a text"])) == ["line 3 of a text"]


def test_a_folder_with_something_in_it_is_left_alone(call, tmp_path):
    (tmp_path / "a.txt").write_text("".join(LINES))
    (tmp_path / "spm").mkdir()
    (tmp_path / "spm" / "mine").touch()
    result = train(call, tmp_path)
    assert result.exit_code == 2
    assert "already exists" in result.stderr


def test_text_that_is_not_utf8_is_named_by_its_line(call, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_bytes("".join(LINES).encode() + b"caf\xe9\n")
    result = train(call, tmp_path)
    assert result.exit_code == 2
    assert f"{tmp_path / 'a.txt'}: line 301 is not UTF-8" in result.stderr
    assert "got     byte e9 at byte 3 of the line" in result.stderr


def test_a_missing_file_is_wrong_input(call, tmp_path):
    assert train(call, tmp_path).exit_code == 2


def test_a_vocabulary_too_large_for_the_text_says_what_would_fit(call, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text("".join(LINES))
    result = train(call, tmp_path, "--vocabulary-size", 9000)
    assert result.exit_code == 2
    assert "at most" in result.stderr
