import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.diffusion_model import DIFFUSION_PRESETS, DiffusionModel


@for_each("name", [*DIFFUSION_PRESETS])
def test_a_preset_fills_the_sizes_and_what_is_written_beside_it_wins(name):
    model = DiffusionModel.model_validate({"preset": name, "layers": 2})
    assert (model.dim, model.heads, model.layers) == (
        DIFFUSION_PRESETS[name]["dim"],
        DIFFUSION_PRESETS[name]["heads"],
        2,
    )


@for_each(
    ("wrong", "words"),
    [
        ({}, "dim, heads"),
        ({"preset": "tiny", "dim": 130, "heads": 2}, "is not a multiple of 4"),
        ({"preset": "tiny", "heads": 5}, "do not divide"),
        ({"preset": "tiny", "prediction": "score"}, "flow"),
        ({"preset": "tiny", "shift": 0}, "greater than 0"),
        ({"preset": "tiny", "sampling": {"steps": 0}}, "greater than or equal to 1"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, words):
    with pytest.raises(ValidationError, match=words):
        DiffusionModel.model_validate(wrong)
