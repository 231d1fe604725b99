from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import VALUES, settle, told, unknown_keys
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.sockeye import KIND

ARGS = """
prepared_data: prepared
validation_source: dev.en
validation_target: dev.de
output: model
num_layers: [6, 6]
transformer_model_size: [512, 512]
transformer_attention_heads: [8, 8]
transformer_feed_forward_num_hidden: [2048, 2048]
max_seq_len: [95, 95]
batch_size: 4096
batch_type: word
update_interval: 4
optimizer: adam
optimizer_betas: [0.9, 0.98]
initial_learning_rate: 0.0632
learning_rate_scheduler_type: inv-sqrt-decay
learning_rate_warmup: 4000
gradient_clipping_type: norm
gradient_clipping_threshold: 1.0
amp: true
max_updates: 50000
checkpoint_interval: 500
seed: 1
"""


def test_saved_arguments_are_told_and_defaults_are_nobodys_writing():
    told_run = told(KIND, ARGS)
    assert values(told_run, "hidden_size", "layers", "heads", "feed_forward") == (512, 6, 8, 2048)
    assert values(told_run, "schedule", "warmup_steps", "beta2", "clip") == ("rsqrt", 4000, 0.98, 1.0)
    assert values(told_run, "micro_batch", "batch_unit", "accumulation", "devices") == (4096, "tokens", 4, 1)
    assert values(told_run, "steps", "eval_steps", "autocast", "sequence_length") == (
        50_000,
        500.0,
        "fp16",
        95,
    )
    assert "num_layers" not in told_run.keys
    assert "update_interval" in told_run.keys
    assert unknown_keys(told_run) == []


def test_a_saved_file_drops_what_it_does_not_know():
    told_run = told(KIND, ARGS + "lerning_rate_warmup: 3\n")
    assert (told_run.table.unknown_keys, unknown_keys(told_run)) == ("dropped", ["lerning_rate_warmup"])


@settings(max_examples=10, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(sorted(name.replace("-", "_") for name in load_table("sockeye").keys)),
        st.sampled_from(VALUES),
        max_size=8,
    )
)
def test_no_value_is_too_strange(tree):
    settle(
        KIND,
        {"validation_source": "a", "output": "b", "max_updates": 1, "num_words": [0, 0], "amp": True, **tree},
    )
