from trimtab.checks.edits import AddKey, RemoveKey, RenameKey, SetValue


def test_edits_are_values_that_can_be_compared_and_kept_in_sets():
    edits = [SetValue("a", 1), SetValue("a", 1), AddKey("b", 2, "a"), RenameKey("a", "c"), RemoveKey("a")]
    assert len(set(edits)) == 4
    assert edits[0] == edits[1]
