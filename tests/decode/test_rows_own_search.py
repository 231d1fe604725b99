import pytest

from trimtab.decode.rows import is_plain, searched
from trimtab.decode.sampling import Sampling
from trimtab.decode.search import Search
from trimtab.types import SearchesItself


class Library:
    """Finds for each row its own ids, reversed, and nothing, second."""

    def __init__(self):
        self.asked = []

    def search(self, source, *, limits, beam, n, length_penalty, exact):
        self.asked.append((list(limits), beam, n, length_penalty, exact))
        return [[(source.row(row).tolist()[:-1][::-1], -6.0), ([], -9.0)][:n] for row in range(len(source))]


def test_hypotheses_have_the_librarys_ids_and_scores_by_our_length():
    library = Library()
    assert isinstance(library, SearchesItself)
    search = Search(beam=3, length_penalty=2.0, stop="enough")
    found = searched(library, [[5, 6, 2], [7, 2]], limits=[8, 7], search=search, n=2)
    assert library.asked == [([8, 7], 3, 2, 2.0, False)]
    assert [[each.ids for each in few] for few in found] == [[[6, 5], []], [[7], []]]
    assert found[0][0].normalised == pytest.approx(-6 / 9)
    assert found[1][1].normalised == -9.0


def test_the_default_search_is_exact():
    library = Library()
    searched(library, [[5, 2]], limits=[4], search=Search(), n=1)
    assert library.asked[0][-1] is True


@pytest.mark.parametrize(
    ("search", "prefixes"),
    [
        (Search(sampling=Sampling()), [()]),
        (Search(no_repeat_ngram=3), [()]),
        (Search(), [(), (4,)]),
    ],
)
def test_what_needs_the_scores_of_each_step_is_not_plain(search, prefixes):
    assert not is_plain(search, prefixes)
    assert is_plain(Search(beam=1), [(), ()])
