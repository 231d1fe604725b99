"""Rules about learning rates and their schedules: what must keep them silent, and numbers that they tell."""

import pytest

from tests.checks.rules.described_runs import call, found, script, severities
from tests.checks.written import setting
from tests.for_each import for_each
from trimtab.checks.rules import (
    s101_no_warmup,
    s102_schedule_of_another_length,
    s103_decay_after_the_end,
    s105_noam_peak,
    s106_rate_starts_at_its_peak,
    s107_warmup_ignored,
    s108_lora_rate_low,
    s109_full_rate_high,
    s110_rate_high_for_size,
    s135_share_read_as_steps,
)
from trimtab.checks.rules.s110_rate_high_for_size import usual_rate

SCRATCH = {
    "optimizer": "adamw",
    "from_scratch": True,
    "learning_rate": 5e-4,
    "schedule": "linear",
    "warmup_steps": 0,
}


@for_each(
    ("change", "told"),
    [
        ({"norm_placement": "post"}, ["warning"]),
        ({}, ["note"]),
        ({"norm_placement": "pre"}, []),
        ({"norm_placement": "pre", "learning_rate": 1e-3}, ["note"]),
        ({"learning_rate": 5e-5}, []),
        ({"from_scratch": False, "norm_placement": "post"}, []),
        ({"warmup_steps": 100}, []),
        ({"warmup_ratio": 0.1}, []),
        ({"optimizer": "sgd"}, []),
        ({"schedule": "noam"}, []),
        ({"schedule": "constant", "warmup_steps": 100}, ["note"]),
    ],
)
def test_warm_up_is_missed_from_scratch_by_norm_placement(change, told):
    assert severities(s101_no_warmup, concepts=SCRATCH | change) == told


@pytest.mark.parametrize(("horizon", "told"), [(1000, []), (8000, ["error"]), (5000, ["warning"])])
def test_a_schedule_counted_in_micro_batches_is_an_error(horizon, told):
    schedule = call("get_linear_schedule_with_warmup", num_training_steps=horizon)
    run = script(schedule, concepts={"steps": 1000, "accumulation": 8})
    assert [each.finding.severity for each in s102_schedule_of_another_length.check(run)] == told


def test_the_decay_of_other_methods_begins_elsewhere():
    keys = {"learning_rate_decay": 0.5, "decay_method": "noam"}
    assert found(s103_decay_after_the_end, tool="opennmt", keys=keys, concepts={"steps": 1000}) == []
    assert (
        len(
            found(s103_decay_after_the_end, tool="opennmt", keys={"decay_steps": 5}, concepts={"steps": 1000})
        )
        == 1
    )
    assert (
        found(s103_decay_after_the_end, tool="opennmt", keys={"decay_steps": 5}, concepts={"steps": 60000})
        == []
    )


def test_a_decay_by_a_factor_of_one_is_no_decay():
    keys = {"learning_rate_decay": 1, "start_decay_steps": 1_000_000}
    assert found(s103_decay_after_the_end, tool="opennmt", keys=keys, concepts={"steps": 1000}) == []
    keys = {"learning_rate_decay": 0.5, "start_decay_steps": 1_000_000}
    assert len(found(s103_decay_after_the_end, tool="opennmt", keys=keys, concepts={"steps": 1000})) == 1


@for_each(("factor", "count"), [(2.0, 0), (1.0, 0), (0.0003, 1), (1000.0, 1), (0.0, 0)])
def test_the_peak_of_noam_is_calculated(factor, count):
    concepts = {"schedule": "noam", "learning_rate": factor, "hidden_size": 512, "warmup_steps": 8000}
    told = found(s105_noam_peak, tool="opennmt", concepts=concepts)
    assert len(told) == count
    if factor == 0.0003:
        assert "1.5e-07" in told[0].finding.message


def test_the_plateau_of_rsqrt_is_calculated():
    concepts = {"schedule": "rsqrt", "learning_rate": 0.05}
    (one,) = found(s106_rate_starts_at_its_peak, tool="eole", concepts=concepts)
    assert "0.05 / sqrt(4000) = 0.00079" in one.finding.message


@for_each(
    ("tool", "keys", "schedule", "count"),
    [
        ("transformers", {"warmup_ratio": 0.03}, "constant", 1),
        ("axolotl", {"warmup_steps": 10}, "constant", 1),
        ("transformers", {"warmup_steps": 0}, "constant", 0),
        ("transformers", {"warmup_steps": 10}, "constant_with_warmup", 0),
        ("opennmt", {"warmup_steps": 8000}, "none", 1),
        ("opennmt", {"warmup_steps": 1}, "none", 0),
        ("opennmt", {}, "none", 0),
        ("eole", {"training.warmup_steps": 8000}, "none", 1),
        ("mammoth", {"warmup_steps": 8000}, "linear", 0),
    ],
)
def test_a_warm_up_that_the_schedule_has_not_is_told(tool, keys, schedule, count):
    assert len(found(s107_warmup_ignored, tool=tool, keys=keys, concepts={"schedule": schedule})) == count


@for_each(
    ("change", "count"),
    [
        ({}, 1),
        ({"learning_rate": 1e-4}, 0),
        ({"adapter": "none"}, 0),
        ({"task": "preference"}, 0),
        ({"optimizer": "lion"}, 0),
    ],
)
def test_a_low_rate_of_lora_is_a_note_except_for_preferences(change, count):
    concepts = {"adapter": "qlora", "optimizer": "adamw", "learning_rate": 1e-5} | change
    assert severities(s108_lora_rate_low, concepts=concepts) == ["note"] * count


def test_a_default_rate_is_told_where_the_adapter_stands():
    rate = setting("learning_rate", 2e-5, origin="default")
    concepts = {"adapter": "lora", "optimizer": "adamw", "learning_rate": rate}
    (one,) = found(s108_lora_rate_low, tool="trl", concepts=concepts | {"task": "language_model"})
    assert one.key == "adapter"
    assert found(s108_lora_rate_low, tool="trl", concepts=concepts) == []  # reinforcement, perhaps


@for_each(
    ("change", "count"),
    [({}, 1), ({"learning_rate": 2e-5}, 0), ({"parameters_billion": 1.0}, 0), ({"encoder_decoder": True}, 0),
     ({"adapter": "lora"}, 0), ({"from_scratch": True}, 0)],
)  # fmt: skip
def test_a_high_rate_of_full_training_is_a_note_for_large_decoders(change, count):
    concepts = {
        "adapter": "none",
        "optimizer": "adamw",
        "learning_rate": 2e-4,
        "parameters_billion": 7.0,
    } | change
    assert len(found(s109_full_rate_high, concepts=concepts)) == count


def test_the_usual_rate_falls_with_size_and_meets_the_table():
    assert usual_rate(0.01) == usual_rate(0.16) == 6e-4
    assert usual_rate(6.7) == pytest.approx(1.2e-4)
    assert usual_rate(175.0) == pytest.approx(6e-5)
    assert usual_rate(1000.0) == 6e-5
    assert usual_rate(1.3) == pytest.approx(2.4e-4, rel=0.1)


def test_a_translator_is_not_measured_by_language_models():
    concepts = SCRATCH | {"parameters_billion": 1.0, "learning_rate": 0.01}
    assert found(s110_rate_high_for_size, concepts=concepts) == []
    assert len(found(s110_rate_high_for_size, concepts=concepts | {"encoder_decoder": False})) == 1


@for_each(
    ("keys", "version", "count"),
    [
        ({"warmup_steps": 0.1}, (4, 57), 1),
        ({"warmup_steps": 0.1}, (5, 24), 0),
        ({"warmup_steps": 0.1}, None, 0),
        ({"warmup_steps": 100}, (4, 57), 0),
        ({"warmup_ratio": 500}, None, 1),
        ({"warmup_ratio": 0.1}, None, 0),
    ],
)
def test_a_share_and_a_number_of_steps_are_told_apart(keys, version, count):
    versions = {} if version is None else {"transformers": version}
    assert len(found(s135_share_read_as_steps, keys=keys, versions=versions)) == count


def test_a_warm_up_that_is_ignored_is_found_in_a_script_too():
    keys = {"SFTConfig.warmup_ratio": 0.03, "SFTConfig.lr_scheduler_type": "constant"}
    concepts = {"schedule": setting("SFTConfig.lr_scheduler_type", "constant")}
    (one,) = found(s107_warmup_ignored, tool="trl", keys=keys, concepts=concepts, syntax="python")
    assert one.key == "SFTConfig.warmup_ratio"
