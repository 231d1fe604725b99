import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.half_precision import half_weights, is_adam, lost_share
from trimtab.checks.place import Place
from trimtab.checks.setting import Setting

PLACE = Place("args.yaml")


def bf16(number):
    bits = struct.unpack("<I", struct.pack("<f", number))[0]
    rounded = bits + 0x7FFF + ((bits >> 16) & 1)
    return struct.unpack("<f", struct.pack("<I", rounded & 0xFFFF0000))[0]


def told(tool="axolotl", keys=(), **concepts):
    return Description(
        tool=tool,
        kind=tool,
        document=Document(path="args.yaml", syntax="yaml", text=""),
        keys={key: Setting(key=key, value=True, place=PLACE) for key in keys},
        concepts={name: Setting(key=name, value=value, place=PLACE) for name, value in concepts.items()},
    )


@for_each("update", [1e-3, 1e-4, 5e-5, 2e-5, 1e-5, 1e-6])
def test_the_share_of_lost_updates_is_what_rounding_of_random_weights_gives(update):
    source = random.Random(1)
    weights = [bf16(source.gauss(0, 0.02)) for _ in range(20_000)]
    lost = sum(bf16(weight + source.choice((-update, update))) == weight for weight in weights) / len(weights)
    assert lost_share(update, "bf16") == pytest.approx(lost, abs=0.02)


@given(st.floats(1e-9, 0.5), st.floats(1e-9, 0.5))
def test_smaller_updates_are_lost_at_least_as_often(one, other):
    small, large = sorted((one, other))
    assert 0 <= lost_share(large, "bf16") <= lost_share(small, "bf16") <= 1


@given(st.floats(1e-9, 0.5))
def test_fp16_loses_less_than_bf16(update):
    assert lost_share(update, "fp16") <= lost_share(update, "bf16")


def test_weights_without_an_fp32_copy_are_told():
    run = told(weights_dtype="bf16", adapter="none")
    assert half_weights(run) == run.setting("weights_dtype")


@for_each(
    "more",
    [
        {"weights_dtype": "fp32"},
        {"adapter": "lora"},
        {"quantization_bits": 4},
        {"deepspeed": True},
        {"zero_stage": 2},
        {"fsdp": 2},
        {"weights_dtype": "auto"},
    ],
)
def test_weights_with_a_copy_or_a_guard_or_of_unknown_dtype_are_not(more):
    assert half_weights(told(**{"weights_dtype": "bf16", "adapter": "none", **more})) is None


def test_an_adapter_that_nobody_excludes_keeps_it_open():
    assert half_weights(told(tool="transformers", weights_dtype="bf16")) is None
    assert half_weights(told(tool="eole", weights_dtype="bf16")) is not None


def test_auto_is_bf16_for_families_that_are_published_so():
    assert half_weights(told(weights_dtype="auto", model_family="qwen3", adapter="none")) is not None
    assert half_weights(told(weights_dtype="auto", model_family="t5", adapter="none")) is None


def test_a_written_sharding_counts_even_where_no_concept_tells_it():
    assert half_weights(told(keys=("fsdp_config",), weights_dtype="bf16", adapter="none")) is None


def test_the_trainer_steps_with_adam_where_nothing_is_said():
    assert is_adam(told(tool="transformers"))
    assert not is_adam(told(tool="axolotl"))
    assert not is_adam(told(tool="transformers", optimizer="sgd"))
