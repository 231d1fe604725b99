from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.data.demo_pairs import Listed
from trimtab.data.repeats import Group, find_repeats, find_shared
from trimtab.data.scan import loose, scan_corpus

PAIRS = st.lists(
    st.tuples(st.sampled_from(["A 1", "a 2", "b", "B!"]), st.sampled_from(["x", "X", "y"])), max_size=12
)


def scan(pairs):
    return scan_corpus(Listed(pairs), range(len(pairs)))


def repeated(values):
    return len(values) - len(set(values))


@given(PAIRS)
def test_repeats_are_counted_as_sets_count_them(pairs):
    found = find_repeats(scan(pairs))
    assert found.lines == len(pairs)
    assert found.source == repeated([source for source, _ in pairs])
    assert found.target == repeated([target for _, target in pairs])
    assert found.pair == repeated(pairs)
    assert found.loose_pair == repeated([(loose(source), loose(target)) for source, target in pairs])
    often = [(group.count, pairs[group.lines[0] - 1]) for group in found.groups]
    counts = Counter(pairs)
    assert all(counts[pair] == count for count, pair in often)
    assert [count for count, _ in often] == sorted((c for c in counts.values() if c > 1), reverse=True)[:5]


@given(PAIRS, PAIRS)
def test_shared_lines_are_counted_as_sets_count_them(valid, train):
    found = find_shared(scan(valid), scan(train), names=("dev", "train"))
    assert found.lines == len(valid)
    assert found.source == sum(source in {each for each, _ in train} for source, _ in valid)
    assert found.pair == sum(pair in set(train) for pair in valid)
    assert found.loose_source == sum(
        loose(source) in {loose(each) for each, _ in train} for source, _ in valid
    )
    for here, there in found.places:
        assert valid[here - 1] == train[there - 1]


def test_groups_name_their_first_lines():
    pairs = [("a", "b"), ("c", "d"), ("a", "b"), ("a", "b"), ("c", "d"), ("a", "b")]
    assert find_repeats(scan(pairs)).groups == (Group(4, (1, 3, 4)), Group(2, (2, 5)))
