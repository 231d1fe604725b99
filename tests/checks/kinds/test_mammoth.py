from hypothesis import given
from hypothesis import strategies as st

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import VALUES, settle, told, unknown_keys
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.mammoth import KIND

WHOLE = """
tasks:
  en-de:
    src_tgt: en-de
    path_src: train.en
    path_tgt: train.de
    path_valid_src: dev.en
    path_valid_tgt: dev.de
    enc_sharing_group: [full]
    dec_sharing_group: [de]
    node_gpu: '0:0'
src_vocab: {en: vocab.en}
tgt_vocab: {de: vocab.de}
model_dim: 512
enc_layers: [3, 3]
dec_layers: [2, 4]
dropout: 0.1
optim: adam
learning_rate: 0.0005
decay_method: linear_warmup
warmup_steps: 1000
batch_type: tokens
batch_size: 4096
normalization: tokens
max_grad_norm: 1.0
train_steps: 50000
x_transformers_opts: {heads: 16, rotary_pos_emb: true}
node_rank: 0
seed: 1
"""


def test_a_whole_file_is_told():
    run = told(KIND, WHOLE)
    assert values(run, "task", "hidden_size", "layers", "heads") == ("translation", 512, 6, 16)
    assert values(run, "schedule", "warmup_steps", "epsilon") == ("linear", 1000, 1e-9)
    assert values(run, "corpora", "validation") == (["train.en", "train.de"], True)
    assert values(run, "positions", "feed_forward", "norm") == ("rotary", 2048, "rms_norm")
    assert unknown_keys(run) == []


def test_options_that_never_reach_the_layers_are_told_as_unread():
    run = told(KIND, WHOLE)
    assert run.value("dropout") is None
    assert run.table.key("dropout").unread
    assert run.table.key("normalization").unread
    assert run.value("loss_normalization") is None


def test_a_bridge_reads_its_dropout():
    run = told(KIND, WHOLE + "ab_layers: [transformer]\n")
    assert run.value("dropout") == 0.1
    assert run.table.key("dropout").unread == ""


def test_a_template_for_its_tool_has_a_block_more():
    text = "config_config: {src_path: a}\nsrc_vocab: {en: v}\ntgt_vocab: {de: v}\noptim: adam\nnode_rank: 0\nseed: 1\n"
    run = told(KIND, text)
    assert unknown_keys(run) == []


def test_old_files_have_data_where_new_ones_have_tasks():
    run = told(KIND, "data: {a: {src_tgt: en-de, path_src: x, path_tgt: y}}\nrnn_size: 512\n")
    assert run.table.key("data").renamed_to == "tasks"
    assert run.table.key("rnn_size").renamed_to == "model_dim"


@given(
    st.dictionaries(st.sampled_from(sorted(load_table("mammoth").keys)), st.sampled_from(VALUES), max_size=8)
)
def test_no_value_is_too_strange(tree):
    settle(KIND, {"config_config": {}, **tree})
