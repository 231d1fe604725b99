import errno
import io
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from tests.data.small_text import sentences, small_tokenizer
from trimtab.data.sentencepiece_model import SentencePiece, load_tokenizer
from trimtab.data.tokenizer import write_tokenizer
from trimtab.errors import InputError
from trimtab.types import Tokenizer

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def test_it_is_a_tokenizer_with_the_ids_of_the_house():
    tokenizer: Tokenizer = small_tokenizer()
    assert (tokenizer.pad, tokenizer.unknown, tokenizer.start, tokenizer.end) == (0, 1, 2, 3)
    assert tokenizer.num_ids == 400


def test_an_encoding_ends_with_the_end_symbol_and_comes_back():
    tokenizer, lines = small_tokenizer(), sentences(50, seed=1)
    rows = tokenizer.encode(lines)
    assert all(row[-1] == tokenizer.end and tokenizer.end not in row[:-1] for row in rows)
    assert tokenizer.decode(rows) == lines
    assert tokenizer.decode([row[:-1] for row in rows]) == lines


def test_an_empty_line_is_the_end_symbol_alone():
    tokenizer = small_tokenizer()
    assert tokenizer.encode(["", "  "]) == [[tokenizer.end]] * 2
    assert tokenizer.decode([[], [tokenizer.end]]) == ["", ""]
    assert tokenizer.encode([]) == []
    assert tokenizer.decode([]) == []


@given(st.lists(ANY_TEXT, max_size=5))
def test_any_text_goes_in_and_one_line_for_each_comes_out(lines):
    tokenizer = small_tokenizer()
    texts = tokenizer.decode(tokenizer.encode(lines))
    assert len(texts) == len(lines)
    assert all(len(text.splitlines()) <= 1 for text in texts)


@given(st.lists(st.integers(0, 399), max_size=30))
def test_any_ids_are_one_line_of_text(row):
    (text,) = small_tokenizer().decode([row])
    assert len(text.splitlines()) <= 1
    text.encode("utf-8")


def test_control_characters_and_a_long_line_survive():
    tokenizer = small_tokenizer()
    lines = ["a\x00b", "\x01\x02\x7f\x1b[0m", "\n\r\u2028", "x" * 20_000]
    rows = tokenizer.encode(lines)
    assert len(rows) == 4
    assert tokenizer.decode(rows[3:]) == lines[3:]


def test_half_a_character_is_named_with_its_line():
    with pytest.raises(InputError, match="line 2 of 2 contains a lone surrogate"):
        small_tokenizer().encode(["whole", "half \ud83d"])


def test_tags_stand_before_the_line():
    tokenizer = small_tokenizer()
    tag = tokenizer.id("<ui>")
    assert tokenizer.symbols == ("<ui>",)
    assert tokenizer.piece(tag) == "<ui>"
    lines = ["Ship turns.", ""]
    assert tokenizer.encode_with_tags(lines, ["<ui>"]) == [[tag, *row] for row in tokenizer.encode(lines)]
    assert tokenizer.encode_with_tags(lines, []) == tokenizer.encode(lines)
    assert tokenizer.decode(tokenizer.encode_with_tags(["Ship turns."], ["<ui>"])) == ["Ship turns."]


@given(st.tuples(ANY_TEXT, ANY_TEXT).map(lambda both: f"{both[0]}<ui>{both[1]}"))
def test_the_letters_of_a_tag_in_a_text_never_become_the_tag(line):
    tokenizer = small_tokenizer()
    (row,) = tokenizer.encode([line])
    special = {tokenizer.id("<ui>"), tokenizer.pad, tokenizer.unknown, tokenizer.start}
    assert special.isdisjoint(row)
    assert "<ui>" in tokenizer.decode([row])[0]


def test_a_tag_without_an_id_is_an_error_that_names_those_there_are():
    with pytest.raises(InputError, match="no piece '<iu>'") as caught:
        small_tokenizer().encode_with_tags(["a"], ["<iu>"])
    assert "<ui>" in caught.value.problems[0].allowed


def test_unknown_and_byte_pieces_can_be_counted():
    spelled = small_tokenizer()
    (row,) = spelled.encode(["龍"])
    assert spelled.is_byte[row].sum() == 3
    assert spelled.unknown not in row
    plain = small_tokenizer(byte_fallback=False)
    assert plain.unknown in plain.encode(["龍"])[0]
    assert not plain.is_byte.any()


def test_a_copy_for_workers_is_the_same_tokenizer():
    tokenizer = small_tokenizer()
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again.encode(["Ship."]) == tokenizer.encode(["Ship."])
    assert (again.symbols, again.fingerprint) == (tokenizer.symbols, tokenizer.fingerprint)


def store(folder, model, **card):
    (folder / "sentencepiece.model").write_bytes(model)
    if card:
        (folder / "tokenizer.json").write_text(json.dumps(card))
    return folder


def test_a_folder_a_file_and_a_file_of_another_name_are_loaded(tmp_path):
    tokenizer = small_tokenizer()
    store(tmp_path, tokenizer.model, fingerprint=tokenizer.fingerprint, symbols=["<ui>"])
    (tmp_path / "other.model").write_bytes(tokenizer.model)
    for path in (tmp_path, tmp_path / "sentencepiece.model", tmp_path / "other.model"):
        loaded = load_tokenizer(path)
        assert loaded.fingerprint == tokenizer.fingerprint
        assert loaded.symbols == ("<ui>",)


def test_another_model_than_the_card_says_is_an_error(tmp_path):
    with pytest.raises(InputError, match="not the tokenizer that was stored here"):
        load_tokenizer(store(tmp_path, small_tokenizer().model, fingerprint="0" * 64))


@pytest.mark.parametrize("card", ["{", "[]", '{"symbols": 3}', '{"symbols": [3]}'])
def test_a_damaged_card_is_an_error(tmp_path, card):
    store(tmp_path, small_tokenizer().model)
    (tmp_path / "tokenizer.json").write_text(card)
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        load_tokenizer(tmp_path)


def test_a_missing_model_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"sentencepiece\.model: no such file"):
        load_tokenizer(tmp_path)


def test_damaged_models_are_errors(tmp_path):
    model = small_tokenizer().model
    for content in (b"", b"no model at all", model[: len(model) // 2]):
        with pytest.raises(InputError, match="not a sentencepiece model"):
            load_tokenizer(store(tmp_path, content))


def test_a_model_without_the_pieces_a_run_needs_says_which(tmp_path):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(200)), model_writer=model, vocab_size=100, bos_id=-1, minloglevel=2
    )
    with pytest.raises(InputError, match="has no pad and no bos piece"):
        SentencePiece(model.getvalue())


def test_a_model_says_how_it_splits():
    lines = sentences(300)
    for kind, size, algorithm in (
        ("unigram", 120, "unigram"),
        ("bpe", 120, "bpe"),
        ("char", 40, "word or character"),
    ):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, model_type=kind, vocab_size=size,
            pad_id=0, unk_id=1, bos_id=2, eos_id=3, hard_vocab_limit=False, minloglevel=2,
        )  # fmt: skip
        assert SentencePiece(model.getvalue()).algorithm == algorithm


def test_the_best_splits_begin_with_that_of_encode_and_all_are_the_text():
    tokenizer, line = small_tokenizer(), sentences(1, seed=4)[0]
    best = tokenizer.nbest(line, 5)
    assert [*best[0], tokenizer.end] == tokenizer.encode([line])[0]
    assert len({tuple(split) for split in best}) == 5
    assert set(tokenizer.decode(best)) == {line}


@pytest.mark.quick("load_tokenizer(file)")
@pytest.mark.parametrize("made", ["pickle.loads(file.read_bytes())", "load_tokenizer(file)"])
def test_no_process_that_has_the_model_writes_what_the_library_logs(tmp_path, made):
    """In a process of its own: training has silenced this one."""
    tokenizer, file = small_tokenizer(), tmp_path / "tokenizer"
    file.write_bytes(pickle.dumps(tokenizer) if "pickle" in made else tokenizer.model)
    program = f"""
import pickle, sentencepiece, sys
from pathlib import Path
from trimtab.data.sentencepiece_model import load_tokenizer
file = Path(sys.argv[1])
tokenizer = {made}
if sys.argv[2] == "aloud":
    sentencepiece.set_min_log_level(0)
print(len(tokenizer.nbest("ship turns sail harbour wind and the other others " * 100, 8)))
"""
    said = {}
    for how in ("aloud", "as it is"):
        command = [sys.executable, "-c", program, file, how]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "8\n"
        said[how] = done.stderr
    assert "agenda" in said["aloud"], "the line is one of those that the library speaks of"
    assert said["as it is"] == ""


def test_a_normalised_line_has_its_spaces_marked():
    assert small_tokenizer().normalized(["a  b", ""]) == ["▁a▁b", ""]


def test_a_card_of_brackets_without_an_end_is_wrong_input(tmp_path):
    (tmp_path / "sentencepiece.model").write_bytes(small_tokenizer().model)
    (tmp_path / "tokenizer.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="brackets too deep"):
        load_tokenizer(tmp_path)


def test_a_stored_tokenizer_that_was_damaged_is_told_as_such_and_not_as_one_to_leave_out(tmp_path):
    write_tokenizer(small_tokenizer(), tmp_path)
    (tmp_path / "sentencepiece.model").write_bytes(b"garbage")
    with pytest.raises(InputError, match="not the tokenizer that was stored here") as caught:
        load_tokenizer(tmp_path)
    assert "restore the file" in caught.value.problems[0].fix


def test_a_folder_that_may_not_be_looked_into_is_told(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_dir", refuse)
    with pytest.raises(InputError, match=r"cannot be read(.|\n)*got     Permission denied"):
        load_tokenizer(tmp_path)
