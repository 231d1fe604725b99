import itertools

from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.transforms.filters import has_character_run


def longest_run(text):
    """The slow twin: the length of every run."""
    return max((len(list(run)) for _, run in itertools.groupby(text)), default=0)


@given(st.text("ab\n.", max_size=30), st.text("ab\n.", max_size=30), st.integers(1, 8))
def test_runs_are_those_of_the_slow_twin(source, target, most):
    expected = longest_run(source) > most or longest_run(target) > most
    assert has_character_run(source, target, most=most) == expected


def test_a_dotted_line_is_a_run_on_either_side():
    assert has_character_run("Contents ................. 7", "Inhalt", most=16)
    assert has_character_run("Contents", "Inhalt ................. 7", most=16)
    assert not has_character_run("Wait ...", "Warten ...", most=16)
