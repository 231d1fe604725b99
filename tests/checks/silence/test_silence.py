from trimtab.checks.place import Place
from trimtab.checks.silence.silence import Silence


def test_two_silences_of_the_same_words_at_two_places_are_two():
    one, other = (Silence(rules=("S104",), because="x", place=Place("a.yaml", line)) for line in (1, 2))
    assert len({one, other}) == 2
    assert (one.line, one.is_certain) == (0, True)
