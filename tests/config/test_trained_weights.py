from tests.for_each import for_each
from trimtab.config.run import Recipe
from trimtab.config.trained_weights import weight_contradictions

WARM = {"preset": "tiny", "warm_start": "runs/base"}
LORA_B = {"optimizer": {"kind": "adamw", "learning_rate_multipliers": {"lora_b": 16}}}


@for_each(
    ("changes", "paths"),
    [
        ({"adapter": {"rank": 4}}, ["adapter"]),
        ({"adapter": {"rank": 4}, "model": WARM}, []),
        ({"adapter": {"rank": 4}, "model": WARM, "step": LORA_B}, []),
        ({"model": WARM, "step": LORA_B}, ["step.optimizer.learning_rate_multipliers.lora_b"]),
        ({"model": WARM, "freeze": ["encoder.*"]}, []),
        ({"freeze": ["encoder.*"]}, ["freeze"]),
        ({"adapter": {"rank": 4}, "model": WARM, "freeze": ["encoder.*"]}, ["freeze"]),
    ],
)
def test_adapters_and_frozen_weights_need_weights_that_are_trained(changes, paths):
    tree = {
        "data": {"train": [{"source": "a", "target": "b"}]},
        "model": {"preset": "tiny"},
        "length": "9 steps",
    }
    recipe = Recipe.model_validate(tree | changes)
    assert [complaint.path for complaint in weight_contradictions(recipe)] == paths
