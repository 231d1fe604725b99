import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.images import CharsetConfig, ImageConfig, Rendering


def test_the_widest_image_follows_from_the_fit():
    assert ImageConfig(size=32, max_width=512).widest == 512
    assert ImageConfig(fit="longest", size=64, max_width=512).widest == 64
    assert (ImageConfig().num_channels, ImageConfig(channels="rgb").num_channels) == (1, 3)


@for_each(
    ("model", "given"),
    [
        (ImageConfig, {"size": 30}),
        (ImageConfig, {"size": 0}),
        (ImageConfig, {"max_width": 100}),
        (ImageConfig, {"augment": {"probability": 2}}),
        (CharsetConfig, {"normalization": "nfz"}),
        (Rendering, {"fonts": []}),
        (Rendering, {"fonts": ["x"], "size": [40, 20]}),
        (Rendering, {"fonts": ["x"], "ink": [0, 300]}),
        (Rendering, {"fonts": ["x"], "ink": [0, 200], "background": [150, 255]}),
    ],
)
def test_what_is_out_of_range_is_refused(model, given):
    with pytest.raises(ValidationError):
        model.model_validate(given)
