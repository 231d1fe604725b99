from types import SimpleNamespace

import pytest
import torch

from tests.fake_ranks import Twins, Unasked
from trimtab.errors import InputError
from trimtab.training.preflight.ranks import check_same_on_all, differences, facts_of, said_of, weights_mark

FACTS = {"torch": "2.13.0", "recipe.seed": "1", "the first weights": "ab"}


def test_equal_facts_are_no_problem():
    assert differences([FACTS, dict(FACTS), dict(FACTS)], ["a", "a", "b"]) == []


@pytest.mark.parametrize("name", FACTS)
def test_a_rank_that_differs_is_named_with_both_values(name):
    (problem,) = differences([FACTS, FACTS, FACTS | {name: "other"}], ["a", "a", "b"])
    assert problem.what == f"{name}: is not the same on all ranks"
    assert problem.got == "other on rank 2 (b)"
    assert problem.allowed == f"{FACTS[name]}, as on rank 0 (a)"


def test_a_fact_that_one_rank_lacks_is_a_difference():
    (problem,) = differences([FACTS, {name: FACTS[name] for name in list(FACTS)[:2]}], ["a", "b"])
    assert problem.got == "nothing on rank 1 (b)"


def test_several_that_differ_are_all_named():
    (problem,) = differences([FACTS, FACTS | {"torch": "3"}, FACTS | {"torch": "4"}], ["a", "b", "c"])
    assert "rank 1 (b), and others on ranks 2" in problem.got


def test_the_mark_of_weights_changes_with_a_value_a_place_a_name_and_a_shape():
    weights = {"a": torch.tensor([1.0, 2.0]), "b": torch.ones(2, 2)}
    others = (
        {**weights, "a": torch.tensor([2.0, 1.0])},
        {**weights, "a": torch.tensor([1.0, 2.0 + 1e-6])},
        {**weights, "b": torch.ones(4)},
        {"c": weights["a"], "b": weights["b"]},
    )
    marks = [weights_mark(each) for each in (weights, *others)]
    assert len(set(marks)) == len(marks)
    assert weights_mark({name: each.clone() for name, each in weights.items()}) == marks[0]


def test_the_rank_whose_gradient_is_not_that_of_the_others_is_named():
    said = said_of([1e-7, 0.5, 1e-7], [2.0, 9.0, 2.0], bound=1e-4)
    assert "of rank 1 alone" in said
    assert said.endswith("; that of rank 1 is not that of the others")


def test_one_process_is_asked_nothing():
    assert check_same_on_all(None, {}, Unasked()) == ""


class Late(Twins):
    """The other rank has another version and a clock that is behind."""

    def __init__(self, **facts):
        self.facts = facts

    def gather(self, content):
        theirs = {
            **content,
            "time": content["time"] - 90,
            "host": "other",
            "facts": content["facts"] | self.facts,
        }
        return [theirs, content]


def test_another_version_on_one_rank_ends_the_run_and_another_clock_is_only_told():
    parts = SimpleNamespace(model=torch.nn.Linear(2, 2), device=torch.device("cpu"))
    with pytest.raises(InputError, match="torch: is not the same on all ranks"):
        check_same_on_all(parts, {}, Late(torch="1.0"))
    assert "the clock of other (rank 0) is 90 s behind" in check_same_on_all(parts, {}, Late())


def test_where_a_host_has_its_validation_files_is_its_own_matter():
    parts = SimpleNamespace(model=torch.nn.Linear(2, 2), device=torch.device("cpu"))
    marks = {"recipe.data.valid.dev.source": "here", "recipe.data.workers": "2", "data.valid.dev": "ab"}
    facts = facts_of(parts, marks)
    assert "data.valid.dev" in facts
    assert not [name for name in facts if name.startswith("recipe.data")]
