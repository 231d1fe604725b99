import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fit.planning import pairs_recipe, text_recipe
from tests.modular_run import MODEL as MODULAR
from trimtab.build import freeze
from trimtab.config.decoder_model import DECODER_PRESETS, DecoderModel
from trimtab.config.encoder_model import EncoderModel
from trimtab.config.model import ENCODER_DECODER_PRESETS, EncoderDecoderModel
from trimtab.config.modular_model import ModularModel
from trimtab.errors import InputError
from trimtab.fit.native import native_shape, shape_of
from trimtab.fit.trained import with_frozen
from trimtab.fit.vocabulary import Vocabulary
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.modular.modular import Modular
from trimtab.tasks.classification.model import SequenceClassifier


def numbers(model, *, trained=None):
    return sum(weight.numel() for weight in model.parameters() if trained in (None, weight.requires_grad))


def without_values(monkeypatch):
    """First weights take longer than everything else, and their number is what counts."""
    for name in ("decoder_only.init_decoder", "encoder_decoder.init_weights"):
        monkeypatch.setattr(f"trimtab.model.{name}", lambda *_, **__: None)


@st.composite
def decoders(draw):
    heads = draw(st.sampled_from([2, 4]))
    activation = draw(st.sampled_from(["relu", "gelu", "swiglu"]))
    return DecoderModel(
        dim=8 * heads,
        heads=heads,
        kv_heads=draw(st.sampled_from([None, 1, 2])),
        head_size=draw(st.sampled_from([None, 6])),
        layers=draw(st.integers(1, 3)),
        feed_forward=draw(st.sampled_from([24, 40])),
        norm=draw(st.sampled_from(["layer", "rms"])),
        norm_position=draw(st.sampled_from(["before", "after"])),
        activation=activation,
        bias=draw(st.sampled_from([True, False, "qkv"])),
        qk_norm=draw(st.booleans()),
        positions=draw(st.sampled_from(["rotary", "learned", "sinusoidal", "alibi", "none"])),
        tie_embeddings=draw(st.booleans()),
    )


@settings(max_examples=15, deadline=None)
@given(decoders(), st.integers(5, 200), st.integers(2, 100))
def test_decoders_have_as_many_parameters(model, num_ids, max_tokens):
    shape = shape_of(model, Vocabulary(num_ids, num_ids), max_tokens=max_tokens)
    positions = -(-max_tokens // 64) * 64
    real = DecoderOnly(model, num_ids=num_ids, max_positions=positions, seed=1)
    assert shape.parameters == numbers(real)
    assert sum(stack.layers for stack in shape.stacks) == len(real.blocks)
    assert shape.rows == len(real.output_matrix)
    assert shape.buffers in (0, sum(each.nbytes for each in real.buffers()))


def translator(**changes):
    sizes = {"dim": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 2, "feed_forward": 24}
    return EncoderDecoderModel(**sizes, **changes)


@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from([2, 4]),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([None, 1, 2]),
    st.sampled_from(["all", "decoder", "none"]),
    st.sampled_from(["sinusoidal", "learned", "rotary"]),
    st.sampled_from(["before", "after"]),
    st.booleans(),
)
def test_translators_have_as_many_parameters(heads, above, below, kept, tied, positions, norm, bias):
    model = EncoderDecoderModel(
        dim=8 * heads,
        heads=heads,
        encoder_layers=above,
        decoder_layers=below,
        kv_heads=kept,
        feed_forward=24,
        encoder_feed_forward=40,
        tie_embeddings=tied,
        positions=positions,
        norm_position=norm,
        norm="rms" if bias else "layer",
        bias=bias,
    )
    source = 90 if tied == "all" else 150
    shape = shape_of(model, Vocabulary(source, 90), max_tokens=100)
    real = EncoderDecoder(model, num_ids=90, num_source_ids=source, max_positions=128, seed=1)
    assert shape.parameters == numbers(real)


def some(presets):
    """The smallest, and all others in the slow suite."""
    first, *others = presets
    return [first, *(pytest.param(each, marks=pytest.mark.slow) for each in others)]


@pytest.mark.parametrize("preset", some(DECODER_PRESETS))
def test_presets_of_decoders(preset, monkeypatch):
    without_values(monkeypatch)
    model = DecoderModel(preset=preset)
    with torch.device("meta"):
        real = DecoderOnly(model, num_ids=32000, max_positions=512, seed=1)
    assert shape_of(model, Vocabulary(32000, 32000), max_tokens=512).parameters == numbers(real)


@pytest.mark.parametrize("preset", some(ENCODER_DECODER_PRESETS))
def test_presets_of_translators(preset, monkeypatch):
    without_values(monkeypatch)
    model = EncoderDecoderModel(preset=preset)
    with torch.device("meta"):
        real = EncoderDecoder(model, num_ids=16000, max_positions=128, seed=1)
    assert shape_of(model, Vocabulary(16000, 16000), max_tokens=128).parameters == numbers(real)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_classifiers_have_as_many_parameters(positions):
    model = EncoderModel(preset="tiny", positions=positions)
    real = SequenceClassifier(model, num_labels=5, num_pieces=300, max_positions=64, seed=1)
    assert shape_of(model, Vocabulary(300, 300, labels=5), max_tokens=50).parameters == numbers(real)


def test_a_recipe_gives_the_sizes_of_its_vocabulary():
    recipe = text_recipe(data__tokenizer={"kind": "sentencepiece", "vocabulary_size": 1000})
    assert native_shape(recipe, Vocabulary(1000, 1000)).rows == 1024
    assert native_shape(pairs_recipe(), Vocabulary(16000, 16000)).shares_source


@pytest.mark.parametrize(
    "changes", [{}, {"embeddings": "language"}, {"tie_embeddings": "none", "norm": "rms"}]
)
def test_modular_models_have_as_many_parameters(changes):
    model = ModularModel.model_validate({**MODULAR, **changes})
    shape = shape_of(model, Vocabulary(90, 90), max_tokens=40)
    real = Modular(model, num_ids=90, max_positions=64, seed=1)
    assert shape.parameters == numbers(real)
    assert [stack.layers for stack in shape.stacks] == [2, 1]
    frozen = with_frozen(shape, ["encoder.*", "decoder.de.*"])
    freeze(real, ("encoder.*", "decoder.de.*"))
    assert frozen.trained == numbers(real, trained=True)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"positions": "sinusoidal+shaw"}, "positions: shaw"),
        ({"norm_position": "none", "rezero": True}, "norm_position: none and rezero: true"),
        ({"experts": {"count": 4}, "registers": 2}, "experts and registers"),
        ({"encoder_mix": "linear"}, "encoder_mix"),
    ],
    ids=str,
)
def test_parts_whose_memory_was_not_measured_are_refused_by_name(changes, named):
    model = EncoderDecoderModel(preset="tiny", **changes)
    with pytest.raises(InputError) as raised:
        shape_of(model, Vocabulary(1000, 1000), max_tokens=64)
    (problem,) = raised.value.problems
    assert {*problem.got.split(" and ")} == {*named.split(" and ")}


def test_combined_positions_are_counted_each():
    model = EncoderDecoderModel(preset="tiny", positions="learned+t5")
    built = EncoderDecoder(model, num_ids=1000, max_positions=64, seed=1)
    shape = shape_of(model, Vocabulary(1000, 1000), max_tokens=64)
    assert shape.parameters == built.num_parameters()


def test_a_setting_that_the_planner_does_not_read_is_refused_by_name_unless_it_has_its_default():
    class Newer(DecoderModel):
        memory_tokens: int = 0

    vocabulary = Vocabulary(100, 100)
    plain, newer = Newer(preset="tiny"), Newer(preset="tiny", memory_tokens=4)
    assert shape_of(plain, vocabulary, max_tokens=64) == shape_of(
        DecoderModel(preset="tiny"), vocabulary, max_tokens=64
    )
    with pytest.raises(InputError, match="memory_tokens"):
        shape_of(newer, vocabulary, max_tokens=64)
