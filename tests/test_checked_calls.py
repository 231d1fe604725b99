import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeGuard, TypeVar

import pytest
import torch
from beartype import beartype
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float, Int, TypeCheckError
from torch import Tensor

from tests.checked_calls import (
    EVERY,
    FIRST,
    ROUND,
    begin_test,
    decorated,
    own_code,
    parts_of,
    quickly_checked,
)
from tests.for_each import for_each
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
    begin_test()  # whose first calls are checked
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


def test_a_function_has_its_own_code_between_checks_and_is_checked_again_with_wrappers_and_in_the_next_test():
    @decorated
    def wrapped(row: str) -> int:
        return len(row)

    def is_refused() -> bool:
        try:
            lengths("a")
        except BeartypeCallHintViolation:
            return True
        return False

    begin_test()
    assert [is_refused() for _ in range(FIRST + EVERY)] == [True] * FIRST + [False] * EVERY
    for _ in range(ROUND * EVERY):
        wrapped("a")
    assert [is_refused(), is_refused()] == [True, False]
    begin_test()
    assert is_refused()


def test_another_process_is_given_functions_with_their_own_code():
    begin_test()
    with own_code():
        assert lengths("ab") == 2
    with pytest.raises(BeartypeCallHintViolation):
        lengths("ab")


def test_a_function_looks_as_if_it_had_no_checks():
    assert str(inspect.signature(lengths)) == "(rows: list[str]) -> int"
    assert "def lengths" in inspect.getsource(lengths)
    assert lengths.__name__ == lengths.__code__.co_name == "lengths"


@for_each(
    ("hint", "good", "bad"),
    [
        (int, 1, "1"),
        (None, None, 1),
        (Path | None, None, "a"),
        (list[str], ["a"], [1]),
        (tuple[int, ...], (1, 2), ("a",)),
        (Mapping[str, Any], {"a": 1}, ["a"]),
        (Callable[[int], str], str, "str"),
        (Iterator[int], iter([1]), [1]),
        (Literal["a", "b"], "a", "c"),
        (type[int], bool, "bool"),
        (torch.device, torch.device("cpu"), "cpu"),
        (Tensor, torch.ones(1), 1.0),
    ],
)
def test_a_quick_check_lets_through_and_refuses_what_beartype_does(hint, good, bad):
    def takes(value, *, named=good):
        return "taken"

    def gives(value):
        return value

    takes.__annotations__ = {"value": hint, "named": hint}
    gives.__annotations__ = {"return": hint}
    for checked in (beartype, lambda each: quickly_checked(each, [*parts_of(hint)])):
        assert (checked(takes)(good), checked(takes)(good, named=good)) == ("taken", "taken")
        assert checked(gives)(good) is good
        for call in (
            lambda checked=checked: checked(takes)(bad),
            lambda checked=checked: checked(takes)(value=bad),
            lambda checked=checked: checked(takes)(good, named=bad),
            lambda checked=checked: checked(gives)(bad),
        ):
            with pytest.raises(BeartypeCallHintViolation):
                call()


T = TypeVar("T")


def several(*values: int) -> int:
    return len(values)


def drawn(count: int) -> Iterator[int]:
    yield count


def default(count: int = "one") -> int:
    return 1


@for_each(
    ("function", "hint"),
    [
        (several, int),
        (drawn, int),
        (default, int),
        (len, "Path"),
        (len, list[T]),
        (len, Self),
        (len, TypeGuard[int]),
    ],
    called=str,
)
def test_what_it_cannot_check_is_left_to_beartype(function, hint):
    def plain(value):
        return value

    plain.__annotations__ = {"value": hint}
    assert quickly_checked(plain if function is len else function, [*parts_of(hint)]) is None


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
        begin_test()  # whose first calls are checked
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
        begin_test()  # whose first calls are checked
        with pytest.raises(BeartypeCallHintViolation):
            wrong()
