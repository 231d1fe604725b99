import pytest

from trimtab.data.exact_text import ExactText
from trimtab.errors import InputError
from trimtab.export.samples import LONGEST_BYTES, gate_texts
from trimtab.inference import load_model


@pytest.fixture(scope="module")
def model(text_run):
    return load_model(str(text_run), device="cpu")


def test_texts_are_of_the_validation_set_and_then_of_the_corpus(model):
    texts = gate_texts(model)
    kinds = [text.origin.split(" ")[0] for text in texts]
    assert kinds == sorted(kinds, reverse=True)
    assert set(kinds) == {"validation", "training"}
    assert kinds.count("validation") == 12
    assert texts == gate_texts(model)


def test_each_is_what_its_ids_say_and_fits_the_window(model):
    tokenizer = ExactText(model.tokenizer)
    for text in gate_texts(model):
        assert tokenizer.ids([text.text])[0] == text.ids
        assert 0 < len(text.ids) < model.recipe.data.max_tokens
        assert len(text.text.encode()) <= LONGEST_BYTES
    assert any("\n" in text.text for text in gate_texts(model))


def test_no_more_than_were_asked_for_and_spread_over_the_text(model, tmp_path):
    (tmp_path / "many.txt").write_text("\n\n".join(f"the boat {number}" for number in range(100)))
    texts = gate_texts(model, tmp_path / "many.txt", count=10)
    assert [text.text for text in texts] == [f"the boat {number}" for number in range(0, 100, 10)]


def test_a_file_that_is_not_there_is_said(model, tmp_path):
    with pytest.raises(InputError, match="gone"):
        gate_texts(model, tmp_path / "gone.txt")
