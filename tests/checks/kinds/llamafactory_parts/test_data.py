from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import told
from tests.for_each import for_each
from trimtab.checks.kinds.llamafactory import KIND

HEAD = "model_name_or_path: a\nfinetuning_type: lora\ndo_train: true\noutput_dir: out\ndataset: b\n"


def run(more="stage: sft\n"):
    return told(KIND, HEAD + more)


@for_each(
    ("more", "packs", "isolates"),
    [
        ("stage: sft\n", False, None),
        ("stage: pt\n", True, False),
        ("stage: pt\npacking: false\n", False, None),
        ("stage: sft\npacking: true\n", True, False),
        ("stage: sft\nneat_packing: true\n", True, True),
    ],
)
def test_packing_is_on_for_pretraining_and_only_the_neat_one_isolates(more, packs, isolates):
    assert values(run(more), "packing", "packing_isolated") == (packs, isolates)


@for_each(("stage", "task"), [("rm", "reward"), ("dpo", "preference"), ("ppo", None), ("pt", "pretrain")])
def test_stages_are_tasks(stage, task):
    assert run(f"stage: {stage}\n").value("task") == task


def test_tokens_stand_between_commas():
    more = "stage: sft\nadd_tokens: <a>,<b>\nadd_special_tokens: <c>\n"
    assert run(more).value("added_tokens") == ["<a>", "<b>", "<c>"]


def test_validation_is_a_share_or_a_set():
    assert run().value("validation") is False
    assert run("stage: sft\nval_size: 0.1\n").value("validation") is True
    assert run("stage: sft\neval_dataset: c\n").value("validation") is True
