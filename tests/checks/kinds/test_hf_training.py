import json

from hypothesis import given
from hypothesis import strategies as st

from tests.checks.kinds.describing import NEW, OLD, check, describe, document, values
from tests.for_each import for_each
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.hf_training import KIND
from trimtab.checks.kinds.kind import Surroundings

LEAST = {"output_dir": "out", "per_device_train_batch_size": 4}


def told(versions=NEW, beside=(), **settings):
    return describe(
        KIND, json.dumps({**LEAST, **settings}), file="args.json", versions=versions, beside=beside
    )


def test_what_is_not_written_has_the_librarys_default():
    run = told()
    assert values(run, "learning_rate", "beta1", "beta2", "epsilon", "clip") == (5e-5, 0.9, 0.999, 1e-8, 1.0)
    assert values(run, "optimizer", "optimizer_variant", "schedule") == (
        "adamw",
        "adamw_torch_fused",
        "linear",
    )
    assert values(run, "warmup_steps", "accumulation", "epochs", "steps") == (0, 1, 3.0, None)
    assert values(run, "label_smoothing", "weight_decay", "nan_filter", "seed") == (0.0, 0.0, True, 42)
    assert not run.is_written("learning_rate")
    assert run.is_written("micro_batch")
    assert values(run, "micro_batch", "batch_unit") == (4, "examples")


def test_defaults_of_version_4_are_those_of_version_4():
    assert told(OLD).value("optimizer_variant") == "adamw_torch"
    assert told("").value("optimizer_variant") is None


@for_each("version", ["", "transformers=4.30.0", OLD, "transformers=4.56.0", "transformers=5.24.0"])
def test_the_default_optimizer_is_an_adamw_that_rounds_to_the_nearest_in_every_version(version):
    assert values(told(version), "optimizer", "stochastic_rounding") == ("adamw", False)
    assert told(version, adafactor=True).value("optimizer") == "adafactor"
    assert told(version, optim="sgd").value("optimizer") == "sgd"


def test_autocast_by_default_is_unknown_because_a_launcher_can_set_it():
    assert told().value("autocast") is None
    assert told(bf16=True).value("autocast") == "bf16"
    assert told(fp16=True).value("autocast") == "fp16"
    assert told(bf16=False).value("autocast") == "none"


def test_a_warm_up_below_one_is_a_share_from_version_5_on():
    assert values(told(warmup_steps=0.1), "warmup_ratio", "warmup_steps") == (0.1, None)
    assert values(told(warmup_steps=500), "warmup_ratio", "warmup_steps") == (None, 500)
    assert values(told(OLD, warmup_ratio=0.03), "warmup_ratio", "warmup_steps") == (0.03, None)
    assert values(told(OLD, warmup_ratio=0.03, warmup_steps=7), "warmup_ratio", "warmup_steps") == (None, 7)
    assert values(told("", warmup_ratio=0.03), "warmup_ratio", "warmup_steps") == (0.03, None)


def test_steps_decide_over_epochs():
    assert values(told(max_steps=100, num_train_epochs=2), "steps", "epochs") == (100, None)
    assert values(told(max_steps=-1, num_train_epochs=2), "steps", "epochs") == (None, 2.0)


@for_each(
    ("name", "expected"),
    [
        ("paged_adamw_8bit", ("adamw", 8, True, False)),
        ("adamw_bnb_8bit", ("adamw", 8, False, False)),
        ("adafactor", ("adafactor", None, False, False)),
        ("lion_32bit", ("lion", 32, False, False)),
        ("adamw_torch_4bit", ("adamw", 4, False, False)),
        ("galore_adamw", ("galore", None, False, False)),
        ("stable_adamw", ("adamw", None, False, True)),
    ],
)
def test_names_of_optimizers_are_taken_apart(name, expected):
    words = ("optimizer", "optimizer_bits", "optimizer_paged", "stochastic_rounding")
    assert values(told(optim=name), *words) == expected


def test_arguments_of_optimizers_are_read():
    run = told(optim="adamw_torch_8bit", optim_args="bf16_stochastic_round=True, block_size=128")
    assert run.value("stochastic_rounding") is True
    assert told(optim="adamw_torch_8bit").value("stochastic_rounding") is False


def test_adafactor_of_the_trainer_has_a_fixed_step_and_no_decay_rates_of_adam():
    run = told(optim="adafactor", adam_beta2=0.95)
    assert values(run, "relative_step", "scale_parameter", "clip_threshold") == (False, False, 1.0)
    assert run.value("beta2") is None


def test_recomputation_follows_both_names_and_the_versions_own_kind():
    assert values(told(gradient_checkpointing=True), "gradient_checkpointing", "use_reentrant") == (
        True,
        False,
    )
    assert told(OLD, gradient_checkpointing=True).value("use_reentrant") is True
    assert told("", gradient_checkpointing=True).value("use_reentrant") is None
    kwargs = {"use_reentrant": True}
    run = told(activation_checkpointing=True, activation_checkpointing_kwargs=kwargs)
    assert values(run, "gradient_checkpointing", "use_reentrant") == (True, True)
    assert run.setting("use_reentrant").key == "activation_checkpointing_kwargs.use_reentrant"
    assert values(told(), "gradient_checkpointing", "use_reentrant") == (False, None)


def test_a_new_name_wins_over_an_old_one():
    assert (
        told(gradient_checkpointing=True, activation_checkpointing=False).value("gradient_checkpointing")
        is False
    )


def test_evaluation_by_steps_takes_the_number_of_the_log():
    assert values(told(eval_strategy="steps", logging_steps=50), "eval_strategy", "eval_steps") == (
        "steps",
        50.0,
    )
    assert told(evaluation_strategy="epoch").value("eval_strategy") == "epoch"


def test_a_deepspeed_file_beside_is_read():
    config = (
        '{"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}, "bf16": {"enabled": "auto"}}'
    )
    run = told(deepspeed="ds.json", beside=[("ds.json", config)])
    assert values(run, "deepspeed", "zero_stage", "offload", "autocast") == (True, 3, True, None)
    assert run.setting("zero_stage").origin == "beside"
    assert told(deepspeed={"zero_optimization": {"stage": 2}}).value("zero_stage") == 2


def test_a_file_of_nothing_but_arguments_refuses_a_misspelled_one():
    assert told(learning_rat=1e-4).table.unknown_keys == "refused"
    assert told(learning_rat=1e-4, dataset_name="wmt14").table.unknown_keys == "kept"


def test_arguments_of_example_scripts_are_told():
    run = told(
        model_name_or_path="google/flan-t5-base", source_lang="en", target_lang="de", torch_dtype="bfloat16"
    )
    assert values(run, "task", "model_family", "encoder_decoder") == ("translation", "t5", True)
    assert run.value("weights_dtype") == "bf16"


def test_yaml_text_stays_text_because_nobody_converts_it():
    run = describe(
        KIND,
        "output_dir: x\nper_device_train_batch_size: 8\nlearning_rate: 1e-4\n",
        file="a.yaml",
        versions=NEW,
    )
    assert run.written("learning_rate").value == "1e-4"
    assert run.value("learning_rate") is None


@for_each(
    "text",
    [
        '{"base_model": "x", "output_dir": "o", "num_train_epochs": 1}',
        '{"model_name_or_path": "x", "stage": "sft", "finetuning_type": "lora", "per_device_train_batch_size": 1}',
        '{"output_dir": "o", "learning_rate": 1}',
        '{"output_dir": "o", "per_device_train_batch_size": 1, "num_train_epochs": 1, "max_train_steps": 4}',
        "[1, 2]",
        '"text"',
    ],
)
def test_files_of_others_are_not_recognised(text):
    assert not KIND.recognises(document("a.json", text))


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.just("auto"),
    st.just("steps"),
)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from(sorted(load_table("transformers_seq2seq").keys)), anything, max_size=12),
    st.sampled_from([NEW, OLD, ""]),
)
def test_values_of_any_type_never_raise(settings, versions):
    read = document("a.json", json.dumps({**LEAST, **settings}))
    numbers = {"": {}, NEW: {"transformers": (5, 24, 0)}, OLD: {"transformers": (4, 46, 3)}}[versions]
    for run in KIND.describe(read, Surroundings(versions=numbers)):
        check(run)
