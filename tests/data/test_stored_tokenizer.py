import pytest

from tests.pretrained_folder import fast_tokenizer
from trimtab.data.fast_tokenizer import FastTokenizer, SpecialIds
from trimtab.data.stored_tokenizer import load_stored, store_fast
from trimtab.errors import InputError


@pytest.fixture
def folder(tmp_path):
    special = SpecialIds(pad=2, unknown=0, start=1, end=2)
    made = FastTokenizer(fast_tokenizer().to_str().encode(), special=special, num_ids=270, template="{{ 1 }}")
    store_fast(made, tmp_path, adopted_from="base")
    return tmp_path


def test_a_stored_tokenizer_comes_back_whole(folder):
    found = load_stored(folder)
    assert isinstance(found, FastTokenizer)
    assert (found.pad, found.start, found.end, found.num_ids, found.template) == (2, 1, 2, 270, "{{ 1 }}")


def test_another_file_or_card_is_refused(folder):
    card = (folder / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(card.replace('"end": 2', '"end": 3'))
    with pytest.raises(InputError, match="not the tokenizer that was stored here"):
        load_stored(folder)
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="is not the file that trimtab writes"):
        load_stored(folder)
