from trimtab.checks.concepts import CONCEPTS


def test_every_word_has_a_plain_type_that_a_file_can_hold():
    assert {concept.type for concept in CONCEPTS.values()} <= {str, bool, int, float, list}


def test_words_are_named_as_keys_are():
    assert all(name.isidentifier() and name == name.lower() for name in CONCEPTS)
