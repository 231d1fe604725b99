"""What following a script yields: values by how they were made, and the events that happen to them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from typing import Any, Final, Literal, cast

from trimtab.checks.document import UNKNOWN
from trimtab.checks.place import Place

Made = Literal[
    "constant", "list", "dict", "imported", "call", "attribute", "item", "element", "binary", "compare", "either",
    "parameter", "function", "class", "object", "bound", "unknown",
]  # fmt: skip


_no_values = cast("Callable[[], dict[str, Value]]", dict)
"""A call of `dict[str, Value]` itself takes four times as long, and one script has thousands of values."""


@dataclass(slots=True, eq=False, repr=False)
class Value:
    """One object, by how it was made. Two names hold the same object where they hold the same Value."""

    made: Made = "unknown"
    name: str = ""
    """Of `imported` and of a `call` the dotted name as the library has it (`torch.optim.AdamW`), of a method's call,
    an attribute, a parameter, an operator or a class its own name."""
    label: str = ""
    """The variable that first holds it."""
    of: "Value | None" = None
    """What it was taken from: the receiver of a method's call, the object of an attribute, the iterated value."""
    args: tuple["Value", ...] = ()
    keywords: dict[str, "Value"] = field(default_factory=_no_values)
    has_rest: bool = False
    """Whether `*args` or `**kwargs` may add arguments that cannot be seen."""
    constant: Any = UNKNOWN
    node: Any = field(default=None)
    """The function or class that it is; None for anything else."""
    place: Place | None = None
    index: int = 0
    """When it was made: larger than that of every event before."""
    fields: dict[str, "Value"] = field(default_factory=_no_values)
    frame: Any = None
    """Of a function: the names around it."""

    @property
    def last(self) -> str:
        """The last part of its name: `AdamW`, `from_pretrained`."""
        return self.name.rpartition(".")[2]

    def argument(self, index: int, name: str) -> "Value | None":
        """An argument of the call by position or by name."""
        if name in self.keywords:
            return self.keywords[name]
        return self.args[index] if 0 <= index < len(self.args) else None

    def parts(self) -> tuple["Value", ...]:
        """All values that it is made of directly."""
        of = (self.of,) if self.of is not None else ()
        return (*of, *self.args, *self.keywords.values())


@dataclass(slots=True, eq=False, repr=False)
class Block:
    """A stretch of a script with an inside: each time that it is entered, it is another Block."""

    kind: Literal["for", "while", "if", "else", "with", "except", "function", "comprehension"]
    value: Value | None = None
    """What is iterated over, tested, or entered; of a function the function."""
    statement: int = 0
    """The same number for an `if` and its `else`."""
    contexts: tuple[Value, ...] = ()
    is_left: bool = False
    """Whether a branch ends the loop or the function around it."""
    place: Place | None = None
    returned: tuple[Value, ...] = ()
    """Of a function what it gives back, each `return` by itself."""


@dataclass(slots=True, eq=False, repr=False)
class Event:
    """Something happens: a call, or a value set on an object (`model.config.use_cache = False`)."""

    kind: Literal["call", "set", "delete", "drop", "add", "name"]
    """`name`: a variable with "best" in its name gets a value; `drop`: an expression stands alone, so that nobody
    gets its value; `add`: `total += loss`."""
    name: str
    """Last part of what is called (`step`), or the attribute that is set or read; of an item `[]`."""
    subject: Value | None
    """The receiver of a method, the object that is changed."""
    value: Value
    """The call, or what is set."""
    path: tuple[Block, ...]
    index: int
    place: Place
    item: Value | None = None
    """The expression in the brackets of `labels[labels == 0] = -100`."""

    def within(self, block: Block) -> bool:
        """Whether it happens inside a block."""
        return any(each is block for each in self.path)

    def below(self, block: Block) -> tuple[Block, ...]:
        """The blocks between a block and the event."""
        for at, each in enumerate(self.path):
            if each is block:
                return self.path[at + 1 :]
        return ()


@dataclass(slots=True, eq=False, repr=False)
class Flow:
    """A whole script."""

    events: list[Event] = field(default_factory=list[Event])
    is_whole: bool = True
    """False where the script was too long to be followed to its end."""
    classes: dict[str, Value] = field(default_factory=dict[str, Value])
    constants: dict[str, Any] = field(default_factory=dict[str, Any])
    """Names of the script itself that hold a number, a text or a truth at its end."""

    texts: list[str] = field(default_factory=list[str])
    """Other files that were followed."""
    holders: list[Value] = field(default_factory=list[Value])
    """Functions and classes, which hold pieces of the syntax tree."""
    answers: dict[str, Any] = field(default_factory=dict[str, Any])
    """What several rules ask, kept by the one that asks first."""

    def release(self) -> None:
        """Lets go of the syntax tree, which is many times as large as all else."""
        for value in self.holders:
            value.node = value.frame = None

    def named(self, *names: str) -> Iterator[Event]:
        """Calls by the last part of their name, in the order in which they happen."""
        return self._found("call", names)

    def sets(self, *names: str) -> Iterator[Event]:
        """What is set on objects, by attribute."""
        return self._found("set", names)

    def drops(self, *names: str) -> Iterator[Event]:
        """Calls and attributes whose value nobody gets, by the last part of their name."""
        return self._found("drop", names)

    def each(self, kind: str) -> list[Event]:
        """All events of one kind, in order."""
        kinds: dict[str, list[Event]] | None = self.answers.get("<kinds>")
        if kinds is None:
            kinds = self.answers["<kinds>"] = {}
            for event in self.events:
                kinds.setdefault(event.kind, []).append(event)
        return kinds.get(kind, [])

    def inside(self, block: Block) -> list[Event]:
        """All events in a block, in order. A block is entered once, so that they follow one another."""
        spans: dict[int, list[int]] | None = self.answers.get("<spans>")
        if spans is None:
            spans = self.answers["<spans>"] = {}
            for at, event in enumerate(self.events):
                for each in event.path:
                    spans.setdefault(id(each), [at, at])[1] = at
        first, last = spans.get(id(block), (0, -1))
        return self.events[first : last + 1]

    def _found(self, kind: str, names: tuple[str, ...]) -> Iterator[Event]:
        index: dict[tuple[str, str], list[Event]] | None = self.answers.get("<index>")
        if index is None:
            index = self.answers["<index>"] = {}
            for event in self.events:
                index.setdefault((event.kind, event.name), []).append(event)
        lists = [found for name in dict.fromkeys(names) if (found := index.get((kind, name))) is not None]
        return iter(lists[0]) if len(lists) == 1 else merge(*lists, key=_order)


EMPTY: Final = Flow(is_whole=False)
"""Of a file that is no script."""


def _order(event: Event) -> int:
    return event.index


def walk_through(value: Value | None, *, most: int = 400) -> Iterator[Value]:
    """As `walk`, through the models of the script too: what their `forward` made of what they were given."""
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < most:
        each = waiting.pop(0)
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting.extend(each.parts())
        waiting.append(each.fields.get("<returned>"))


def walk(value: Value | None, *, most: int = 400) -> Iterator[Value]:
    """A value and all that it was made of, nearest first, each once."""
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < most:
        each = waiting.pop(0)
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting.extend(each.parts())
