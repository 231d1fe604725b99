import pytest

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import told
from tests.for_each import for_each
from trimtab.checks.kinds.axolotl import KIND

HEAD = "base_model: a\ndatasets: [{path: b}]\nlearning_rate: 1e-4\n"


def run(more=""):
    return told(KIND, HEAD + more)


def test_nothing_written_means_the_defaults_of_axolotl_and_below_it_of_transformers():
    assert values(run(), "optimizer", "schedule", "clip", "seed") == ("adamw", "cosine", 1.0, 42)
    assert values(run(), "micro_batch", "accumulation", "epochs", "beta2") == (1, 1, 1.0, 0.999)
    assert not run().is_written("clip")


@for_each(
    ("more", "steps", "ratio"),
    [
        ("", None, 0.03),
        ("max_steps: 1000\n", 30, None),
        ("max_steps: 100000\n", 100, None),
        ("warmup_ratio: 0.1\n", None, 0.1),
        ("warmup_steps: 0\n", 0, None),
        ("warmup_steps: 1\n", 2, None),
    ],
)
def test_a_warmup_is_inserted_where_none_is_written(more, steps, ratio):
    assert values(run(more), "warmup_steps", "warmup_ratio") == (steps, ratio)


def test_steps_win_over_epochs():
    both = run("max_steps: 50\nnum_epochs: 3\n")
    assert values(both, "steps", "epochs") == (50, None)


def test_a_batch_size_is_the_product_on_one_device():
    assert run("batch_size: 32\nmicro_batch_size: 4\n").value("accumulation") == 8


@pytest.mark.parametrize(
    ("optimizer", "compensates"),
    [("flash_adamw", True), ("optimi_adamw", True), ("adamw_torch_fused", False)],
)
def test_some_optimizers_compensate_the_rounding(optimizer, compensates):
    assert run(f"optimizer: {optimizer}\n").value("stochastic_rounding") is compensates


def test_optim_args_turn_stochastic_rounding_on():
    more = "optimizer: ao_adamw_8bit\noptim_args: {bf16_stochastic_round: true}\n"
    assert values(run(more), "stochastic_rounding", "optimizer_bits") == (True, 8)
