"""Which weights each rank of a placement trains."""

from pathlib import Path
from typing import Any

import pytest

from tests.fake_ranks import Twins as OtherTwin
from tests.model.modular.test_modular import modular
from tests.modular_run import modular_recipe
from trimtab.config.freezing import FrozenUntil
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.config.run import Recipe
from trimtab.errors import InputError
from trimtab.tasks.translation.placement import (
    described,
    held_by,
    placed_ranks,
    placement_of,
    refuse_idle,
    trained_later,
)


class Twins(OtherTwin):
    """Rank 0 of two, of which the other finds the same."""

    rank, is_first = 0, True


def recipe_of(folder: Path, **changes: Any) -> Recipe:
    return resolve_paths(load_recipe(modular_recipe(folder, **changes)))


SPLIT = [{"en-de": 0.5, "de-en": 1.0}, {"en-de": 0.5, "en-pt": 1.0, "pt-en": 1.0}]


def test_a_component_is_held_by_the_ranks_of_its_directions() -> None:
    model = modular()
    held = held_by(model, SPLIT)
    names = [name for each in held for name in each.weights]
    assert sorted(names) == sorted(name for name, _ in model.named_parameters())
    holders = {each.component: each.holders for each in held}
    assert holders["encoder.shared"] == holders["decoder.de"] == (0, 1)
    assert holders["decoder.pt"] == (1,)


def test_a_placement_for_other_ranks_is_refused_and_without_one_it_is_computed(tmp_path: Path) -> None:
    given = {"kind": "by_direction", "placement": [*SPLIT[:1], {}, *SPLIT[1:]]}
    with pytest.raises(InputError, match=r"rank 1 has no work[^$]*fix +give it a share"):
        recipe_of(tmp_path, parallel=given)
    one = [{name: 1.0 for each in SPLIT for name in each}]
    recipe = recipe_of(tmp_path, parallel={"kind": "by_direction", "placement": one})
    with pytest.raises(InputError, match="1 entries and 2 processes"):
        placement_of(recipe, Twins())
    recipe = recipe_of(tmp_path, parallel={"kind": "by_direction"})
    found = placement_of(recipe, Twins())
    total: dict[str, float] = {}
    for rank in found:
        for name, share in rank.items():
            total[name] = total.get(name, 0.0) + share
    assert total == pytest.approx(dict.fromkeys(recipe.model.directions, 1.0))


def test_what_needs_all_components_is_refused(tmp_path: Path) -> None:
    changes = {
        "step.optimizer": {"kind": "muon"},
        "step.clip": {"kind": "adaptive"},
        "step.ema": {"decay": 0.9},
    }
    for key, value in changes.items():
        with pytest.raises(InputError, match="needs all components on each process"):
            recipe_of(tmp_path, **{"parallel": {"kind": "by_direction"}, key: value})


def test_each_rank_is_described() -> None:
    told = described(SPLIT, held_by(modular(), SPLIT))
    assert told.startswith("rank 0: en-de 50%, de-en (")
    assert "rank 1: en-de 50%, en-pt, pt-en (" in told


def test_a_rank_that_would_train_nothing_is_refused() -> None:
    held = held_by(modular(), SPLIT)
    refuse_idle(SPLIT, held)
    with pytest.raises(InputError, match="rank 1 would train nothing"):
        refuse_idle(SPLIT, [each for each in held if 1 not in each.holders])


def test_a_rank_that_would_train_nothing_at_first_is_refused_on_each_rank(tmp_path: Path) -> None:
    """Both ranks of the twins find it, though it is true of one of them."""
    stages = {("embeddings.*", "encoder.*"): "2 steps", ("decoder.pt.*", "decoder.en.*"): "4 steps"}
    later = tuple(FrozenUntil(weights=names, until=until) for names, until in stages.items())
    placement = [{"en-de": 1.0}, {"de-en": 1.0, "en-pt": 1.0, "pt-en": 1.0}]
    given = {"kind": "by_direction", "placement": placement}
    recipe = recipe_of(tmp_path, parallel=given).model_copy(update={"freeze": later})
    for ranks in (Twins(), OtherTwin()):
        with pytest.raises(InputError, match="rank 1 would train nothing in the first steps") as caught:
            placed_ranks(recipe, modular(), ranks)
        assert "`freeze` for some of them" in str(caught.value)
    refuse_idle(placement, held_by(modular(), placement), later=trained_later(modular(), later[:1]))
