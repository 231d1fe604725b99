import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.kinds.describing import check, describe, document, values
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.accelerate import KIND
from trimtab.checks.kinds.kind import Surroundings

PLAIN = "compute_environment: LOCAL_MACHINE\nmixed_precision: 'bf16'\nnum_processes: 8\n"


def told(text, beside=()):
    return describe(KIND, text, file="accelerate.yaml", beside=beside)


def test_processes_and_precision_are_told():
    run = told(PLAIN + "distributed_type: MULTI_GPU\n")
    assert values(run, "devices", "autocast", "deepspeed", "fsdp") == (8, "bf16", None, None)


def test_without_distribution_one_process_runs_whatever_the_number_says():
    assert told(PLAIN + 'distributed_type: "NO"\n').value("devices") == 1


def test_processes_that_share_a_batch_are_not_counted_twice():
    parallel = "parallelism_config:\n  parallelism_config_tp_size: 2\n  parallelism_config_cp_size: 2\n"
    assert told(PLAIN + "distributed_type: FSDP\n" + parallel).value("devices") == 2


def test_deepspeed_without_a_file_has_accelerates_defaults():
    run = told(PLAIN + "distributed_type: DEEPSPEED\ndeepspeed_config:\n  offload_optimizer_device: cpu\n")
    assert values(run, "deepspeed", "zero_stage", "offload") == (True, 2, True)


def test_deepspeed_with_a_file_beside_is_what_the_file_says():
    run = told(
        PLAIN + "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n",
        beside=[("ds.json", '{"zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 4}')],
    )
    assert values(run, "zero_stage", "micro_batch", "offload") == (1, 4, False)


@pytest.mark.parametrize(("version", "expected"), [("1", 1), ("2", 2), ("'2'", 2)])
def test_fsdp_has_its_version(version, expected):
    run = told(PLAIN + f"distributed_type: FSDP\nfsdp_config:\n  fsdp_version: {version}\n")
    assert run.value("fsdp") == expected


def test_fp8_is_no_autocast():
    run = told("distributed_type: 'NO'\nmixed_precision: fp8\n")
    assert values(run, "fp8", "autocast") == (True, None)


@given(
    st.dictionaries(
        st.sampled_from(sorted(load_table("accelerate").keys)),
        st.sampled_from(
            ["DEEPSPEED", "FSDP", "NO", "no", "1", "-1", "[]", "{}", "true", "1.5", "null", "'x'"]
        ),
        max_size=8,
    )
)
def test_values_of_any_type_never_raise(settings):
    flat = {key: value for key, value in settings.items() if "." not in key}
    nested = "".join(
        f"  {key.rpartition('.')[2]}: {value}\n" for key, value in settings.items() if "." in key
    )
    text = "".join(f"{key}: {value}\n" for key, value in flat.items() if key != "fsdp_config")
    text += f"fsdp_config:\n{nested}" if nested else "debug_: 1\n"
    for run in KIND.describe(document("a.yaml", text), Surroundings()):
        check(run)
