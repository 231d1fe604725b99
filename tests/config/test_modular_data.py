"""What corpora have from their directions."""

from tests.config.test_modular_model import TREE
from trimtab.config.load import load_recipe
from trimtab.config.modular_data import reversed_name, trained_directions


def test_the_reverse_of_a_direction_exchanges_its_halves() -> None:
    assert reversed_name("en-de", {}) == "de-en"
    assert reversed_name("a-b-c", {}) == "a-b-c"
    written = {"zh-Hans-en": {"source": "zh-Hans", "target": "en"}, "en-zh-Hans": {}}
    assert reversed_name("zh-Hans-en", written) == "en-zh-Hans"


def test_each_opened_corpus_has_its_direction_a_reversed_one_after_its_own() -> None:
    data = load_recipe(TREE).recipe.data
    assert [direction for _, direction, _ in trained_directions(data)] == ["en-de", "de-en", "en-pt", "pt-en"]
