import pytest

from tests.streams import stream_of
from trimtab.config.positions import KINDS
from trimtab.model.positions.build import Sizes, build_positions
from trimtab.model.positions.shaw import distance_vectors


@pytest.mark.parametrize("settings", KINDS, ids=lambda each: each.kind)
def test_a_module_does_what_its_settings_say(settings):
    sizes = Sizes(num_positions=7, dim=16, heads=2, scale_of_sines=1.0, scale_of_learned=1.0)
    positions = build_positions(settings, sizes)
    vectors = distance_vectors(settings, size=8, bidirectional=False)
    stream = stream_of([[4, 5, 3]])
    given = positions.of_stream(stream)
    assert (positions.table() is not None) == settings.adds_vectors
    assert (positions.rotary_table() is not None) == settings.rotates
    assert bool([*positions.parameters()] or vectors) == settings.is_trained
    assert (given.bias is not None or given.distances is not None) == settings.has_bias
    assert (given.distances is not None) == (vectors is not None)
    assert not positions.state_dict().keys() - {"weight", "absolute.weight", "relative.weight"}
