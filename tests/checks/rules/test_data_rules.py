import pytest

from tests.checks.rules.findings import findings, of_example, severities
from tests.for_each import for_each
from trimtab.checks.edits import AddKey
from trimtab.checks.rules import d101_thousands_of_sentences_in_a_batch as d101
from trimtab.checks.rules import d102_batch_counted_in_sentences as d102
from trimtab.checks.rules import d103_option_of_a_transform_not_applied as d103
from trimtab.checks.rules import d104_no_length_limit as d104
from trimtab.checks.rules import d105_validated_on_training_data as d105
from trimtab.checks.rules import d106_source_and_target_are_one_file as d106
from trimtab.checks.rules import d107_corpus_that_is_never_read as d107
from trimtab.checks.rules import d108_task_after_the_end as d108
from trimtab.checks.rules import d109_no_task_at_the_start as d109
from trimtab.checks.rules import d110_data_in_file_order as d110
from trimtab.checks.rules import d111_text_lines_squeezed_to_a_square as d111
from trimtab.checks.rules import d112_image_sizes_disagree as d112
from trimtab.checks.rules import d113_chat_template_of_untrained_tokens as d113
from trimtab.checks.rules import d114_batches_by_length as d114

EOLE = (
    "src_vocab: vocab\ntransforms: [{transforms}]\ntransforms_configs:\n"
    "  filtertoolong: {{src_seq_length: 200, tgt_seq_length: 200}}\n"
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "training: {{model_path: out, batch_type: tokens, batch_size: 4096, normalization: tokens}}\n"
)


def test_thousands_of_sentences_are_one_finding_and_a_few_another():
    assert of_example(d101) == ["warning"]
    assert of_example(d102, example=d101.RULE.bad) == []
    assert of_example(d101, example=d102.RULE.bad) == []
    (found,) = findings(d101, d101.RULE.bad.file, d101.RULE.bad.text)
    assert found.edits == (AddKey("batch_type", "tokens", after="batch_size"),)


def test_a_subword_model_that_nothing_applies_is_an_error_and_a_length_a_warning():
    assert of_example(d103) == ["error", "error"]
    length = ("src_subword_model: en-de.model\ntgt_subword_model: en-de.model", "src_seq_length: 200")
    assert of_example(d103, length) == ["warning"]


def test_the_files_own_list_of_transforms_serves_all_corpora():
    assert of_example(d103, ("save_model", "transforms: [bpe]\nsave_model")) == []


def test_a_tag_without_the_transform_never_reaches_the_model():
    tag = ("path_tgt: train.de", 'path_tgt: train.de, src_prefix: "<de>", transforms: [sentencepiece]')
    assert of_example(d103, tag) == ["error"]


@pytest.mark.parametrize(("transforms", "count"), [("onmt_tokenize", 1), ("onmt_tokenize, filtertoolong", 0)])
def test_eole_keeps_options_under_the_name_of_their_transform(transforms, count):
    assert len(severities(d103, "eole.yaml", EOLE.format(transforms=transforms))) == count


def test_eole_takes_the_transforms_of_the_checkpoint_that_it_goes_on_from():
    text = EOLE.format(transforms="onmt_tokenize")
    assert len(severities(d103, "eole.yaml", text)) == 1
    assert severities(d103, "eole.yaml", text.replace("training: {", "training: {train_from: base, ")) == []


def test_prepared_text_needs_no_limit():
    assert of_example(d104) == ["note"]
    assert of_example(d104, ("transforms: [sentencepiece]", "transforms: []")) == []


def test_the_same_set_in_another_split_is_other_data():
    axolotl = (
        "base_model: NousResearch/Llama-2-7b-hf\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\n"
        "learning_rate: 0.0002\ndatasets:\n  - {{path: data, type: alpaca}}\n"
        "test_datasets:\n  - {{path: data, type: alpaca{split}}}\n"
    )
    assert severities(d105, "axolotl.yaml", axolotl.format(split="")) == ["warning"]
    assert severities(d105, "axolotl.yaml", axolotl.format(split=", split: test")) == []


def test_llama_factory_and_recipes_are_looked_at_as_well():
    factory = (
        "model_name_or_path: Qwen/Qwen3-4B\nstage: sft\ndo_train: true\nfinetuning_type: lora\n"
        "dataset: mine,other\neval_dataset: other\ntemplate: qwen3\noutput_dir: out\n"
    )
    assert severities(d105, "factory.yaml", factory) == ["warning"]
    recipe = (
        "task: translation\ndata:\n  train: [{source: a.en, target: a.de}]\n  valid: {source: a.en, target: a.de}\n"
        "model: {kind: encoder_decoder, preset: tiny}\nlength: 4000 steps\n"
    )
    assert severities(d105, "recipe.yaml", recipe) == ["warning"]


def test_copying_on_purpose_is_left_alone():
    assert of_example(d106) == ["warning"]
    noise = ("path_tgt: train.en", "path_tgt: train.en, transforms: [bart]")
    assert of_example(d106, noise) == []


@for_each(("weight", "count"), [("0.5", 1), ("-1", 1), ("0", 0), ("1", 0), ("1.5", 0)])
def test_a_weight_below_one_is_never_read_and_zero_is_meant(weight, count):
    assert len(of_example(d107, ("0.7", weight), ("0.3", "1"))) == count


def test_the_last_step_is_too_late_for_a_task():
    assert of_example(d108, ("60000", "50000")) == ["error"]
    assert of_example(d108, ("60000", "49999")) == []


def test_one_ready_task_a_device_is_enough():
    assert of_example(d109) == ["error"]
    second = (
        "  train_en-fr:\n    src_tgt: en-fr\n    path_src: en.txt\n    path_tgt: fr.txt\n"
        "    enc_sharing_group: [en]\n    dec_sharing_group: [fr]\n    node_gpu: '{gpu}'\nsave_model"
    )
    assert of_example(d109, ("save_model", second.format(gpu="0:0"))) == []
    assert of_example(d109, ("save_model", second.format(gpu="0:1"))) == ["error"]


def test_order_is_told_where_it_is_switched_off():
    assert of_example(d110) == ["note"]
    assert of_example(d110, ("shuffle_merged_datasets: false\n", "")) == []


@for_each(
    ("processor", "height", "width", "count"),
    [
        ("TrOCRProcessor", 384, 384, 1),
        ("TrOCRProcessor", 384, 512, 1),
        ("TrOCRProcessor", 64, 512, 0),
        ("ViTImageProcessor", 384, 384, 0),
    ],
)
def test_squares_are_told_for_readers_of_text_lines(processor, height, width, count):
    text = (
        f'{{"image_processor_type": "ViTImageProcessor", "processor_class": "{processor}", "do_resize": true,'
        f' "size": {{"height": {height}, "width": {width}}}}}'
    )
    assert len(severities(d111, "preprocessor_config.json", text)) == count


def test_the_model_beside_a_processor_says_that_it_reads_text():
    text = '{"image_processor_type": "ViTImageProcessor", "do_resize": true, "size": {"height": 384, "width": 384}}'
    model = '{"model_type": "vision-encoder-decoder", "architectures": ["VisionEncoderDecoderModel"]}'
    assert severities(d111, "preprocessor_config.json", text, beside=(("config.json", model),)) == ["warning"]
    assert severities(d111, "preprocessor_config.json", text) == []


def test_sizes_are_compared_with_the_model_beside():
    bad = d112.RULE.bad
    assert severities(d112, bad.file, bad.text) == []
    (found,) = findings(d112, bad.file, bad.text, beside=bad.beside)
    assert "384 x 384" in found.finding.message
    assert "224 x 224" in found.finding.message


@for_each(
    "pair",
    [
        ("adapter: lora\n", "adapter:\n"),
        ("lora_target_linear: true", "lora_modules_to_save: [embed_tokens, lm_head]"),
        ("chat_template: llama3", "chat_template: chatml"),
        ("Meta-Llama-3.1-8B", "Llama-3.2-1B"),
        ("learning_rate", "fix_untrained_tokens: [128006]\nlearning_rate"),
    ],
)
def test_tokens_that_are_trained_or_not_used_are_left_alone(pair):
    assert of_example(d113) == ["warning"]
    assert of_example(d113, pair) == []


def test_batches_by_length_are_a_note():
    assert of_example(d114) == ["note"]


@pytest.mark.parametrize(
    ("valid", "found"),
    [("{pairs: dev.tsv, source: 1, target: 2}", 0), ("{pairs: train.tsv, source: 1, target: 2}", 1)],
)
def test_a_column_of_a_recipe_is_no_file_that_is_trained_on(valid, found):
    text = (
        "data:\n  train: [{pairs: train.tsv, source: 1, target: 2}]\n"
        f"  valid: {valid}\nmodel: {{preset: tiny}}\nlength: 1000 steps\n"
    )
    assert len(findings(d105, "recipe.yaml", text)) == found
