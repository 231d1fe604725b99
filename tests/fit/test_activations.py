import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fit.saved_bytes import TOKENS, as_on_cuda, decoder_layer, saved_bytes, translator_layers
from trimtab.config.adapter import LoraAdapter
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.model import EncoderDecoderModel
from trimtab.fit.activations import Program, of_layer, of_source
from trimtab.fit.native import shape_of
from trimtab.fit.trained import with_adapter
from trimtab.fit.vocabulary import Vocabulary

WORDS = Vocabulary(100, 100)
SIZES = {"dim": 48, "heads": 3, "kv_heads": 1, "head_size": 20, "layers": 1, "feed_forward": 104}


def decoder(**changes):
    return DecoderModel(**{**SIZES, **changes})


def planned_decoder(model, how):
    (stack,) = shape_of(model, WORDS, max_tokens=64).stacks
    return of_layer(stack.layer, how).total() * TOKENS


def counted_decoder(model, how):
    with as_on_cuda(how):
        layer, run, angles = decoder_layer(model, how)
        of_tokens, rest = saved_bytes(layer, run)
    return of_tokens - angles, rest, layer


decoders = st.builds(
    decoder,
    kv_heads=st.sampled_from([1, 3]),
    qk_norm=st.booleans(),
    dropout=st.sampled_from([0.0, 0.1]),
    norm=st.sampled_from(["layer", "rms"]),
    norm_position=st.sampled_from(["before", "after"]),
    activation=st.sampled_from(["relu", "gelu", "silu", "swiglu", "geglu"]),
    bias=st.sampled_from([False, True, "qkv"]),
    positions=st.sampled_from(["rotary", "learned"]),
    residual=st.sampled_from(["half", "float32"]),
)
programs = st.builds(
    Program,
    precision=st.sampled_from(["bf16_mixed", "fp16_mixed", "bf16"]),
    compiled=st.just(False),
    repeats_keys=st.booleans(),
    casts_rms_norm=st.booleans(),
)


@settings(max_examples=5, deadline=None)
@given(decoders, programs)
def test_saved_bytes_of_plain_decoder_layers_are_those_of_the_formula(model, how):
    counted, _, _ = counted_decoder(model, how)
    assert counted == planned_decoder(model, how)


@pytest.mark.parametrize("kv_heads", [1, 3])
def test_full_documents_as_rows_keep_the_output_and_repeated_keys_of_the_rest_once_more(kv_heads):
    model = decoder(kv_heads=kv_heads, positions="rotary")
    how = Program("bf16_mixed", compiled=False, repeats_keys=True, beside_rows=60 / TOKENS)
    counted, parts, layer = counted_decoder(model, how)  # tensors of a part have no row for each token
    parts -= 2 * sum(weight.numel() for weight in layer.parameters() if weight.ndim == 2)
    assert counted + parts == pytest.approx(planned_decoder(model, how), abs=TOKENS)


def test_plain_layers_copy_each_matrix_in_half_precision_once():
    how = Program("bf16_mixed", compiled=False)
    _, rest, layer = counted_decoder(decoder(), how)
    assert rest == 2 * sum(weight.numel() for weight in layer.parameters() if weight.ndim == 2)


@settings(max_examples=3, deadline=None)
@given(
    st.sampled_from([0.0, 0.1]),
    st.sampled_from(["layer", "rms"]),
    st.sampled_from(["before", "after"]),
    st.sampled_from(["relu", "swiglu"]),
    st.sampled_from([1, 3]),
    st.booleans(),
)
def test_saved_bytes_of_plain_translators_are_those_of_the_formula(
    dropout, norm, position, activation, kv_heads, repeats
):
    model = translator(
        dropout=dropout, norm=norm, norm_position=position, activation=activation, kv_heads=kv_heads
    )
    how = Program("bf16_mixed", compiled=False, repeats_keys=repeats)
    with as_on_cuda(how):
        counted = [saved_bytes(*each)[0] for each in translator_layers(model, how)]
    assert tuple(counted) == planned_translator(model, how)


def translator(**changes):
    return EncoderDecoderModel(**{"dim": 48, "heads": 3, "layers": 1, "feed_forward": 104, **changes})


def planned_translator(model, how):
    encoder, own = shape_of(model, WORDS, max_tokens=64).stacks
    of_decoder = of_layer(own.layer, how).total() + of_source(own.layer, how)
    return of_layer(encoder.layer, how).total() * TOKENS, of_decoder * TOKENS


@pytest.mark.parametrize(
    ("targets", "dora"),
    [
        ("all_linear", False),
        pytest.param("all_linear", True, marks=pytest.mark.slow),
        pytest.param(("q_proj", "v_proj"), False, marks=pytest.mark.slow),
        (("q_proj", "v_proj"), True),
        pytest.param(("up_proj",), False, marks=pytest.mark.slow),
        (("down_proj", "o_proj"), True),
    ],
)
def test_a_frozen_map_without_an_adapter_keeps_nothing_of_what_enters_it(targets, dora):
    from trimtab.model.block import DecoderBlock
    from trimtab.model.lora import LoraLinear, fused_maps

    model, how = decoder(), Program("bf16_mixed", compiled=False)
    adapter = LoraAdapter(rank=4, targets=targets, dora=dora)
    (stack,) = with_adapter(shape_of(model, WORDS, max_tokens=64), adapter).stacks
    with as_on_cuda(how):
        layer, run, angles = decoder_layer(model, how)
        assert isinstance(layer, DecoderBlock)
        for weight in layer.parameters():
            weight.requires_grad = False
            if weight.ndim == 2:
                weight.data = weight.data.bfloat16()
        for owner, name, parts in [*fused_maps(layer)]:
            chosen = tuple(part._replace(adapted=part.name in adapter.names) for part in parts)
            if any(part.adapted for part in chosen):
                setattr(owner, name, LoraLinear(getattr(owner, name), chosen, rank=4, scale=1.0, dora=dora))
        counted, _ = saved_bytes(layer, run)
    assert counted - angles == of_layer(stack.layer, how).total() * TOKENS


def counted_compiled(*cases):
    """Bytes of tokens and of everything else, one layer after another."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fit.saved_bytes"],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = [each for each in done.stdout.splitlines() if each.startswith("COUNTED ")]
    return json.loads(line.removeprefix("COUNTED "))


def case(model, *, repeats=False):
    kind = "decoder" if isinstance(model, DecoderModel) else "translator"
    return {"kind": kind, "model": model.model_dump(exclude={"kind", "preset"}), "repeats": repeats}


@pytest.mark.slow
def test_a_compiled_layer_keeps_what_the_partition_leaves():
    ((counted, rest),) = counted_compiled(case(decoder()))
    assert counted == planned_decoder(decoder(), Program("bf16_mixed", compiled=True))
    assert rest == 2 * matrices_of(decoder())


def matrices_of(model):
    weights = shape_of(model, WORDS, max_tokens=64).weights
    return sum(each.numbers for each in weights if each.part == "matrix")


CHANGES = [
    {"qk_norm": True},
    {"dropout": 0.1},
    {"norm": "layer", "bias": True},
    {"activation": "gelu"},
    {"activation": "relu"},
    {"positions": "learned"},
    {"norm_position": "after"},
    {"residual": "float32"},
    {"kv_heads": 3},
]


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [False, True])
def test_compiled_decoder_layers_of_every_kind(repeats):
    how = Program("bf16_mixed", compiled=True, repeats_keys=repeats)
    models = [decoder(**changes) for changes in CHANGES]
    counted = counted_compiled(*(case(model, repeats=repeats) for model in models))
    assert [of_tokens for of_tokens, _ in counted] == [planned_decoder(model, how) for model in models]


@pytest.mark.slow
def test_compiled_layers_of_translators():
    how = Program("bf16_mixed", compiled=True)
    models = [
        translator(dropout=dropout, norm_position=position)
        for dropout in (0.0, 0.1)
        for position in ("before", "after")
    ]
    counted = [of_tokens for of_tokens, _ in counted_compiled(*map(case, models))]
    planned = [size for model in models for size in planned_translator(model, how)]
    # The partition keeps one statistic of a norm more or less: 4 bytes of some thousand.
    assert counted == pytest.approx(planned, rel=0.005)
