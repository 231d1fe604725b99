import pytest

from trimtab.errors import InputError
from trimtab.tasks.labels import MOST_NAMED, Labels, load_labels, numbered, save_labels


def test_the_fingerprint_is_that_of_the_labels_in_their_order():
    assert Labels(("a", "b")).fingerprint != Labels(("b", "a")).fingerprint
    assert Labels(("a", "b")).fingerprint == Labels(("a", "b")).fingerprint


def test_labels_of_any_script_come_back_from_the_folder_of_a_run(tmp_path):
    labels = Labels(("Meer", "çiçek", "海"))
    save_labels(labels, tmp_path / "new" / "tokenizer")
    assert load_labels(tmp_path / "new" / "tokenizer") == labels


def test_each_unknown_name_is_reported_once_where_it_is_first_up_to_so_many():
    names = ["a", "x", "b", "x", *(f"y{number}" for number in range(MOST_NAMED))]
    with pytest.raises(InputError) as caught:
        numbered(
            names, {"a": 0, "b": 1}, key="{k}", place="line {}".format, what="bad", allowed="a, b", fix="no"
        )
    problems = caught.value.problems
    assert len(problems) == MOST_NAMED
    assert (problems[0].what, problems[0].got) == ("{k}: line 1: bad", "'x'")
    assert numbered("ab", {"a": 0, "b": 1}, key="k", place=str, what="", allowed="", fix="") == [0, 1]
