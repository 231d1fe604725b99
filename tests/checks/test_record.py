"""Records beside what `dataclass(frozen=True, slots=True)` makes of the same class."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.checks.record import FEW, init_of, record


class Plain:
    name: str
    size: int = 3
    """With a default."""
    parts: list[int] = field(default_factory=list)
    note: Any = field(default=None, compare=False, repr=False)


class KeywordsOnly:
    at: float
    name: str = ""


class Counted:
    count: int

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError("negative")


class Empty:
    pass


def both(plain: type, **options: Any) -> tuple[Any, Any]:
    """The class as a record and as a dataclass, each from a copy."""
    members = {key: value for key, value in vars(plain).items() if key not in ("__dict__", "__weakref__")}
    # Each with fields of its own, which the decorators change.
    one, two = (
        type(plain.__name__, (), {key: copy.copy(value) for key, value in members.items()}) for _ in range(2)
    )
    return record(**options)(one), dataclass(frozen=True, slots=True, **options)(two)


PLAIN, KEYWORDS_ONLY = both(Plain), both(KeywordsOnly, kw_only=True)
VALUES = st.fixed_dictionaries(
    {"name": st.text(max_size=3)},
    optional={
        "size": st.one_of(st.integers(0, 2), st.floats(0, 1), st.just(float("nan"))),
        "parts": st.lists(st.integers(0, 1), max_size=2),
        "note": st.integers(0, 1),
    },
)


@given(one=VALUES, other=VALUES)
def test_a_record_is_shown_and_compared_as_a_dataclass_is(one, other):
    made, twin = PLAIN
    assert repr(made(**one)).endswith(repr(twin(**one)).partition("(")[2])
    assert (made(**one) == made(**other)) == (twin(**one) == twin(**other))
    assert made(**one) != twin(**one)
    assert made(**one) != "text"


@given(name=st.text(max_size=2), other=st.text(max_size=2))
def test_equal_records_have_the_same_hash(name, other):
    made, _ = KEYWORDS_ONLY
    one, two = made(at=1.0, name=name), made(at=1, name=other)
    assert (len({one, two}) == 1) == (name == other)
    if one == two:
        assert hash(one) == hash(two)


@pytest.mark.parametrize("call", [lambda made: made(), lambda made: made("a", 1, [], None, 2)])
def test_wrong_arguments_are_refused_with_the_words_of_a_dataclass(call):
    made, twin = both(Plain)
    with pytest.raises(TypeError) as ours:
        call(made)
    with pytest.raises(TypeError) as theirs:
        call(twin)
    assert str(ours.value).partition("(")[2] == str(theirs.value).partition("(")[2]


def test_the_same_is_said_at_the_second_call():
    made, _ = both(KeywordsOnly, kw_only=True)
    for _ in range(3):
        with pytest.raises(TypeError, match="positional"):
            made(1.0)
        assert made(at=2.0).at == 2.0


@pytest.mark.parametrize("calls", [1, FEW + 2])
@given(given=VALUES, by_position=st.integers(0, 4))
def test_a_call_fills_the_fields_as_a_dataclass_does_before_and_after_it_is_compiled(
    calls, given, by_position
):
    made, twin = both(Plain)
    names = ["name", "size", "parts", "note"]
    given, args = dict(given), []
    for name in names[:by_position]:
        if name not in given:
            break
        args.append(given.pop(name))
    for _ in range(calls):
        ours = made(*args, **given)
    theirs = twin(*args, **given)
    assert [repr(getattr(ours, name)) for name in names] == [repr(getattr(theirs, name)) for name in names]


@pytest.mark.parametrize("calls", [0, FEW + 2])
@pytest.mark.parametrize(
    "call", [lambda made: made(size=1), lambda made: made("a", name="b"), lambda made: made("a", other=1)]
)
def test_a_wrong_call_is_refused_before_and_after_it_is_compiled(calls, call):
    made, _ = both(Plain)
    for _ in range(calls):
        made("a")
    with pytest.raises(TypeError):
        call(made)


def test_defaults_are_made_anew_and_fields_are_those_of_a_dataclass():
    made, twin = both(Plain)
    one, two = made("a"), made("b")
    assert (one.size, one.parts, one.note) == (3, [], None)
    assert one.parts is not two.parts
    assert is_dataclass(one)
    assert [each.name for each in fields(made)] == [each.name for each in fields(twin)]
    assert made.__match_args__ == twin.__match_args__
    assert made.__slots__ == twin.__slots__


def test_a_record_cannot_be_changed():
    one = both(Plain)[0]("a")
    with pytest.raises(FrozenInstanceError, match="name"):
        one.name = "b"
    with pytest.raises(FrozenInstanceError, match="name"):
        del one.name
    with pytest.raises(FrozenInstanceError):
        one.other = 1
    assert replace(one, name="b").name == "b"
    assert one.name == "a"


def test_what_follows_the_fields_is_called():
    made, _ = both(Counted)
    assert made(1).count == 1
    with pytest.raises(ValueError, match="negative"):
        made(-1)


def test_a_record_without_fields():
    made, _ = both(Empty)
    assert made() == made()
    assert hash(made()) == hash(made())
    assert repr(made()).endswith("Empty()")


@record
class Kept:
    name: str
    inner: "Kept | None" = None


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_and_pickles_are_equal(again):
    one = Kept("a", Kept("b"))
    assert again(one) == one
    assert again(one) is not one


def test_a_record_can_be_matched():
    match Kept("a", Kept("b")):
        case Kept(name="a", inner=Kept(inside)):
            assert inside == "b"
        case _:
            pytest.fail("not matched")


def test_the_init_can_be_had_with_its_signature_before_any_call():
    @record
    class New:
        count: int
        """How many."""

    assert init_of(New).__annotations__ == {"count": int, "return": None}
    assert init_of(New) is init_of(New)
    assert init_of(Plain) is Plain.__init__


def test_wrong_types_are_refused_here_as_in_any_function_of_trimtab():
    from trimtab.checks.rule import Fix

    with pytest.raises(Exception, match="text"):
        Fix(3)  # pyright: ignore[reportArgumentType]


def test_methods_that_a_class_defines_itself_stay():
    @record
    class Own:
        name: str

        def __repr__(self) -> str:
            return f"<{self.name}>"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    assert repr(Own("a")) == "<a>"
    assert Own("a") == Own("b")
    assert hash(Own("a")) == 7
