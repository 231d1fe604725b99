import dataclasses
import math

import pytest
import torch

from tests.fake_ranks import Twins
from tests.small_run import small_parts
from trimtab.build import build, compile_layers
from trimtab.errors import InputError

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Built from the small recipe, not trained; tests leave its weights as they are."""
    return small_parts(tmp_path_factory.mktemp("build"))


def recipe_with(parts, **sections):
    """The recipe of the parts, changed: `step={"schedule": ...}` or `length="3 epochs"`."""
    tree = parts.recipe.model_dump(mode="json")
    for name, value in sections.items():
        tree[name] = {**tree[name], **value} if isinstance(value, dict) else value
    return type(parts.recipe).model_validate(tree)


def test_the_same_recipe_gives_the_same_weights_and_another_seed_gives_others(parts):
    again = build(parts.recipe, parts.datasets, device=CPU).model.state_dict()
    other = build(recipe_with(parts, seed=2), parts.datasets, device=CPU).model.state_dict()
    for name, tensor in parts.model.state_dict().items():
        assert torch.equal(tensor, again[name]), name
    assert not torch.equal(parts.model.output_matrix, other["embedding.weight"])


def test_the_objective_is_the_summed_loss_of_the_window_however_it_is_cut(parts):
    parts.model.eval()
    window, packs = next(parts.stream.batches(0))
    whole = parts.batching.cut(
        window, dataclasses.replace(parts.batching.shape, num_packs=1, target_slots=320, source_slots=640)
    )
    with torch.no_grad():
        sums = [sum(float(parts.stepper.objective(pack).loss) for pack in cut) for cut in (packs, whole)]
    assert (len(packs), len(whole)) == (2, 1)
    assert sums[0] == pytest.approx(sums[1], rel=1e-6)
    assert sums[0] / window.num_targets == pytest.approx(math.log(66), rel=0.15)


def test_a_precision_that_the_device_lacks_is_wrong_input(parts):
    asked = recipe_with(parts, step={"precision": "fp16_mixed"})
    with pytest.raises(InputError, match="needs a GPU"):
        build(asked, parts.datasets, device=CPU)


def test_weights_that_ranks_would_round_differently_are_wrong_input_before_anything_is_trained(parts):
    recipe = recipe_with(parts, step={"precision": "bf16"})
    with pytest.raises(InputError, match="differ by rank"):
        build(recipe, parts.datasets, device=CPU, ranks=Twins())


def test_gradients_that_are_released_cannot_be_added_over_ranks(parts):
    size = parts.recipe.step.tokens_per_step
    recipe = recipe_with(parts, step={"gradients": "released", "tokens_per_micro_batch": size})
    with pytest.raises(InputError, match="cannot be summed over ranks"):
        build(recipe, parts.datasets, device=CPU, ranks=Twins())


def test_every_piece_is_made_from_the_recipe(parts):
    recipe = recipe_with(parts, seed=2, length="9 steps", evaluate={"patience": 4})
    built = build(recipe, parts.datasets, device=CPU)
    assert (built.stepper.seed, built.stop_rule.patience) == (2, 4)
    assert str(built.stop_rule.length) == str(built.learning_rate.length) == "9 steps"
    assert built.learning_rate.peak == 1e-2
    assert set(built.learning_rate.multipliers) == {name for name, _ in built.model.named_parameters()}
    assert built.stepper.objective.model is built.model is built.evaluation_model.model
    assert built.stepper.graphs is None


def test_weights_that_match_a_pattern_keep_their_values(parts):
    def frozen(*patterns):
        model = {"warm_start": "runs/base"}
        return build(recipe_with(parts, freeze=list(patterns), model=model), parts.datasets, device=CPU)

    built = frozen("encoder.*", "embedding.weight")
    named = dict(built.model.named_parameters())
    wanted = {name for name in named if name.startswith("encoder.") or name == "embedding.weight"}
    assert wanted == built.model.frozen == {name for name, each in named.items() if not each.requires_grad}
    assert len(built.stepper.optimizer.parameters) == len(named) - len(wanted)


@pytest.mark.parametrize(("gradients", "donated"), [("released", False), ("kept", True)])
def test_graphs_of_compiled_layers_stay_for_a_second_backward_pass_where_gradients_are_released(
    parts, gradients, donated
):
    import torch._functorch.config as functorch

    compiled = []

    class Model:
        def compile_blocks(self):
            compiled.append(functorch.donated_buffer)

    size = parts.recipe.step.tokens_per_step
    recipe = recipe_with(parts, step={"gradients": gradients, "tokens_per_micro_batch": size})
    with functorch.patch(donated_buffer=True):
        compile_layers(recipe, Model())
    assert compiled == [donated]
