from hypothesis import given
from hypothesis import strategies as st

from tests.data.demo_pairs import Listed, demo_pairs
from trimtab.data.repeats import find_shared
from trimtab.data.scan import scan_corpus
from trimtab.data.shared_pairs import HeldOut, SharedPairs, find_shared_pairs

SIDES = st.sampled_from(["", "a", "b", "A", "a.", "ä", "a\u0308"])
PAIRS = st.lists(st.tuples(SIDES, SIDES), max_size=20)


@given(st.lists(PAIRS, min_size=1, max_size=3), PAIRS, st.data())
def test_as_many_are_found_at_the_same_places_as_by_scans_of_both(valid, train, data):
    some = [data.draw(st.lists(st.integers(0, max(0, len(each) - 1)), unique=True).map(sorted)) if each else []
            for each in (*valid, train)]  # fmt: skip
    *held, lines = some
    sets = [
        HeldOut(f"dev{number}", [*numbers], [pairs[line] for line in numbers])
        for number, (pairs, numbers) in enumerate(zip(valid, held, strict=True))
    ]
    fast = find_shared_pairs(sets, train="train", pairs=[(line, train[line]) for line in lines])
    scan = scan_corpus(Listed(train), lines)
    for number, (pairs, numbers) in enumerate(zip(valid, held, strict=True)):
        slow = find_shared(scan_corpus(Listed(pairs), numbers), scan, names=(f"dev{number}", "train"))
        assert fast[number] == SharedPairs(slow.valid, slow.train, slow.lines, slow.pair, slow.places)


def test_pairs_of_real_text_are_found_at_their_first_line():
    pairs = demo_pairs(1000)
    held = HeldOut("dev", [4, 9, 20], [pairs[700], ("no", "nein"), pairs[300]])
    (found,) = find_shared_pairs([held], train="train", pairs=enumerate([*pairs, *pairs]))
    first = {pair: pairs.index(pair) + 1 for pair in pairs}
    assert (found.lines, found.pair) == (3, 2)
    assert found.places == ((5, first[pairs[700]]), (21, first[pairs[300]]))
