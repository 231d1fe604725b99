from dataclasses import replace

import pytest

from tests.checks.rules.exchange import swap
from tests.checks.rules.findings import findings as said
from tests.checks.rules.findings import runs_of, severities
from tests.for_each import for_each
from trimtab.checks.rules import p101_reentrant_over_frozen_inputs as p101
from trimtab.checks.rules import p102_packed_documents_see_each_other as p102
from trimtab.checks.rules import p104_deepspeed_on_one_gpu as p104
from trimtab.checks.rules import p106_zero3_refused as p106
from trimtab.checks.rules import p112_deepspeed_disagrees as p112

BAD = p101.RULE.bad
OLD = BAD.versions
WRITTEN = (
    "gradient_checkpointing=True",
    'gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": True}',
)


def test_the_default_of_version_four_is_told_as_a_default():
    (found,) = said(p101, BAD.file, BAD.text, versions=OLD)
    assert "default" in found.finding.message


def test_version_five_makes_the_inputs_ask_for_gradients():
    assert not said(p101, *swap(BAD, WRITTEN), versions="transformers=5.24.0 peft=0.20.0")


def test_where_the_version_is_unknown_only_what_is_written_is_told():
    assert not said(p101, BAD.file, BAD.text)
    assert severities(p101, *swap(BAD, WRITTEN)) == ["warning"]


@pytest.mark.parametrize(
    "line", ["model.enable_input_require_grads()", "model.gradient_checkpointing_enable()"]
)
def test_a_call_that_helps_is_enough(line):
    assert not said(p101, *swap(BAD, ("args = ", f"{line}\nargs = ")), versions=OLD)


def test_trained_embeddings_ask_for_gradients_themselves():
    assert not said(p101, *swap(BAD, ('"c_fc"]', '"c_fc", "wte"]')), versions=OLD)


AXOLOTL = (
    "base_model: a/b\ndatasets:\n  - path: c\n    type: alpaca\nmicro_batch_size: 1\nlearning_rate: 1e-4\n"
    "sample_packing: true\n"
)


@for_each(
    ("more", "versions", "count"),
    [
        ("flash_attention: false\nsdp_attention: false\n", "", 1),
        ("flash_attention: false\nsdp_attention: false\n", "axolotl=0.18.0", 1),
        ("flash_attention: true\n", "axolotl=0.12.0", 0),
        ("attn_implementation: eager\n", "axolotl=0.12.0", 1),
        ("attn_implementation: eager\n", "axolotl=0.18.0", 0),
        ("sdp_attention: true\n", "", 0),
        ("sdp_attention: true\n", "axolotl=0.17.0", 1),
        ("sdp_attention: true\n", "axolotl=0.18.0", 0),
    ],
)
def test_of_axolotl_the_version_decides_whether_packed_documents_are_apart(more, versions, count):
    assert len(said(p102, "run.yml", AXOLOTL + more, versions=versions)) == count


def test_packing_for_pre_training_is_common_practice():
    assert said(p102, p102.RULE.bad.file, p102.RULE.bad.text)
    assert not said(p102, *swap(p102.RULE.bad, ("stage: sft", "stage: pt")))


def test_deepspeed_on_several_gpus_or_with_offload_is_left_alone():
    assert not said(p104, *swap(p104.RULE.bad, ("num_processes: 1", "num_processes: 2")))
    assert not said(
        p104, *swap(p104.RULE.bad, ("offload_optimizer_device: none", "offload_optimizer_device: cpu"))
    )


def test_the_file_beside_tells_the_stage():
    name, text = swap(p106.RULE.bad, ("examples/deepspeed/ds_z3_config.json", "mine.json"))
    assert said(p106, name, text, beside=[("mine.json", '{"zero_optimization": {"stage": 3}}')])
    assert not said(p106, name, text, beside=[("mine.json", '{"zero_optimization": {"stage": 2}}')])
    assert not said(p106, name, text)


def test_the_deepspeed_file_of_the_folder_is_compared_where_it_is_named():
    training = '{"output_dir": "o", "per_device_train_batch_size": 8, "deepspeed": "./ds.json", "bf16": true}'
    engine = (
        '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": false}}'
    )
    (run,) = runs_of("args.json", training)
    named, other = (tuple(runs_of(file, engine)) for file in ("ds.json", "else.json"))
    found = list(p112.check(replace(run, nearby=named)))
    assert [each.key for each in found] == ["per_device_train_batch_size", "bf16"]
    assert not list(p112.check(replace(run, nearby=other)))


def test_what_agrees_or_is_auto_is_left_alone():
    assert not said(
        p112, *swap(p112.RULE.bad, ('"gradient_accumulation_steps": 1}', '"gradient_accumulation_steps": 4}'))
    )
