import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.vision_model import VisionModel


def test_a_preset_is_filled_and_what_is_written_beside_it_wins():
    model = VisionModel.model_validate({"preset": "tiny", "layers": 7})
    assert (model.dim, model.layers) == (128, 7)
    assert model.decoder.kv_heads == 4
    assert model.multiple == (32, 16)


@for_each(
    "changes",
    [{"patch": [32, 5]}, {"patch": [0, 4]}, {"dim": 30}, {"heads": 3}, {"registers": -1}, {"drop_path": 1}],
)
def test_sizes_that_do_not_fit_are_refused(changes):
    with pytest.raises(ValidationError):
        VisionModel.model_validate({"preset": "tiny", **changes})


def test_ctc_alone_needs_no_layers_of_a_decoder():
    sizes = {"dim": 8, "heads": 2, "layers": 1, "feed_forward": 16}
    assert VisionModel.model_validate({**sizes, "preset": None}).decoder_layers == 2
    with pytest.raises(ValidationError, match="decoder_layers"):
        VisionModel.model_validate({**sizes, "head": "both"})
