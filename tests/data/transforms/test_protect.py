import pickle

from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.transforms import ProtectTransform
from trimtab.data.transforms.protect import protector_of

PARTS = [
    "<ph0>",
    "<ph1>",
    "<ph2>",
    "%s",
    "{0}",
    "{n}",
    "7",
    "12",
    "<b>",
    "</b>",
    "http://a.b",
    " ",
    "x",
    "<ph",
    "1>",
]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)


def protector(**settings):
    return protector_of(ProtectTransform(**settings))


def put_back(text, values):
    """The slow twin of restoring what no model has touched: one symbol after another, from the left."""
    out, rest = "", text
    while rest:
        number = next((n for n in range(len(values)) if rest.startswith(f"<ph{n}>")), None)
        out, rest = (out + rest[0], rest[1:]) if number is None else (out + values[number], rest[5:])
    return out


def test_each_different_value_has_a_number_in_the_order_of_the_text():
    protected = protector().protect("Open {0} at https://a.b/c, not {0}")
    assert protected.text == "Open <ph0> at <ph1>, not <ph0>"
    assert protected.values == ("{0}", "https://a.b/c")


def test_in_a_pair_only_what_both_sides_have_becomes_a_symbol():
    source, target = "Copy %s to %d, see http://a.com", "Siehe http://b.de, %s kopieren"
    assert protector().protect_pair(source, target) == (
        "Copy <ph0> to %d, see http://a.com",
        "Siehe http://b.de, <ph0> kopieren",
    )


def test_both_sides_have_the_same_number_for_the_same_value():
    assert protector().protect_pair("{a} of {b}", "{b}: {a}") == ("<ph0> of <ph1>", "<ph1>: <ph0>")


def test_a_pair_with_a_symbols_spelling_on_one_side_is_dropped():
    assert protector().protect_pair("Type <ph0>", "Tippen") is None
    assert protector().protect_pair("Type <ph7> %s", "Tippen <ph7> %s") == (
        "Type <ph0> <ph1>",
        "Tippen <ph0> <ph1>",
    )


def test_values_beyond_the_symbols_stay_and_spellings_of_symbols_never_do():
    assert protector(symbols=1).protect("%s {0}").text == "<ph0> {0}"
    protected = protector(symbols=1).protect("%s <ph0>")
    assert (protected.text, protected.values) == ("%s <ph0>", ("<ph0>",))


def test_a_reference_has_symbols_for_what_the_source_has():
    assert protector().protect_reference("{a} {b}", "{b} {c}") == "<ph1> {c}"


@given(TEXTS, st.integers(1, 4))
def test_symbols_in_the_text_always_stand_for_something(text, symbols):
    protect = protector(symbols=symbols)
    protected = protect.protect(text)
    assert {f"<ph{n}>" for n in range(len(protected.values))} == set(protect.symbol.findall(protected.text))
    assert put_back(protected.text, protected.values) == text


@given(TEXTS, TEXTS, st.integers(1, 4))
def test_both_sides_of_a_pair_have_the_same_symbols(source, target, symbols):
    protect = protector(symbols=symbols)
    pair = protect.protect_pair(source, target)
    if pair is not None:
        assert set(protect.symbol.findall(pair[0])) == set(protect.symbol.findall(pair[1]))


def test_it_may_be_pickled():
    assert pickle.loads(pickle.dumps(protector())) == protector()
