import pytest

from tests.checks.written import run_of
from tests.for_each import for_each
from trimtab.checks.edits import RenameKey
from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.rules.c101_unknown_key import check

KEYS = {
    name: Key(name=name)
    for name in ("learning_rate", "weight_decay", "datasets", "datasets.*.path", "datasets.*.type", "plugins")
} | {
    "data": Key(name="data"),
    "data.*.path_src": Key(name="data.*.path_src"),
    "kwargs": Key(name="kwargs", open=True),
    "kwargs.use_reentrant": Key(name="kwargs.use_reentrant"),
    "free": Key(name="free", open=True),
}


def found(keys, unknown_keys="refused", tool="axolotl"):
    table = KeyTable(tool=tool, version="1", source="its source", keys=KEYS, unknown_keys=unknown_keys)
    return list(check(run_of(tool=tool, keys=keys, table=table)))


@pytest.mark.parametrize("unknown_keys", ["refused", "dropped"])
def test_an_unknown_key_is_an_error_with_what_the_tool_does(unknown_keys):
    (one,) = found({"learning_rate": 1, "weight_deacy": 0.1}, unknown_keys)
    assert one.finding.severity == "error"
    assert "did you mean `weight_decay`?" in one.finding.message
    assert one.edits == (RenameKey("weight_deacy", "weight_decay"),)


def test_keys_that_are_kept_are_reported_only_where_they_are_nearly_known():
    assert found({"my_own": 1}, "kept") == []
    (one,) = found({"weight_deacy": 1}, "kept")
    assert one.finding.severity == "warning"


@for_each(
    "keys",
    [
        {"datasets": [], "datasets.0": {}, "datasets.0.path": "x"},
        {"data": {}, "data.corpus_1": {}, "data.corpus_1.path_src": "x"},
        {"free": {}, "free.anything": 1},
        {"kwargs.entirely_else": 1},
        {"learning_rate.deep": 1},
    ],
)
def test_names_of_the_users_choice_and_open_mappings_are_left_in_peace(keys):
    assert found(keys) == []


def test_a_slip_in_a_nested_place_is_found():
    (one,) = found({"datasets.0.pth": "x"})
    assert "`path`" in one.finding.message
    (one,) = found({"kwargs": {}, "kwargs.use_reentrent": False})
    assert one.finding.severity == "warning"


def test_only_the_outermost_unknown_key_is_reported():
    (one,) = found({"strange": {}, "strange.inner": 1, "strange.inner.more": 2})
    assert one.key == "strange"


def test_an_empty_key_that_is_dropped_is_worth_a_note():
    (one,) = found({"gptq_groupsize": None}, "dropped")
    assert one.finding.severity == "note"


def test_a_plug_in_of_others_may_bring_keys():
    assert found({"plugins": ["mine.Plugin"], "mine": 1}, "dropped") == []
    assert len(found({"plugins": ["axolotl.integrations.liger.LigerPlugin"], "mine": 1}, "dropped")) == 1


def test_without_a_table_nobody_knows():
    assert list(check(run_of(keys={"anything": 1}))) == []


def test_what_stands_in_an_unknown_key_is_not_told_wherever_it_is_written():
    keys = {
        "strange": {},
        "learning_rate": 1,
        "strange.inner": 1,
        "other": {},
        "strange.inner.more": 2,
        "strangely": 1,
    }
    assert [each.key for each in found(keys)] == ["strange", "other", "strangely"]


@for_each("key", ["_comment", "//", "#note", "comment"])
def test_a_comment_written_as_a_key_is_left_in_peace_where_it_does_no_harm(key):
    assert found({key: "why", f"{key}.more": 1}, "dropped") == []
    assert len(found({key: "why"}, "refused")) == 1


def test_what_is_dropped_but_happens_anyway_is_worth_a_note():
    keys = {"fsdp_config.fsdp_sharding_strategy": "FULL_SHARD", "fsdp_config.limit_all_gathers": True}
    table = KeyTable(
        tool="axolotl",
        version="1",
        source="its source",
        keys={"fsdp_config": Key(name="fsdp_config"), "fsdp_config.offload_params": Key(name="x")},
        unknown_keys="dropped",
    )
    severities = [each.finding.severity for each in check(run_of(tool="axolotl", keys=keys, table=table))]
    assert severities == ["note", "note"]
    other = {"fsdp_config.fsdp_sharding_strategy": "SHARD_GRAD_OP"}
    (one,) = check(run_of(tool="axolotl", keys=other, table=table))
    assert one.finding.severity == "warning"
    assert "anyway" not in one.finding.message


ZERO = {
    name: Key(name=name) for name in ("zero_optimization", "zero_optimization.stage", "bf16", "bf16.enabled")
}


def of_deepspeed(keys, versions=None):
    table = KeyTable(tool="deepspeed", version="1", source="its source", keys=ZERO, unknown_keys="dropped")
    return [one.finding for one in check(run_of(tool="deepspeed", keys=keys, table=table, versions=versions))]


def test_a_block_of_deepspeed_refuses_what_the_rest_of_the_file_drops():
    (inside,) = of_deepspeed({"zero_optimization.entirely_else": 1})
    (outside,) = of_deepspeed({"entirely_else": 1})
    assert (inside.severity, outside.severity) == ("error", "warning")
    assert "refuses to start" in inside.message
    assert "drops it" in outside.message


def test_a_value_of_auto_is_taken_out_before_the_block_is_read():
    (one,) = of_deepspeed({"zero_optimization.entirely_else": "auto"})
    assert "drops it" in one.message


@pytest.mark.parametrize(
    ("versions", "severity"),
    [({"deepspeed": (0, 17, 1)}, "error"), ({"deepspeed": (0, 17, 0)}, "warning"), (None, "warning")],
)
def test_the_half_precision_blocks_refuse_from_a_version_on(versions, severity):
    (one,) = of_deepspeed({"bf16.loss_scale": 0}, versions)
    assert one.severity == severity
