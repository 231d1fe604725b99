from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
import torch
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float, Int, TypeCheckError
from torch import Tensor

from tests.checked_calls import EVERY, FIRST, begin_test, decorated
from tests.small_run import small_parts
from trimtab.tasks.text.probing import size
from trimtab.types import Ragged
from trimtab.units import Duration


@decorated
def lengths(rows: list[str]) -> int:
    return rows if rows == ["broken"] else len(rows)


@decorated
def outer(one: Float[Tensor, "a"], other: Float[Tensor, "b"]) -> Float[Tensor, "a b"]:
    return one[:, None] * other if len(one) < 5 else other[:, None] * one


@decorated
def pair(both: tuple[Int[Tensor, "n"], Int[Tensor, "n"]]) -> int:
    return len(both)


@decorated
@dataclass
class Point:
    x: int

    @decorated
    @staticmethod
    def twice(x: int) -> int:
        return 2 * x

    @decorated
    @classmethod
    def at(cls, x: int) -> "Point":
        return cls(x)

    @decorated
    @property
    def place(self) -> int:
        return "here" if self.x == 0 else self.x

    @contextmanager
    @decorated
    def inside(self, by: int) -> Iterator[int]:
        yield self.x + by


def test_an_argument_of_another_type_is_refused():
    assert lengths(["a"]) == 1
    with pytest.raises(BeartypeCallHintViolation):
        lengths("a")


def test_a_result_of_another_type_is_refused():
    with pytest.raises(BeartypeCallHintViolation):
        lengths(["broken"])


def test_axes_of_one_name_must_be_alike_in_arguments_and_in_the_result():
    assert outer(torch.ones(2), torch.ones(3)).shape == (2, 3)
    with pytest.raises(BeartypeCallHintViolation):
        outer(torch.ones(2, 1), torch.ones(3))
    with pytest.raises(BeartypeCallHintViolation):
        outer(torch.ones(6), torch.ones(3))


def test_shapes_inside_other_annotations_count_too():
    assert pair((torch.tensor([1]), torch.tensor([2]))) == 2
    with pytest.raises(BeartypeCallHintViolation):
        pair((torch.tensor([1]), torch.tensor([2, 3])))


def test_what_only_a_type_checker_can_name_is_passed_over_and_the_rest_is_checked():
    @decorated
    def told(report: "NowhereDefined", numbers: "zip[int]", times: int) -> None:
        pass

    told("anything", [], 1)
    with pytest.raises(TypeCheckError):
        told("anything", [], "1")


def test_of_many_calls_the_first_are_checked_and_some_of_the_later_ones_in_every_test_anew():
    @decorated
    def length(rows: list[str]) -> int:
        return len(rows)

    def refused() -> list[bool]:
        found = []
        for _ in range(FIRST + 3 * EVERY):
            try:
                length("a")
            except BeartypeCallHintViolation:
                found.append(True)
            else:
                found.append(False)
        return found

    begin_test()
    once = refused()
    assert all(once[:FIRST])
    assert sum(once[FIRST:]) == 3
    begin_test()
    assert refused() == once


def test_axes_of_one_call_are_not_those_of_a_call_inside_it():
    @decorated
    def around(one: Float[Tensor, "a"]) -> Float[Tensor, "a"]:
        outer(torch.ones(4), torch.ones(2))
        return one

    assert len(around(torch.ones(3))) == 3


def test_classes_methods_properties_and_generators_are_checked():
    with Point.at(Point.twice(2)).inside(1) as found:
        assert (found, Point(1).place) == (5, 1)
    for wrong in (
        lambda: Point("1"),
        lambda: Point.twice("1"),
        lambda: Point.at("1"),
        lambda: Point(0).place,
        lambda: Point(1).inside("1").__enter__(),
    ):
        with pytest.raises(BeartypeCallHintViolation):
            wrong()


def test_functions_classes_and_methods_of_trimtab_are_checked(tmp_path, pytestconfig):
    if not pytestconfig.getoption("--jaxtyping-packages"):
        pytest.skip("the import hook is off")
    parts = small_parts(tmp_path)
    for wrong in (
        lambda: Duration.parse(3),
        lambda: Duration(count="3", unit="steps"),
        lambda: Ragged.of([[1], [2]]).between("0", 1),
        lambda: size(torch.ones(2, 3), torch.ones(4, dtype=torch.bool)),
        lambda: parts.stepper.objective("pack"),  # defined inside another function
        lambda: parts.learning_rate.at(3),
    ):
        with pytest.raises(BeartypeCallHintViolation):
            wrong()
