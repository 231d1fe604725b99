import pytest

from tests.checks.rules.findings import findings, of_example, severities
from tests.for_each import for_each
from trimtab.checks.edits import RemoveKey, SetValue
from trimtab.checks.rules import l101_label_smoothing_multiplies_gradients as l101
from trimtab.checks.rules import l102_label_smoothing_on_image_to_text as l102
from trimtab.checks.rules import l103_label_smoothing_without_decoder_inputs as l103
from trimtab.checks.rules import l104_label_smoothing_that_is_dropped as l104
from trimtab.checks.rules import l105_label_smoothing_too_strong as l105
from trimtab.checks.rules import l107_z_loss_too_strong as l107
from trimtab.checks.rules import l108_loss_on_prompts as l108
from trimtab.checks.rules import l109_loss_on_padding as l109
from trimtab.checks.rules import l111_detection_loss_over_denoising_queries as l111
from trimtab.checks.rules import l112_label_smoothing_the_loss_ignores as l112

ARGS = (
    '{{"output_dir": "out", "per_device_train_batch_size": 8, "gradient_accumulation_steps": 8,\n'
    ' "label_smoothing_factor": 0.1{more}}}'
)


@for_each(
    ("version", "model", "severity"),
    [
        ("5.14.1", "", ["error"]),
        ("5.0.0", "Helsinki-NLP/opus-mt-en-de", ["error"]),
        ("4.57.6", "", ["warning"]),
        ("4.57.6", "microsoft/trocr-small-printed", ["error"]),
        ("4.57.6", "Helsinki-NLP/opus-mt-en-de", []),
        ("4.45.2", "", []),
        ("5.15.0", "", []),
    ],
)
def test_smoothing_under_accumulation_is_told_for_the_releases_that_lost_the_division(
    version, model, severity
):
    more = f', "model_name_or_path": "{model}"' if model else ""
    assert (
        severities(l101, "args.json", ARGS.format(more=more), versions=f"transformers={version}") == severity
    )


def test_without_a_version_or_without_accumulation_nothing_is_said_of_the_division():
    assert of_example(l101, versions="") == []
    assert of_example(l101, ('"gradient_accumulation_steps": 8', '"gradient_accumulation_steps": 1')) == []


def test_smoothing_an_image_reader_is_told_by_its_class_and_by_its_name():
    assert of_example(l102) == ["warning"]
    of_name = ARGS.format(more=', "model_name_or_path": "microsoft/trocr-base-handwritten"')
    assert severities(l102, "args.json", of_name) == ["warning"]
    assert severities(l102, "args.json", ARGS.format(more="")) == []


@for_each(
    "pair",
    [
        ("tokenizer)", "tokenizer, model)"),
        ("DataCollatorForSeq2Seq(tokenizer)", "DataCollatorForSeq2Seq(tokenizer, **options)"),
        ("AutoModelForSeq2SeqLM.from", "AutoModelForCausalLM.from"),
        ("label_smoothing_factor=0.1", "label_smoothing_factor=smoothing"),
    ],
)
def test_a_collator_that_may_know_the_model_is_left_alone(pair):
    assert of_example(l103) == ["error"]
    assert of_example(l103, pair) == []


def test_the_key_that_axolotl_drops_can_be_removed_without_changing_the_training():
    (found,) = findings(l104, l104.RULE.bad.file, l104.RULE.bad.text)
    assert found.edits == (RemoveKey("label_smoothing_factor"),)
    assert found.safety == "same training"
    assert of_example(l104, ("label_smoothing_factor", "dpo_label_smoothing")) == []


def test_the_floor_of_a_smoothed_loss_is_the_entropy_of_its_labels():
    (found,) = findings(l105, l105.RULE.bad.file, l105.RULE.bad.text.replace("0.4", "0.3"))
    assert "32,000 tokens the loss cannot fall below 3.72 nats" in found.finding.message
    assert of_example(l105, ("0.4", "0.2")) == []


@pytest.mark.parametrize(("weight", "count"), [("0.001", 0), ("0.01", 1)])
def test_a_z_loss_is_told_from_a_hundred_times_the_usual_on(weight, count):
    assert len(of_example(l107, ("0.1}", weight + "}"))) == count


def test_a_router_has_a_usual_weight_of_its_own():
    config = '{"model_type": "mixtral", "hidden_size": 64, "vocab_size": 100, "router_z_loss_coef": 0.5}'
    (found,) = findings(l107, "config.json", config)
    assert "500 times" in found.finding.message


def test_prompts_in_the_loss_are_a_note_and_never_told_of_a_default():
    assert of_example(l108) == ["note"]
    assert of_example(l108, ("train_on_inputs: true\n", "")) == []


def test_loss_on_padding_is_mended_by_the_default():
    (found,) = findings(l109, l109.RULE.bad.file, l109.RULE.bad.text)
    assert found.edits == (SetValue("ignore_pad_token_for_loss", True),)
    assert of_example(l109, ("ignore_pad_token_for_loss: false\n", "")) == []


def test_an_old_detector_is_told_only_where_it_is_trained():
    assert of_example(l111) == ["warning"]
    assert of_example(l111, versions="") == []
    alone = 'from transformers import DFineForObjectDetection\nmodel = DFineForObjectDetection.from_pretrained("x")\n'
    assert severities(l111, "use.py", alone, versions="transformers=5.16.0") == []


def test_sparsemax_takes_no_smoothing_either():
    assert of_example(l112, ("copy_attn: true", "generator_function: sparsemax")) == ["error"]
    assert of_example(l112, ("copy_attn: true", "copy_attn: false")) == []
