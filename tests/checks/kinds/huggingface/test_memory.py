import pytest

from tests.checks.kinds.describing import words, written
from tests.for_each import for_each
from trimtab.checks.kinds.huggingface.memory import (
    put_compile,
    put_precision,
    put_recomputation,
    put_sharding,
)


def told(put, *more, hidden=(), **settings):
    found = {}
    put(found, written(hidden=hidden, **settings), *more)
    return words(found)


@for_each(
    ("settings", "autocast"),
    [
        ({"fp16": True, "bf16": False}, "fp16"),
        ({"bf16": True}, "bf16"),
        ({"bf16": False, "fp16": False}, "none"),
        ({"bf16": False}, None),
        ({}, None),
    ],
)
def test_autocast_is_told_where_both_switches_are_known(settings, autocast):
    assert told(put_precision, **settings).get("autocast") == autocast


@for_each(
    ("settings", "version", "reentrant"),
    [
        ({}, (5, 0), False),
        ({}, (4, 57), True),
        ({}, None, None),
        ({"gradient_checkpointing_kwargs": None}, (5, 0), False),
        ({"gradient_checkpointing_kwargs": {"x": 1}}, (5, 0), None),
        ({"gradient_checkpointing_kwargs__use_reentrant": True}, (5, 0), True),
    ],
)
def test_the_kind_of_recomputation_is_the_versions_own(settings, version, reentrant):
    found = told(put_recomputation, version, gradient_checkpointing=True, **settings)
    assert found["gradient_checkpointing"] is True
    assert found.get("use_reentrant") == reentrant


def test_hidden_arguments_of_recomputation_leave_it_open():
    hidden = ["gradient_checkpointing_kwargs"]
    assert "use_reentrant" not in told(put_recomputation, (5, 0), hidden=hidden, gradient_checkpointing=True)


@pytest.mark.parametrize(
    ("settings", "compiles"),
    [
        ({"torch_compile": False}, False),
        ({"torch_compile_mode": "default"}, True),
        ({"torch_compile_mode": None}, None),
    ],
)
def test_a_mode_turns_compilation_on(settings, compiles):
    assert told(put_compile, **settings).get("compile") is compiles


@for_each(
    ("settings", "version", "expected"),
    [
        ({"deepspeed": "ds.json"}, None, {"deepspeed": True}),
        ({"deepspeed": None, "fsdp": ""}, None, {}),
        ({"fsdp": "full_shard", "fsdp_config__version": 2}, None, {"fsdp": 2}),
        ({"fsdp": "full_shard"}, (4, 50), {"fsdp": 1}),
        ({"fsdp": "full_shard"}, (5, 20), {"fsdp": 2}),
        ({"fsdp": "full_shard"}, (5, 10), {}),
        ({"fsdp": "full_shard", "fsdp_config": "f.json"}, (5, 20), {}),
    ],
)
def test_sharding_is_told(settings, version, expected):
    assert told(put_sharding, version, **settings) == expected
