from hypothesis import given
from hypothesis import strategies as st

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import VALUES, names_for, settle, told, unknown_keys
from tests.for_each import for_each
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.axolotl import KIND

WHOLE = """
base_model: NousResearch/Llama-2-7b-hf
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
adapter: lora
lora_r: 16
lora_alpha: 32
lora_target_linear: true
sequence_len: 2048
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 3
learning_rate: 2e-4
bf16: true
"""


def test_a_whole_file_is_told():
    run = told(KIND, WHOLE)
    assert values(run, "model_family", "parameters_billion", "from_scratch") == ("llama", 7.0, False)
    assert values(run, "task", "adapter", "lora_targets") == ("language_model", "lora", ["all-linear"])
    assert values(run, "micro_batch", "accumulation", "epochs", "sequence_length") == (2, 4, 3.0, 2048)
    assert run.value("corpora") == ["tatsu-lab/alpaca"]
    assert unknown_keys(run) == []


def test_the_text_1e_4_is_the_number_that_axolotl_makes_of_it():
    setting = told(KIND, WHOLE).setting("learning_rate")
    assert (setting.value, setting.parsed, setting.raw) == (2e-4, "2e-4", "2e-4")


def test_keys_that_it_does_not_know_vanish():
    run = told(KIND, WHOLE + "label_smoothing_factor: 0.1\n")
    assert run.table.unknown_keys == "dropped"
    assert unknown_keys(run) == ["label_smoothing_factor"]


@for_each(
    "key",
    [
        "cut_cross_entropy",
        "liger_rms_norm",
        "spectrum_top_fraction",
        "kd_alpha",
        "datasets.0.type.field_system",
    ],
)
def test_plugins_and_data_sets_have_their_keys(key):
    assert load_table("axolotl").key(key) is not None


def test_old_names_say_what_became_of_them():
    keys = load_table("axolotl").keys
    assert keys["dpo_beta"].renamed_to == "rl_beta"
    assert keys["s2_attention"].removed_in
    assert "attn_implementation: sdpa" in keys["sdp_attention"].advice


def test_a_merge_is_no_training():
    assert names_for("base_model: a\nmerge_method: ties\nmodels: []\nadapter: x\n") == []


@given(
    st.dictionaries(st.sampled_from(sorted(load_table("axolotl").keys)), st.sampled_from(VALUES), max_size=8)
)
def test_no_value_is_too_strange(tree):
    settle(KIND, {"base_model": "a", "micro_batch_size": 1, **tree})
