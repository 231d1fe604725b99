import pytest

from tests.language_run import PAIRS, language_sources
from trimtab.config.reserved import SEPARATOR
from trimtab.data.exact_text import ExactText
from trimtab.data.text_tokenizers import LONGEST_LINE, sample_text
from trimtab.data.transforms.apply import Pipeline
from trimtab.errors import InputError


def test_a_run_of_documents_has_a_newline_piece_and_no_separator(tmp_path):
    _, sources = language_sources(tmp_path)
    assert sources.tokenizers.shared
    assert SEPARATOR not in sources.tokenizer.symbols
    text = (tmp_path / "train.txt").read_text()
    assert ExactText(sources.tokenizer).decode(ExactText(sources.tokenizer).ids([text])) == [text]
    assert sources.tokenizer.id("\n") != sources.tokenizer.unknown


def test_pairs_have_a_separator_and_tags(tmp_path):
    _, sources = language_sources(
        tmp_path, **PAIRS, **{"data.train.0.tags": ["<2de>"], "data.valid.tags": ["<2de>"]}
    )
    assert sources.tokenizer.symbols == (SEPARATOR, "<2de>")
    assert sources.feed.separator == sources.tokenizer.id(SEPARATOR)
    row = sources.valid["valid"].target.row(0)
    assert row[0] == sources.tokenizer.id("<2de>")


def test_bytes_are_not_trained(tmp_path):
    _, sources = language_sources(tmp_path, **{"data.tokenizer": {"kind": "bytes"}})
    assert sources.tokenizer.num_ids == 260
    again = language_sources(tmp_path, **{"data.tokenizer": {"kind": "bytes"}})[1]
    assert again.tokenizer.fingerprint == sources.tokenizer.fingerprint


def test_a_tokenizer_of_another_run_can_be_used(tmp_path):
    _, first = language_sources(tmp_path / "first")
    path = str(tmp_path / "first" / "tokenizer" / "sentencepiece.model")
    _, second = language_sources(tmp_path / "second", **{"data.tokenizer": {"path": path}})
    assert second.tokenizer.fingerprint == first.tokenizer.fingerprint
    with pytest.raises(InputError, match="has no piece '<sep>'"):
        language_sources(tmp_path / "third", **{**PAIRS, "data.tokenizer": {"path": path}})


@pytest.mark.slow
def test_one_that_changes_texts_is_refused(tmp_path, trained_run):
    path = str(trained_run / "tokenizer" / "sentencepiece.model")
    with pytest.raises(InputError, match="the tokenizer changes texts"):
        language_sources(tmp_path, **{"data.tokenizer": {"path": path}})


def test_lines_are_taken_from_everywhere_and_long_ones_are_cut(tmp_path):
    (tmp_path / "long.txt").write_text("word " * 2000 + "\n\nshort\n")
    _, sources = language_sources(tmp_path / "run")
    text = (tmp_path / "run" / "train.txt").read_text()
    lines = list(sample_text(sources.corpora, 10**6, pipeline=Pipeline()))
    assert sorted(lines) == sorted(line for line in text.split("\n") if line)
    few = list(sample_text(sources.corpora, 7, pipeline=Pipeline()))
    assert few == lines[:7]
    changes = {"data.train": [{"text": "../long.txt"}], "data.max_tokens": 4096, "step.tokens_per_step": 8192}
    changes |= {"step.tokens_per_micro_batch": 4096, "data.tokenizer": {"kind": "bytes"}}
    _, sources = language_sources(tmp_path / "other", **changes)
    cut = list(sample_text(sources.corpora, 10**6, pipeline=Pipeline()))
    assert max(map(len, cut)) <= LONGEST_LINE < 4192
    assert sum(map(len, cut)) == len("word " * 2000) + len("short")
