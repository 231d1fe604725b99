import torch

from trimtab.decode.lexical_constraints import Spelling, TermTables, tokens_needed

TERMS = [
    [(Spelling((5, 6, 5, 7)), Spelling((6,), proposed=False)), (Spelling((8,)),)],
    [(Spelling((4, 4)),)],
]


def tables() -> TermTables:
    return TermTables.of(TERMS, opens_word=torch.tensor([True] * 5 + [False] * 5))


def test_needed_tokens_are_those_of_the_shortest_proposed_spellings():
    assert [tokens_needed(row) for row in TERMS] == [5, 2]
    assert tokens_needed([(Spelling((4, 4)), Spelling((5,)))]) == 1
    assert tables().most_missing == 5


def test_progress_is_the_longest_beginning_that_the_text_ends_with():
    tail = torch.tensor([[[1, 5, 6, 5, 6], [5, 6, 5, 7, 8], [1, 1, 1, 4, 6]]] * 2)
    progress = tables().progress(tail)
    assert progress[0].tolist() == [
        [2, 0, 0],
        [0, 0, 1],
        [0, 1, 0],
    ]  # (6,) counts only where a word may begin
    assert progress[1, 2].tolist() == [0, 0, 0]


def test_what_is_missing_counts_one_term_that_is_begun():
    table = tables()
    met = torch.tensor([[[False, False, True]], [[False, True, True]]])
    begun = torch.tensor([[[3, 0, 0]], [[1, 0, 0]]])
    assert table.missing(met, begun).tolist() == [[2], [1]]
    assert table.following(begun)[:, 0, 0].tolist() == [7, 4]
    whole = torch.tensor([[[4, 0, 0]], [[2, 0, 0]]])
    now = table.met_with(met, whole)
    assert now.tolist() == [[[True, False, True]], [[True, True, True]]]
    assert table.missing(now, whole).tolist() == [[1], [0]]
    assert table.wanted(now).tolist() == [[[False, False, True]], [[False, False, False]]]


def test_rows_can_be_dropped():
    table = tables().kept(torch.tensor([1]))
    assert table.shortest.tolist() == [[2, 0, 0]]
    assert table.ids[0, 0].tolist() == [4, 4, -1, -1]
