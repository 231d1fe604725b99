from tests.checks.rules.findings import findings, of_example, severities
from tests.for_each import for_each
from trimtab.checks.rules import e101_repeats_blocked_in_evaluation as e101
from trimtab.checks.rules import e102_best_model_chosen_backwards as e102
from trimtab.checks.rules import e103_best_checkpoint_deleted as e103
from trimtab.checks.rules import e104_validation_after_the_end as e104
from trimtab.checks.rules import e105_decoding_option_without_effect as e105
from trimtab.checks.rules import e106_predictions_cut_short as e106
from trimtab.checks.rules import e107_never_validated as e107
from trimtab.checks.rules import x101_onnx_copies_every_call as x101
from trimtab.checks.rules import x102_int8_for_the_gpu as x102
from trimtab.checks.rules import x103_opset_without_attention as x103
from trimtab.checks.rules import x104_merged_into_quantised_weights as x104

AXOLOTL = (
    "base_model: NousResearch/Llama-2-7b-hf\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\n"
    "learning_rate: 0.0002\nmetric_for_best_model: {metric}\ngreater_is_better: false\n"
    "datasets:\n  - path: data\n    type: alpaca\n"
)


def test_a_mild_penalty_is_left_alone():
    assert of_example(e101, ('"no_repeat_ngram_size": 3', '"repetition_penalty": 1.5')) == ["note"]
    assert of_example(e101, ('"no_repeat_ngram_size": 3', '"repetition_penalty": 1.05')) == []


@for_each(
    ("metric", "direction", "count"),
    [
        ("wer", "", 1),
        ("eval_cer", "", 1),
        ("eval_loss", "", 0),
        ("bleu", "", 0),
        ("loss", ', "greater_is_better": true', 1),
        ("bleu", ', "greater_is_better": false', 1),
        ("wer", ', "greater_is_better": false', 0),
        ("anger", "", 0),
    ],
)
def test_the_direction_in_force_is_compared_with_that_of_the_metric(metric, direction, count):
    args = (
        '{"output_dir": "out", "per_device_train_batch_size": 8, "eval_strategy": "epoch", '
        f'"metric_for_best_model": "{metric}"{direction}}}'
    )
    assert len(severities(e102, "args.json", args)) == count


def test_a_direction_that_a_script_computes_is_unknown():
    script = (
        "from transformers import Trainer, TrainingArguments\n"
        'args = TrainingArguments(output_dir="out", metric_for_best_model="wer"{more})\n'
    )
    assert severities(e102, "train.py", script.format(more="")) == ["error"]
    assert severities(e102, "train.py", script.format(more=", greater_is_better=higher")) == []
    assert severities(e102, "train.py", script.format(more=", **options")) == []


def test_axolotl_never_passes_a_false_direction_on():
    (found,) = findings(e102, "axolotl.yaml", AXOLOTL.format(metric="perplexity"))
    assert "is not passed on" in found.finding.message
    assert severities(e102, "axolotl.yaml", AXOLOTL.format(metric="eval_loss")) == []


def test_patience_is_compared_with_what_is_kept():
    assert of_example(e103, ("keep_checkpoint: 3", "keep_checkpoint: 6")) == []
    assert of_example(e103, ("early_stopping: 5\n", "")) == []
    assert of_example(e103, ("save_checkpoint_steps: 1000", "save_checkpoint_steps: 5000")) == []


def test_a_trainer_that_is_not_told_what_is_best_gets_a_note():
    args = (
        '{{"output_dir": "out", "per_device_train_batch_size": 8, "eval_strategy": "steps", "eval_steps": 500,\n'
        ' "save_total_limit": 2{more}}}'
    )
    assert severities(e103, "args.json", args.format(more="")) == ["note"]
    assert severities(e103, "args.json", args.format(more=', "load_best_model_at_end": true')) == []
    assert severities(e103, "args.json", args.format(more=', "metric_for_best_model": "bleu"')) == []
    assert severities(e103, "args.json", args.format(more=', "push_to_hub": true')) == []


@for_each(
    ("length", "count"),
    [
        ('"num_train_epochs": 2, "save_strategy": "epoch"', 0),
        ('"num_train_epochs": 3, "save_strategy": "epoch"', 1),
        ('"max_steps": 1000, "save_strategy": "steps", "save_steps": 500', 0),
        ('"max_steps": 1001, "save_strategy": "steps", "save_steps": 500', 1),
        ('"max_steps": 1000, "save_strategy": "steps", "save_steps": 0.2', 1),
    ],
)
def test_a_run_that_ends_before_anything_is_deleted_loses_nothing(length, count):
    args = (
        '{"output_dir": "out", "per_device_train_batch_size": 8, "eval_strategy": "epoch", '
        f'"save_total_limit": 2, {length}}}'
    )
    assert len(severities(e103, "args.json", args)) == count


def test_validation_is_not_missed_where_there_is_nothing_to_validate():
    assert of_example(e104) == ["warning"]
    assert of_example(e104, ("  valid: {path_src: dev.en, path_tgt: dev.de}\n", "")) == []


@for_each(
    ("options", "count"),
    [
        ('"temperature": 0.7', 1),
        ('"do_sample": true, "temperature": 0.7', 0),
        ('"num_beams": 4, "early_stopping": true', 0),
        ('"num_beams": 1, "early_stopping": true', 1),
        ('"num_beams": 1, "top_k": 50', 0),
    ],
)
def test_options_are_told_where_the_way_of_decoding_does_not_read_them(options, count):
    text = f'{{{options}, "eos_token_id": 2, "transformers_version": "5.24.0"}}'
    assert len(severities(e105, "generation_config.json", text)) == count


def test_predictions_shorter_than_labels_are_told_for_every_model():
    args = (
        '{"output_dir": "out", "per_device_train_batch_size": 8, "predict_with_generate": true,\n'
        ' "generation_max_length": LENGTH, "max_target_length": 128}'
    )
    assert severities(e106, "args.json", args.replace("LENGTH", "64")) == ["warning"]
    assert severities(e106, "args.json", args.replace("LENGTH", "128")) == []


@for_each(
    "pair",
    [
        ("google/mt5-small", "Helsinki-NLP/opus-mt-en-de"),
        ("trainer.evaluate()", "trainer.evaluate(max_length=128)"),
        ("trainer = ", "model.generation_config.max_length = 128\ntrainer = "),
        ("predict_with_generate=True", "predict_with_generate=True, **options"),
    ],
)
def test_a_length_that_may_be_set_elsewhere_is_left_alone(pair):
    assert of_example(e106) == ["warning"]
    assert of_example(e106, pair) == []


def test_a_short_run_need_not_be_validated():
    assert of_example(e107) == ["note"]
    assert of_example(e107, ("train_steps: 50000", "train_steps: 100")) == []


def test_a_session_on_the_cpu_has_nothing_to_copy():
    assert of_example(x101, ("CUDAExecutionProvider", "CPUExecutionProvider")) == []


def test_quantising_alone_is_no_fault():
    assert of_example(x102, ("onnxruntime.InferenceSession", "load")) == []


def test_another_attention_can_be_exported_to_an_old_opset():
    eager = ('opus-mt-en-de")', 'opus-mt-en-de", attn_implementation="eager")')
    assert of_example(x103) == ["warning"]
    assert of_example(x103, eager) == []


def test_merging_into_full_weights_or_not_at_all_is_left_alone():
    assert of_example(x104) == ["warning"]
    assert of_example(x104, ("load_in_4bit=True", "load_in_4bit=False")) == []
    assert of_example(x104, ("model = model.merge_and_unload()\n", "")) == []
