from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import told
from tests.for_each import for_each
from trimtab.checks.kinds.axolotl import KIND

HEAD = "base_model: a\nlearning_rate: 1e-4\n"
SETS = "datasets: [{path: b}]\n"


def run(more=SETS, versions=None):
    return told(KIND, HEAD + more, versions)


@for_each(
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


@for_each(
    ("more", "axolotl", "isolates"),
    [
        ("sample_packing: true\n", None, False),
        ("sample_packing: true\nflash_attention: false\nsdp_attention: false\n", (0, 18), False),
        ("sample_packing: true\nattn_implementation: flash_attention_2\n", None, True),
        ("sample_packing: true\nattn_implementation: flash_attention_2\n", (0, 12), True),
        ("sample_packing: true\nattn_implementation: eager\n", (0, 12), False),
        ("sample_packing: true\nattn_implementation: eager\n", (0, 18), True),
        ("sample_packing: true\nattn_implementation: sdpa\n", None, None),
        ("sample_packing: true\nsdp_attention: true\n", (0, 16, 1), None),
        ("sample_packing: true\nsdp_attention: true\n", (0, 17), False),
        ("sample_packing: true\nsdp_attention: true\n", (0, 18, 0), True),
        ("sample_packing: true\nattn_implementation: sdpa\nsdpa_varlen: true\n", None, True),
        ("sample_packing: true\ngemma4_hybrid_attn_impl: true\n", None, None),
        ("", None, None),
    ],
)
def test_packed_documents_are_apart_where_the_attention_can_do_it_in_this_version(more, axolotl, isolates):
    versions = {} if axolotl is None else {"axolotl": axolotl}
    assert run(SETS + more, versions=versions).value("packing_isolated") is isolates


def test_tokens_that_are_added_are_gathered():
    more = "tokens: ['<a>']\nspecial_tokens: {pad_token: '<p>', additional_special_tokens: ['<b>']}\n"
    assert values(run(SETS + more), "added_tokens", "pad_token") == (["<a>", "<b>"], "<p>")


def test_a_share_or_a_set_is_validation_data():
    assert run().value("validation") is False
    assert run(SETS + "val_set_size: 0.05\n").value("validation") is True
    assert run(SETS + "test_datasets: [{path: c}]\n").value("validation") is True
