from trimtab.data.transforms.filters import has_long_word


def test_a_word_is_what_is_between_spaces():
    assert not has_long_word("a " * 50, "b" * 10, most=10)
    assert has_long_word("a", "b\t" + "c" * 11 + " d", most=10)
    assert has_long_word("a" * 11, "b", most=10)
    assert not has_long_word(" " * 20, "", most=10)
