from hypothesis import given
from hypothesis import strategies as st

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import VALUES, settle, told, unknown_keys
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.llamafactory_v1 import KIND

WHOLE = """
model: Qwen/Qwen3-4B
model_class: llm
train_dataset: data.yaml
micro_batch_size: 2
global_batch_size: 16
learning_rate: 1e-4
"""


def test_a_whole_file_is_told():
    run = told(KIND, WHOLE)
    assert values(run, "parameters_billion", "micro_batch", "global_batch", "epochs") == (4.0, 2, 16, 3.0)
    assert values(run, "gradient_checkpointing", "adapter", "corpora") == (True, "none", ["data.yaml"])
    assert unknown_keys(run) == []


def test_a_merge_trains_nothing():
    run = told(KIND, "model: Qwen/Qwen3-4B\npeft_config: {name: lora, export_dir: out}\n")
    assert run.value("learning_rate") is None


@given(st.dictionaries(st.sampled_from(sorted(load_table("llamafactory_v1").keys)), st.sampled_from(VALUES)))
def test_no_value_is_too_strange(tree):
    settle(KIND, {"train_dataset": "a", **tree})
