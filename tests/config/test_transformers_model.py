import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.transformers_model import TransformersModel

SIZES = {"dim": 8, "num_ids": 20, "num_source_ids": 20}


def test_its_rows_are_padded_and_it_begins_from_its_files():
    model = TransformersModel(path="base", **SIZES)
    assert model.needs_padding
    assert model.warm_start is None


def test_it_needs_a_path():
    with pytest.raises(ValidationError, match="needs one"):
        TransformersModel(**SIZES)


@for_each(
    ("family", "settings", "cap"),
    [
        ("gemma2", '{"final_logit_softcapping": 7.5}', 7.5),
        ("gemma2", "{}", 30.0),
        ("gemma2", '{"final_logit_softcapping": null}', None),
        ("gemma2", "no JSON", 30.0),
        ("gpt2", "{}", None),
        ("marian", "[]", None),
    ],
)
def test_the_cap_of_the_logits_is_that_of_the_settings_or_of_the_family(family, settings, cap):
    assert TransformersModel(path="base", family=family, settings=settings, **SIZES).logit_cap == cap


def test_a_language_model_has_no_encoder():
    models = {
        name: TransformersModel(path="base", family=name, **SIZES) for name in ("gpt2", "bert", "marian", "x")
    }
    assert {name: model.has_encoder for name, model in models.items()} == {
        "gpt2": False, "bert": True, "marian": True, "x": True
    }  # fmt: skip
