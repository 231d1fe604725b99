import pytest

from tests.module_folder import module_folder
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.data.side_tokenizers import read_side


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = module_folder(tmp_path_factory.mktemp("t5"), "t5")
    return read_side(PretrainedTokenizer(path=str(folder)), "source", task="translation")


def test_what_is_spelled_like_a_symbol_is_text(source):
    assert source.end not in source.encode(["the </s> small"])[0][:-1]


def test_a_worker_gets_the_same_tokenizer(source):
    again, given = source.__reduce__()
    copy = again(*given)
    assert copy.fingerprint == source.fingerprint
    assert copy.encode(["the red ship"]) == source.encode(["the red ship"])


def test_an_empty_line_is_the_end_symbol_alone(source):
    assert source.encode(["", " \t"]) == [[source.end]] * 2


def test_symbols_are_no_text(source):
    row = source.encode(["the red ship"])[0]
    assert source.decode([[source.start, *row, source.pad]]) == ["the red ship"]
