from tests.data.formats.test_aligned import write
from trimtab.data.formats.reversed import ReversedPairs


def test_target_and_source_change_places_on_the_same_files(tmp_path):
    pairs = write(tmp_path, b"one\ntwo\n", b"eins\nzwei\n")
    reverse = ReversedPairs(pairs)
    assert [reverse.pair(line) for line in range(len(reverse))] == [("eins", "one"), ("zwei", "two")]
    assert reverse.fingerprint not in ("", pairs.fingerprint)
