import pytest

from tests.checks.written import run_of
from trimtab.checks.model_size import is_tiny_translator, translator_size


def translator(width, layers, **more):
    concepts = {"hidden_size": width, "layers": layers, "from_scratch": True, "encoder_decoder": True, **more}
    return run_of(concepts=concepts)


def test_the_base_model_of_the_transformer_paper_has_its_sixty_million_parameters():
    # Vaswani 2017, table 3: 65 million with 37,000 tokens.
    assert translator_size(translator(512, 6, vocab_size=37000)) == pytest.approx(63e6, rel=0.01)


def test_tiny_ends_below_the_big_model():
    assert is_tiny_translator(translator(512, 6))
    assert not is_tiny_translator(translator(1024, 6))
    assert not is_tiny_translator(translator(512, 6, from_scratch=False))
    assert not is_tiny_translator(translator(512, 6, encoder_decoder=False))


@pytest.mark.parametrize(("width", "layers"), [(0, 6), (512, -1), (10**199, 6)])
def test_sizes_that_no_model_has_are_unknown(width, layers):
    assert translator_size(translator(width, layers)) is None
