import pytest

from tests.checks.rules.findings import runs_of
from tests.checks.written import run_of, setting
from tests.for_each import for_each
from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.rules.c102_value_out_of_range import check


@for_each(
    ("concept", "value"),
    [
        ("learning_rate", -1.0), ("beta2", 1.0), ("beta1", 1.5), ("label_smoothing", 1.0), ("warmup_ratio", 1.5),
        ("dropout", -0.1), ("accumulation", 0), ("accumulation", -4), ("micro_batch", 0), ("lora_rank", 0),
        ("lora_alpha", 0.0), ("clip", -1.0), ("epsilon", -1e-8), ("learning_rate", float("nan")),
    ],
)  # fmt: skip
def test_what_no_meaning_allows_is_an_error(concept, value):
    (one,) = check(run_of(concepts={concept: value}))
    assert one.finding.severity == "error"


@for_each(
    ("concept", "value"),
    [
        ("learning_rate", 0.0), ("beta2", 0.0), ("label_smoothing", 0.0), ("warmup_ratio", 1.0), ("accumulation", 1),
        ("clip", 0.0), ("dropout", 0.0), ("warmup_steps", 0),
    ],
)  # fmt: skip
def test_the_ends_of_a_range_are_allowed(concept, value):
    assert list(check(run_of(concepts={concept: value}))) == []


def test_the_tools_own_range_is_told_once():
    key = Key(name="lr", types=("number",), above=0, below=1)
    table = KeyTable(tool="x", version="1", source="s", keys={"lr": key})
    run = run_of(keys={"lr": 1.0}, concepts={"learning_rate": setting("lr", -1.0)}, table=table)
    (one,) = check(run)
    assert "above 0 and below 1" in one.finding.message


def test_a_default_is_nobodys_fault():
    assert list(check(run_of(concepts={"accumulation": setting("x", 0, origin="default")}))) == []


def test_booleans_are_no_numbers():
    key = Key(name="x", types=("number",), minimum=2)
    table = KeyTable(tool="x", version="1", source="s", keys={"x": key})
    assert list(check(run_of(keys={"x": True}, table=table))) == []


@pytest.mark.parametrize(("save_steps", "count"), [(-1, 0), (0.1, 0), (500, 0)])
def test_a_trainer_may_be_told_to_save_at_no_step(save_steps, count):
    text = f'{{"output_dir": "out", "per_device_train_batch_size": 8, "save_steps": {save_steps}}}'
    runs = runs_of("args.json", text)
    assert sum(len(list(check(run))) for run in runs) == count


def test_an_evaluation_at_negative_steps_is_none():
    (run,) = runs_of("args.json", '{"output_dir": "o", "per_device_train_batch_size": 8, "eval_steps": -1}')
    assert [found.key for found in check(run)] == ["eval_steps"]
