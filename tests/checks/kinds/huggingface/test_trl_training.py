import pytest

from tests.checks.kinds.describing import words, written
from tests.for_each import for_each
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.huggingface.trl_training import put_script, put_trl

VERSIONS = {"trl": (1, 9, 0), "transformers": (5, 24, 0)}
SFT = load_table("trl_sft", VERSIONS)


def told(trainer="sft", **settings):
    found = {}
    put_trl(found, written(table=SFT, **settings), VERSIONS, trainer)
    return words(found)


@for_each(
    ("settings", "on_prompt"),
    [
        ({"completion_only_loss": True}, False),
        ({"assistant_only_loss": True}, False),
        ({"completion_only_loss": False}, True),
        ({}, None),
    ],
)
def test_the_loss_on_prompts_is_told_where_it_is_chosen(settings, on_prompt):
    assert told(**settings).get("loss_on_prompt") is on_prompt


def test_an_old_name_of_the_length_counts_where_the_new_one_is_missing():
    assert told(max_seq_length=512)["sequence_length"] == 512
    assert told(max_length=256)["sequence_length"] == 256
    assert told()["sequence_length"] == 1024


@pytest.mark.parametrize(("fp16", "autocast"), [(False, "bf16"), (True, None)])
def test_bf16_is_the_default_unless_fp16_is_chosen(fp16, autocast):
    assert told(fp16=fp16).get("autocast") == autocast


def test_the_dtype_stands_in_the_models_arguments():
    assert told(model_init_kwargs__dtype="bfloat16")["weights_dtype"] == "bf16"


def test_a_script_without_an_adapter_trains_all():
    found = {}
    table = load_table("trl_script", VERSIONS)
    put_script(found, written(table=table, use_peft=False, dtype="auto"), VERSIONS)
    assert words(found) == {"weights_dtype": "auto", "adapter": "none"}
