from tests.checks.kinds.describing import document
from tests.for_each import for_each
from trimtab.checks.document import Call, Entry
from trimtab.checks.place import Place
from trimtab.checks.read.arguments import Arguments, Positional, settle

HERE = Place("a.py")


def entry(key, value):
    return Entry(key=key, value=value, raw="", place=HERE, value_place=HERE)


def test_arguments_are_read_once_and_only_when_asked_for():
    asked = []

    def read():
        asked.append(1)
        return {"lr": entry("lr", 1)}

    arguments = Arguments(read)
    assert asked == []
    assert ("lr" in arguments, "eps" in arguments, arguments["lr"].value, list(arguments)) == (
        True,
        False,
        1,
        ["lr"],
    )
    assert arguments == {"lr": entry("lr", 1)}
    assert asked == [1]


def test_positional_values_have_a_length_from_the_start():
    def read():
        raise AssertionError("read too early")

    assert (len(Positional(2, read)), bool(Positional(2, read))) == (2, True)


def test_positional_values_are_like_a_tuple():
    values = Positional(2, lambda: (1, 2))
    assert (values[0], values[-1], values[:1], list(values), 2 in values) == (1, 2, (1,), [1, 2], True)
    assert values == (1, 2)
    assert values != (1,)


def test_a_settled_call_holds_nothing_that_it_was_read_from():
    call = Call(name="f", arguments=Arguments(dict), positional=Positional(1, lambda: (1,)), place=HERE)
    settled = settle(call)
    assert settled.arguments._read is None
    assert settled.positional._read is None


@for_each(
    ("text", "names", "has_rest"),
    [
        ("f(a=1, **{'b': 2})", ["a", "b"], False),
        ("f(a=1, **more)", ["a"], True),
        ("f(*more)", [], True),
        ("x = f(a=1)\nx.b = 2", ["a", "b"], False),
        ("x = f(a=1)\nsetattr(x, n, 2)", ["a"], True),
    ],
)
def test_whether_there_is_more_is_known_before_arguments_are_read(text, names, has_rest):
    call = next(call for call in document("a.py", f"import torch\n{text}\n").calls if call.name == "f")
    assert (call.has_rest, list(call.arguments)) == (has_rest, names)
