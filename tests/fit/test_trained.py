import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fit.test_native import decoders, numbers, translator
from tests.for_each import for_each
from trimtab.build import freeze
from trimtab.config.adapter import ALL_LINEAR, LoraAdapter
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.encoder_model import EncoderModel
from trimtab.config.model import EncoderDecoderModel
from trimtab.errors import InputError
from trimtab.fit.native import shape_of
from trimtab.fit.trained import names_of, with_adapter, with_frozen
from trimtab.fit.vocabulary import Vocabulary
from trimtab.fit.weight_memory import rounded_block, weight_bytes
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.four_bit import four_bit_maps
from trimtab.model.lora import add_lora
from trimtab.tasks.classification.model import SequenceClassifier


@settings(max_examples=15, deadline=None)
@given(
    decoders(),
    st.integers(1, 9),
    st.one_of(st.just("all_linear"), st.sets(st.sampled_from(ALL_LINEAR), min_size=1).map(tuple)),
    st.booleans(),
    st.sampled_from(["frozen", "train"]),
)
def test_adapters_have_as_many_parameters(model, rank, targets, dora, embeddings):
    adapter = LoraAdapter(rank=rank, targets=targets, dora=dora, embeddings=embeddings)
    real = DecoderOnly(model, num_ids=70, max_positions=64, seed=1)
    if model.activation not in ("swiglu", "geglu") and "gate_proj" in targets:
        return  # refused: there is no such map
    add_lora(real, adapter, seed=1)
    shape = with_adapter(shape_of(model, Vocabulary(70, 70), max_tokens=64), adapter)
    assert shape.parameters == numbers(real)
    assert shape.trained == numbers(real, trained=True)


@pytest.mark.parametrize(
    "changes",
    [{}, {"dora": True, "embeddings": "train"}, {"targets": ("q_proj", "down_proj")}],
    ids=["lora", "dora", "some"],
)
def test_adapters_of_translators_have_as_many_parameters(changes):
    model, adapter = translator(encoder_feed_forward=40), LoraAdapter(rank=3, **changes)
    real = EncoderDecoder(model, num_ids=90, num_source_ids=90, max_positions=128, seed=1)
    add_lora(real, adapter, seed=1)
    shape = with_adapter(shape_of(model, Vocabulary(90, 90), max_tokens=100), adapter)
    assert shape.parameters == numbers(real)
    assert shape.trained == numbers(real, trained=True)


@pytest.mark.parametrize("kind", ["decoder", pytest.param("translator", marks=pytest.mark.slow)])
def test_matrices_in_four_bits_take_the_bytes_of_their_buffers(kind):
    adapter = LoraAdapter(rank=3, quantize_base="nf4", targets=("q_proj", "v_proj"))
    if kind == "decoder":
        model = DecoderModel(
            dim=48, heads=3, kv_heads=1, layers=2, feed_forward=1000, activation="swiglu", bias="qkv"
        )
        real = DecoderOnly(model, num_ids=70, max_positions=64, seed=1)
    else:
        model = translator(encoder_feed_forward=40)
        real = EncoderDecoder(model, num_ids=70, num_source_ids=70, max_positions=64, seed=1)
    add_lora(real, adapter, seed=1)
    weights = with_adapter(shape_of(model, Vocabulary(70, 70), max_tokens=64), adapter).weights
    packed = [buffer for each in four_bit_maps(real) for buffer in each.buffers()]
    assert sum(weight_bytes(each, 2) for each in weights if each.packed_rows) == sum(
        rounded_block(buffer.nbytes) for buffer in packed
    )
    assert sum(each.numbers for each in weights if not each.packed_rows) == numbers(real)


@for_each(
    "patterns",
    [
        ["embedding.weight"],
        ["encoder.*"],
        ["encoder.blocks.[0-1].*", "decoder.blocks.2.cross.*", "*.bias"],
        ["*norm*", "source_positions*"],
    ],
)
def test_what_a_recipe_freezes_is_what_the_run_freezes(patterns):
    model = EncoderDecoderModel(
        dim=16, heads=2, layers=3, feed_forward=24, positions="learned", tie_embeddings="none"
    )
    real = EncoderDecoder(model, num_ids=90, num_source_ids=90, max_positions=128, seed=1)
    freeze(real, patterns)
    shape = with_frozen(shape_of(model, Vocabulary(90, 90), max_tokens=100), patterns)
    assert shape.parameters == numbers(real)
    assert shape.trained == numbers(real, trained=True)


@pytest.mark.parametrize("kind", ["decoder", "classifier"])
def test_weights_have_the_names_of_the_model(kind):
    if kind == "decoder":
        model = DecoderModel(
            dim=16, heads=2, layers=2, feed_forward=24, qk_norm=True, positions="learned", norm="layer",
            tie_embeddings=False, bias=True,
        )  # fmt: skip
        real = DecoderOnly(model, num_ids=70, max_positions=64, seed=1)
    else:
        model = EncoderModel(preset="tiny", positions="learned")
        real = SequenceClassifier(model, num_labels=5, num_pieces=70, max_positions=64, seed=1)
    shape = shape_of(model, Vocabulary(70, 70, labels=5), max_tokens=64)
    assert {name for each in shape.weights for name in names_of(each)} == set(dict(real.named_parameters()))


def test_a_pattern_that_matches_nothing_is_told():
    with pytest.raises(InputError, match="no weight of the model"):
        with_frozen(shape_of(translator(), Vocabulary(90, 90), max_tokens=100), ["layers.0.*"])
