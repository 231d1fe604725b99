import pytest

from tests.checks.rules.findings import findings, of_example, severities
from tests.for_each import for_each
from trimtab.checks.edits import AddKey
from trimtab.checks.rules import m301_encoder_without_positions as m301
from trimtab.checks.rules import m302_two_kinds_of_positions as m302
from trimtab.checks.rules import m303_relative_positions_in_tiny_translator as m303
from trimtab.checks.rules import m304_rms_norm_in_tiny_translator as m304
from trimtab.checks.rules import m305_heads_do_not_divide_width as m305
from trimtab.checks.rules import m306_key_heads_do_not_divide_heads as m306
from trimtab.checks.rules import m307_sizes_off_the_grid as m307
from trimtab.checks.rules import m308_no_dropout_from_scratch as m308
from trimtab.checks.rules import m309_dropout_too_strong as m309
from trimtab.checks.rules import m310_flex_attention_with_dropout as m310
from trimtab.checks.rules import m311_bias_before_batch_norm as m311
from trimtab.checks.rules import m312_batch_norm_on_few_examples as m312
from trimtab.checks.rules import m313_experts_without_balance as m313
from trimtab.checks.rules import m314_deep_post_norm as m314
from trimtab.checks.rules import m315_embeddings_of_two_vocabularies as m315
from trimtab.checks.rules import m316_narrow_feed_forward as m316
from trimtab.checks.rules import m317_embeddings_of_another_width as m317
from trimtab.checks.rules import m318_frozen_norms_of_random_backbone as m318

MAMMOTH = (
    "tasks:\n  train_en-de:\n    src_tgt: en-de\n    path_src: en.txt\n    path_tgt: de.txt\n"
    "    enc_sharing_group: [en]\n    dec_sharing_group: [de]\n    node_gpu: '0:0'\n"
    "save_model: out/model\nmodel_dim: 512\nenc_layers: [6]\ndec_layers: [6]\n{more}"
)


@for_each(
    ("more", "count"),
    [
        ("", 1),
        ("x_transformers_opts: {heads: 8}\n", 1),
        ("x_transformers_opts: {rotary_pos_emb: true}\n", 0),
        ("max_length: 256\n", 0),
    ],
)
def test_mammoth_has_positions_by_length_or_by_an_option(more, count):
    assert len(severities(m301, "mammoth.yaml", MAMMOTH.format(more=more))) == count


def test_recurrent_encoders_need_no_positions():
    assert of_example(m301, ("encoder_type: transformer", "encoder_type: brnn")) == []
    assert of_example(m301, ("word_vec_size", "max_relative_positions: 20\nword_vec_size")) == []


def test_alibi_beside_a_table_is_a_note():
    more = "max_length: 256\nx_transformers_opts: {alibi_pos_bias: true}\n"
    assert severities(m302, "mammoth.yaml", MAMMOTH.format(more=more)) == ["note"]


def test_the_notes_for_tiny_translators_have_their_condition():
    large = (("hidden_size: 512", "hidden_size: 1024"), ("layers: 6", "layers: 12"))
    for rule in (m303, m304):
        assert of_example(rule) == ["note"]
        assert of_example(rule, *large) == []
        assert of_example(rule, ("save_model", "train_from: old.pt\nsave_model")) == []


def test_a_file_of_an_older_mammoth_says_its_positions_by_a_key_of_that_time():
    assert severities(m301, "mammoth.yaml", MAMMOTH.format(more="")) != []
    assert severities(m301, "mammoth.yaml", MAMMOTH.format(more="position_encoding: true")) == []


def test_rotary_positions_are_the_right_ones_in_mammoth():
    more = "x_transformers_opts: {rotary_pos_emb: true}\n"
    assert severities(m303, "mammoth.yaml", MAMMOTH.format(more=more)) == []


def test_the_defaults_of_opennmt_do_not_fit_a_transformer():
    plain = (("hidden_size: 512\nword_vec_size: 512\n", ""), ("heads: 12\n", ""))
    (found,) = findings(m305, m305.RULE.bad.file, _without(m305.RULE.bad.text, plain) + "heads: 8\n")
    assert "a width of 500 (the default) cannot be split into 8 heads" in found.finding.message


def _without(text, pairs):
    for old, new in pairs:
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(("family", "count"), [("bart", 1), ("mt5", 0)])
def test_families_with_a_head_width_of_their_own_are_left_alone(family, count):
    config = f'{{"model_type": "{family}", "d_model": 512, "decoder_attention_heads": 6, "num_heads": 6}}'
    assert len(severities(m305, "config.json", config)) == count


def test_query_heads_share_keys_evenly():
    assert of_example(m306, ('"num_key_value_heads": 3', '"num_key_value_heads": 8')) == []


def test_the_grid_matters_in_half_precision_only():
    assert of_example(m307) == ["note"]
    assert of_example(m307, ("model_dtype: fp16", "model_dtype: fp32")) == []


def test_dropout_is_told_at_both_ends():
    assert of_example(m308) == ["note"]
    assert of_example(m308, ("dropout: 0.0", "dropout: [0.0]")) == ["note"]
    assert of_example(m309, ("dropout: 0.6", "dropout: 0.3")) == []


@pytest.mark.parametrize(("length", "count"), [("3 epochs", 0), ("4 epochs", 1), ("1000 steps", 1)])
def test_no_dropout_is_right_for_a_few_epochs_as_the_experiment_says(length, count):
    recipe = (
        "task: translation\ndata: {train: [{source: a, target: b}]}\n"
        f"model: {{kind: encoder_decoder, preset: base, dropout: 0.0}}\nlength: {length}\n"
    )
    assert len(findings(m308, "recipe.yaml", recipe)) == count


def test_another_kernel_takes_dropout():
    assert of_example(m310, ("flex_attention", "sdpa")) == []


@for_each(
    "pair",
    [
        ("nn.BatchNorm2d(64)", "nn.GroupNorm(8, 64)"),
        ("padding=1)", "padding=1, bias=with_bias)"),
        ("    nn.BatchNorm2d", "    nn.ReLU(),\n    nn.BatchNorm2d"),
        ("nn.Conv2d(3, 64, 3, padding=1)", "Block(nn.Conv2d(3, 64, 3, padding=1))"),
        ("    nn.BatchNorm2d", "    *layers,\n    nn.BatchNorm2d"),
        ("    nn.BatchNorm2d", "    layer,\n    nn.BatchNorm2d"),
    ],
)
def test_only_a_bias_right_before_a_batch_norm_is_told(pair):
    assert of_example(m311) == ["note"]
    assert of_example(m311, pair) == []


def test_batch_norm_over_all_devices_or_without_accumulation_is_left_alone():
    assert of_example(m312) == ["note"]
    assert of_example(m312, ("gradient_accumulation_steps=16", "gradient_accumulation_steps=1")) == []


def test_adapters_leave_the_router_alone():
    assert of_example(m313) == ["note"]
    assert of_example(m313, ("optimizer:", "adapter: lora\noptimizer:")) == []


def test_six_layers_may_have_the_norm_behind():
    shallow = ("encoder_layers: 12, decoder_layers: 12", "encoder_layers: 6, decoder_layers: 6")
    assert of_example(m314) == ["warning"]
    assert of_example(m314, shallow) == []


def test_one_vocabulary_for_both_sides_may_share_its_embeddings():
    assert of_example(m315) == ["error"]
    assert of_example(m315, ("vocab.en", "vocab"), ("vocab.de", "vocab")) == []


def test_a_default_left_behind_by_a_wider_model_is_told():
    assert of_example(m316, ("transformer_ff: 512\n", ""), ("1024", "4096")) == ["warning"]


def test_word_vectors_get_the_width_of_the_model():
    (found,) = findings(m317, m317.RULE.bad.file, m317.RULE.bad.text)
    assert found.edits == (AddKey("word_vec_size", 512, after="hidden_size"),)
    assert of_example(m317, ("hidden_size: 512", "hidden_size: 500")) == []
    assert of_example(m317, ("hidden_size: 512", "hidden_size: 512\nn_src_feats: 1")) == []


def test_a_pretrained_backbone_keeps_its_statistics():
    assert of_example(m318) == ["warning"]
    assert of_example(m318, ("num_labels=1", 'num_labels=1, backbone="resnet18"')) == []
    assert (
        of_example(m318, ("DFineForObjectDetection(config)", 'DFineForObjectDetection.from_pretrained("x")'))
        == []
    )
