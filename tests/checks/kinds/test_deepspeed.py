import json

import hypothesis
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.checks.kinds.describing import check, describe, document, values
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.deepspeed import KIND
from trimtab.checks.kinds.kind import Surroundings

WHOLE = {
    "train_micro_batch_size_per_gpu": 1,
    "gradient_accumulation_steps": 8,
    "optimizer": {
        "type": "Adam",
        "params": {"lr": 1e-5, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1},
    },
    "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_num_steps": 10, "total_num_steps": 1000}},
    "gradient_clipping": 1.0,
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}},
}


def told(config):
    return describe(KIND, json.dumps(config), file="ds_config.json")


def test_a_whole_configuration_is_told():
    run = told(WHOLE)
    assert values(run, "zero_stage", "offload", "autocast", "clip") == (3, True, "bf16", 1.0)
    assert values(run, "micro_batch", "accumulation", "learning_rate", "beta2") == (1, 8, 1e-5, 0.95)
    assert values(run, "schedule", "warmup_steps", "steps") == ("linear", 10, 1000)
    assert run.setting("beta2").key == "optimizer.params.betas"


@pytest.mark.parametrize(("params", "kind"), [({}, "adamw"), ({"adam_w_mode": False}, "adam")])
def test_adam_decouples_its_weight_decay_unless_told_otherwise(params, kind):
    config = {**WHOLE, "optimizer": {"type": "Adam", "params": params}}
    assert told(config).value("optimizer") == kind


def test_auto_stays_unknown():
    auto = {
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_clipping": "auto",
        "fp16": {"enabled": "auto"},
        "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "auto"}},
    }
    assert values(told(auto), "micro_batch", "clip", "autocast", "offload") == (None, None, None, None)


def test_without_offload_it_is_told_that_there_is_none():
    assert told({"zero_optimization": {"stage": 2}}).value("offload") is False


@hypothesis.settings(
    suppress_health_check=[HealthCheck.too_slow], deadline=None
)  # nested values take a while
@given(
    st.dictionaries(
        st.sampled_from(sorted(key for key in load_table("deepspeed").keys if "." not in key)),
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.just("auto"), st.text(max_size=3)),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["enabled", "stage", "type", "params", "betas", "device"]), inner
                )
            ),
            max_leaves=5,
        ),
        max_size=6,
    )
)
def test_values_of_any_type_never_raise(settings):
    read = document("ds.json", json.dumps(settings))
    for run in KIND.describe(read, Surroundings()):
        check(run)
