import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import VALUES, names_for, settle, told, unknown_keys
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.llamafactory import KIND

WHOLE = """
model_name_or_path: meta-llama/Llama-2-7b-hf
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
dataset: identity,alpaca_en_demo
template: llama2
cutoff_len: 2048
output_dir: out
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1e-4
num_train_epochs: 3.0
bf16: true
"""


def test_a_whole_file_is_told():
    run = told(KIND, WHOLE)
    assert values(run, "model_family", "task", "adapter", "lora_alpha") == (
        "llama",
        "language_model",
        "lora",
        16.0,
    )
    assert values(run, "micro_batch", "accumulation", "epochs", "sequence_length") == (1, 8, 3.0, 2048)
    assert values(run, "autocast", "weights_dtype", "from_scratch") == ("bf16", "fp32", False)
    assert run.value("corpora") == ["identity", "alpaca_en_demo"]
    assert unknown_keys(run) == []


def test_1e_4_is_a_number_to_omegaconf():
    setting = told(KIND, WHOLE).setting("learning_rate")
    assert (setting.value, setting.parsed) == (1e-4, 1e-4)


def test_without_do_train_nothing_is_told_of_training():
    run = told(KIND, WHOLE.replace("do_train", "do_predict"))
    assert values(run, "model_family", "learning_rate", "gradient_checkpointing") == ("llama", None, None)


def test_keys_that_it_does_not_know_are_refused_unless_megatron_may_read_them():
    run = told(KIND, WHOLE + "lora_rnk: 8\n")
    assert (run.table.unknown_keys, unknown_keys(run)) == ("refused", ["lora_rnk"])
    megatron = told(KIND, WHOLE + "pipeline_model_parallel_size: 4\noverlap_param_gather: true\n")
    assert megatron.table.unknown_keys == "kept"


@pytest.mark.parametrize(
    "text", ["model_name_or_path: a\noutput_dir: out\nlearning_rate: 1\n", "stage: sft\n"]
)
def test_other_files_are_not_its_own(text):
    assert names_for(text) == []


@given(
    st.dictionaries(
        st.sampled_from(sorted(load_table("llamafactory").keys)), st.sampled_from(VALUES), max_size=8
    )
)
def test_no_value_is_too_strange(tree):
    settle(KIND, {"do_train": True, **tree})
