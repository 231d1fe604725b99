from trimtab.config.x_transformers_model import XTransformersModel


def test_options_of_a_stack_come_before_those_of_both_and_before_the_dropout_of_the_recipe():
    model = XTransformersModel(
        dim=32,
        heads=2,
        layers=1,
        encoder_layers=2,
        dropout=0.1,
        options={"ff_glu": True, "emb_dropout": 0.2},
        encoder_options={"ff_glu": False},
        decoder_options={"shift_tokens": 1},
    )
    of_encoder, of_decoder = (model.options_of(encoder=each) for each in (True, False))
    dropouts = {"attn_sublayer_dropout": 0.1, "ff_sublayer_dropout": 0.1, "emb_dropout": 0.2}
    assert of_encoder == {**dropouts, "ff_glu": False}
    assert of_decoder == {**dropouts, "ff_glu": True, "shift_tokens": 1}
    assert model.has_encoder


def test_values_keep_their_types_and_a_list_becomes_a_tuple():
    model = XTransformersModel(
        dim=32, heads=2, layers=1, options={"a": True, "b": 1, "c": 1.0, "d": "x", "e": [1, 2]}
    )
    assert list(map(type, model.options.values())) == [bool, int, float, str, tuple]
    assert not model.has_encoder
