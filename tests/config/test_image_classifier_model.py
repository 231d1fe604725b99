import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.image_classifier_model import IMAGE_CLASSIFIER_PRESETS, ImageClassifierModel


@for_each("name", [*IMAGE_CLASSIFIER_PRESETS])
def test_a_preset_fills_the_sizes_and_what_is_written_beside_it_wins(name):
    model = ImageClassifierModel.model_validate({"preset": name, "layers": 2})
    assert (model.dim, model.layers) == (IMAGE_CLASSIFIER_PRESETS[name]["dim"], 2)


def test_the_class_token_is_one_more():
    given = {"preset": "tiny", "registers": 2}
    assert ImageClassifierModel.model_validate(given).added_tokens == 2
    assert ImageClassifierModel.model_validate({**given, "pool": "class_token"}).added_tokens == 3


@for_each(
    ("wrong", "words"),
    [
        ({}, "dim, heads"),
        ({"preset": "tiny", "dim": 130, "heads": 2}, "is not a multiple of 4"),
        ({"preset": "tiny", "heads": 5}, "do not divide"),
        ({"preset": "tiny", "pool": "max"}, "mean"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, words):
    with pytest.raises(ValidationError, match=words):
        ImageClassifierModel.model_validate(wrong)
