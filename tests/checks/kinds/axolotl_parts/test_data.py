import pytest

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import told
from trimtab.checks.kinds.axolotl import KIND

HEAD = "base_model: a\nlearning_rate: 1e-4\n"
SETS = "datasets: [{path: b}]\n"


def run(more=SETS):
    return told(KIND, HEAD + more)


@pytest.mark.parametrize(
    ("more", "task"),
    [
        (SETS, "language_model"),
        (SETS + "rl: dpo\n", "preference"),
        (SETS + "rl: grpo\n", None),
        (SETS + "reward_model: true\n", "reward"),
        (SETS + "processor_type: AutoProcessor\n", None),
        ("pretraining_dataset: [{path: b}]\n", "pretrain"),
    ],
)
def test_the_task_is_told_where_there_is_a_word_for_it(more, task):
    assert run(more).value("task") == task


@pytest.mark.parametrize(
    ("more", "isolates"),
    [
        ("sample_packing: true\n", None),
        ("sample_packing: true\nattn_implementation: flash_attention_2\n", True),
        ("sample_packing: true\nattn_implementation: eager\n", False),
        ("sample_packing: true\nattn_implementation: sdpa\nsdpa_varlen: true\n", True),
        ("", None),
    ],
)
def test_packed_documents_are_apart_where_the_attention_can_do_it(more, isolates):
    assert run(SETS + more).value("packing_isolated") is isolates


def test_tokens_that_are_added_are_gathered():
    more = "tokens: ['<a>']\nspecial_tokens: {pad_token: '<p>', additional_special_tokens: ['<b>']}\n"
    assert values(run(SETS + more), "added_tokens", "pad_token") == (["<a>", "<b>"], "<p>")


def test_a_share_or_a_set_is_validation_data():
    assert run().value("validation") is False
    assert run(SETS + "val_set_size: 0.05\n").value("validation") is True
    assert run(SETS + "test_datasets: [{path: c}]\n").value("validation") is True
