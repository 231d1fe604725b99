from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.optimizer_names import OptimizerName, take_apart


@for_each(
    ("name", "parts"),
    [
        ("adamw_torch_fused", OptimizerName("adamw")),
        ("paged_adamw_8bit", OptimizerName("adamw", 8, True)),
        ("paged_adamw_32bit", OptimizerName("adamw", 32, True)),
        ("PagedAdamW8bit", OptimizerName("adamw", 8, True)),
        ("ao_adamw_4bit", OptimizerName("adamw", 4)),
        ("galore_adamw_8bit_layerwise", OptimizerName("galore", 8)),
        ("adalomo", OptimizerName("lomo")),
        ("ademamix", OptimizerName("ademamix", 32)),
        ("came_pytorch", OptimizerName("came")),
        ("schedule_free_adamw", OptimizerName("schedule_free")),
        ("rmsprop_bnb_8bit", OptimizerName("rmsprop", 8)),
        ("something new", None),
    ],
)
def test_a_name_says_kind_bits_and_paging(name, parts):
    assert take_apart(name) == parts


@for_each("name", load_table("transformers").keys["optim"].choices)
def test_every_optimizer_of_transformers_has_a_kind(name):
    assert take_apart(name) is not None


@given(st.text())
def test_any_text_may_be_asked(name):
    take_apart(name)
