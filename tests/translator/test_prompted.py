import pytest

from tests.export.text_models import network
from trimtab.decode.continuing import Continues, OpenPrompts
from trimtab.translator.prompted import Prompted


def test_a_decoder_is_opened_for_prompts_within_its_positions():
    model = Prompted(network(50))
    assert isinstance(model, Continues)
    assert isinstance(model.open_prompts(rows=2, width=3, max_length=96), OpenPrompts)
    with pytest.raises(AssertionError):
        model.open_prompts(rows=1, width=1, max_length=97)
