from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import VALUES, names_for, read_as, settle, told, unknown_keys
from trimtab.checks.kinds.fairseq import KIND
from trimtab.checks.kinds.kind import Surroundings

HYDRA = """
common: {fp16: true, seed: 4, log_format: json}
task: {_name: translation, data: data-bin/wmt, source_lang: en, target_lang: de}
model:
  _name: transformer
  encoder: {embed_dim: 768, ffn_embed_dim: 3072, layers: 12, attention_heads: 12, normalize_before: true}
  decoder: {layers: 3, attention_heads: 12, normalize_before: true}
  share_all_embeddings: true
  dropout: 0.1
criterion: {_name: label_smoothed_cross_entropy, label_smoothing: 0.1}
dataset: {max_tokens: 4096, num_workers: 4, validate_interval_updates: 1000}
optimization: {lr: [7e-4], update_freq: [8], max_update: 60000, clip_norm: 1.0}
optimizer: {_name: adam, adam_betas: "(0.9, 0.98)", adam_eps: 1e-08}
lr_scheduler: {_name: inverse_sqrt, warmup_updates: 6000}
checkpoint: {save_dir: out, save_interval_updates: 1000, keep_interval_updates: 3}
distributed_training: {distributed_world_size: 8}
"""


def test_groups_are_told_as_the_options_of_the_command_line():
    told_run = told(KIND, HYDRA)
    assert values(told_run, "hidden_size", "encoder_layers", "layers", "heads", "norm_placement") == (
        768, 12, 3, 12, "pre",
    )  # fmt: skip
    assert values(told_run, "optimizer", "learning_rate", "beta2", "epsilon") == ("adamw", 7e-4, 0.98, 1e-8)
    assert values(told_run, "schedule", "warmup_steps", "clip", "autocast") == (
        "inverse_sqrt",
        6000,
        1.0,
        "fp16",
    )
    assert values(told_run, "micro_batch", "accumulation", "devices", "steps") == (4096, 8, 8, 60_000)
    assert values(told_run, "label_smoothing", "tied_embeddings", "task", "keep_checkpoints") == (
        0.1, True, "translation", 3,
    )  # fmt: skip
    assert unknown_keys(told_run) == []


def test_an_unknown_key_of_a_group_is_in_no_table_and_one_of_a_plug_in_may_be():
    text = HYDRA.replace("max_update: 60000", "max_updates: 60000").replace("dropout: 0.1", "new_thing: 0.1")
    assert unknown_keys(told(KIND, text)) == ["optimization.max_updates"]
    text = text.replace("common: {", "common: {user_dir: mine, ")
    told_run = told(KIND, text)
    assert told_run.table.unknown_keys == "kept"
    assert unknown_keys(told_run) == ["optimization.max_updates"]


def test_other_yaml_is_not_fairseqs():
    assert names_for("model: {path: a}\ndataset: {path: b}\n") == []


@settings(max_examples=10, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["task", "model", "criterion", "optimization", "optimizer", "dataset", "common"]),
        st.one_of(
            st.sampled_from(VALUES),
            st.dictionaries(
                st.sampled_from(
                    ["_name", "lr", "data", "arch", "encoder", "update_freq", "max_tokens", "adam_betas"]
                ),
                st.sampled_from(VALUES),
            ),
        ),
    )
)
def test_no_value_is_too_strange(tree):
    settle(KIND, {"lr_scheduler": {"_name": "fixed"}, **tree})
    assert KIND.describe(read_as(KIND, HYDRA), Surroundings())


def test_what_is_filled_in_elsewhere_is_open():
    text = HYDRA.replace("max_update: 60000", "max_update: '???'").replace(
        "clip_norm: 1.0", 'clip_norm: "${env.clip}"'
    )
    told_run = told(KIND, text)
    assert values(told_run, "steps", "clip", "learning_rate") == (None, None, 7e-4)
    assert "optimization.max_update" not in told_run.keys


def test_tokens_of_a_task_that_reads_no_text_are_none():
    told_run = told(KIND, HYDRA.replace("_name: translation", "_name: audio_pretraining"))
    assert values(told_run, "micro_batch", "batch_unit", "from_scratch") == (None, None, None)
