from trimtab.config.decoder_model import DecoderModel
from trimtab.fit.native import shape_of
from trimtab.fit.shape import Weights
from trimtab.fit.trained import with_frozen
from trimtab.fit.vocabulary import Vocabulary


def test_numbers_are_those_of_all_tensors_of_a_shape():
    weights = Weights("attention.out.weight", (3, 5), "matrix", count=4)
    assert (weights.each, weights.numbers, weights.is_linear) == (15, 60, True)
    assert not Weights("norm.weight", (3,), "vector").is_linear
    assert Weights("up.bias", (3,), "vector").is_linear


def test_frozen_weights_are_counted_and_not_trained():
    shape = shape_of(DecoderModel(preset="tiny"), Vocabulary(100, 100), max_tokens=64)
    assert shape.count(["embedding"]) == 128 * 192
    assert shape.count(["matrix"], trained=False) == 0
    embedding, *rest = with_frozen(shape, ["embedding.weight"]).weights
    assert not embedding.trained
    assert all(each.trained for each in rest)
