from trimtab.checks.edits import RemoveKey, RenameKey, SetValue
from trimtab.checks.fix.mend import Seen, mend
from trimtab.checks.place import Place
from trimtab.checks.read.yaml import read_yaml
from trimtab.checks.rule import Diagnosis
from trimtab.errors import input_error
from trimtab.finding import Finding


def looking(*rules):
    """A look that finds, for (key, edits, safety), the key where it is written."""

    def look(text):
        document = read_yaml("a.yaml", text)
        found = []
        for number, (key, edits, safety) in enumerate(rules):
            if key in document.entries:
                finding = Finding(code=f"X{number:03}", name="x", severity="error", message=f"{key} is wrong")
                found.append(
                    Diagnosis(finding=finding, place=Place("a.yaml"), key=key, edits=edits, safety=safety)
                )
        return Seen(document, tuple(found))

    return look


def codes(diagnoses):
    return [diagnosis.finding.code for diagnosis in diagnoses]


def test_only_what_leaves_the_training_as_it_is_is_mended_unless_more_is_asked_for():
    look = looking(
        ("old", (RenameKey("old", "new"),), "same training"), ("lr", (RemoveKey("lr"),), "changes training")
    )
    mended = mend("old: 1\nlr: 2\nseed: 3\n", look)
    assert (mended.text, codes(mended.done)) == ("new: 1\nlr: 2\nseed: 3\n", ["X000"])
    more = mend("old: 1\nlr: 2\nseed: 3\n", look, changes_training=True)
    assert (more.text, codes(more.done)) == ("new: 1\nseed: 3\n", ["X000", "X001"])


def test_two_findings_that_want_the_same_key_follow_one_another():
    look = looking(
        ("old", (RenameKey("old", "mid"),), "same training"), ("old", (RemoveKey("old"),), "same training")
    )
    mended = mend("old: 1\nb: 2\n", look)
    assert (mended.text, codes(mended.done), mended.left) == ("mid: 1\nb: 2\n", ["X000"], ())


def test_a_finding_with_several_edits_is_mended_whole_or_not_at_all():
    look = looking(("a", (RenameKey("a", "c"), RemoveKey("missing")), "same training"))
    mended = mend("a: 1\nb: 2\n", look)
    assert mended.text == "a: 1\nb: 2\n"
    assert [reason for _, reason in mended.left] == ["`missing` is not written in this file"]


def test_an_edit_that_leaves_the_finding_there_is_taken_back():
    mended = mend("a: 1\n", looking(("a", (SetValue("a", 2),), "same training")))
    assert mended.text == "a: 1\n"
    assert [reason for _, reason in mended.left] == ["the finding would still be there"]


def test_an_edit_that_changes_more_than_it_should_is_taken_back():
    mended = mend("a: &x 1\nb: *x\n", looking(("a", (SetValue("a", 2),), "same training")))
    assert mended.text == "a: &x 1\nb: *x\n"
    assert [reason for _, reason in mended.left] == ["something else would have changed too"]


def test_an_edit_after_which_the_file_cannot_be_read_is_taken_back():
    look = looking(("a", (RemoveKey("a"),), "same training"))

    def strict(text):
        if "a" not in text:
            raise input_error("not a configuration")
        return look(text)

    mended = mend("a: 1\nb: 2\n", strict)
    assert mended.text == "a: 1\nb: 2\n"
    assert [reason for _, reason in mended.left] == ["the file could not be read any more"]


def test_two_rules_that_undo_one_another_come_to_an_end():
    look = looking(
        ("a", (RenameKey("a", "b"),), "same training"), ("b", (RenameKey("b", "a"),), "same training")
    )
    mended = mend("a: 1\n", look)
    assert codes(mended.done) == ["X000", "X001"]
    assert [reason for _, reason in mended.left] == ["it came back after the fix"]
