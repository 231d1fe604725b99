from pathlib import Path

import numpy as np
import pytest

from trimtab.config.corpora import TrainCorpus
from trimtab.data.corpus import open_corpora
from trimtab.data.mixture import Places
from trimtab.data.word_alignments import LinksTokens, open_alignments, token_links
from trimtab.errors import InputError
from trimtab.types import Ragged


def write(folder: Path, text: str) -> Path:
    path = folder / "links"
    path.write_text(text, encoding="utf-8")
    return path


def test_lines_become_links_and_are_turned_for_the_other_direction(tmp_path):
    alignments = open_alignments(write(tmp_path, "0-0 1-2\n\n 3-1\n"), num_pairs=3, cache=tmp_path)
    assert alignments.links(0).tolist() == [[0, 0], [1, 2]]
    assert alignments.links(1).shape == (0, 2)
    assert alignments.reversed().links(2).tolist() == [[1, 3]]
    assert alignments.reversed().fingerprint != alignments.fingerprint


@pytest.mark.parametrize("line", ["0-0 1", "0:0", "a-b", "0-0,1-1", "1 - 2", "-1-0", "0-0-1"])
def test_what_is_no_link_is_refused_with_its_line(tmp_path, line):
    alignments = open_alignments(write(tmp_path, f"0-0\n{line}\n"), num_pairs=2, cache=tmp_path)
    with pytest.raises(InputError, match="line 2 is no word alignment"):
        alignments.links(1)


def test_there_is_a_line_for_each_pair(tmp_path):
    with pytest.raises(InputError, match="another number of lines") as caught:
        open_alignments(write(tmp_path, "0-0\n"), num_pairs=2, cache=tmp_path)
    assert "1 lines for 2 pairs" in str(caught.value)


def test_a_corpus_knows_its_alignments_and_checks_their_words(tmp_path):
    (tmp_path / "en").write_text("a b\nc\n", encoding="utf-8")
    (tmp_path / "de").write_text("A B\nC D\n", encoding="utf-8")
    files = {"source": "en", "target": "de"}
    config = TrainCorpus(
        **files, alignments="links", both_directions=True, tags=("<1>",), reverse_tags=("<2>",)
    )
    write(tmp_path, "0-0 1-1\n0-0 0-1\n")
    corpus, turned = open_corpora([config], root=tmp_path, cache=tmp_path)
    (plain,) = open_corpora([TrainCorpus(**files)], root=tmp_path, cache=tmp_path)
    assert plain.alignments is None
    assert len({corpus.fingerprint, turned.fingerprint, plain.fingerprint}) == 3
    corpus.check()
    turned.check()
    assert turned.alignments is not None
    assert turned.alignments.links(1).tolist() == [[0, 0], [1, 0]]
    write(tmp_path, "0-0 1-1\n0-0 1-1\n")
    (wrong, _) = open_corpora([config], root=tmp_path, cache=tmp_path)
    with pytest.raises(InputError, match="line 2 has a link to a word that the source does not have"):
        wrong.check()
    moved = config.with_paths(lambda path: f"/there/{path}")
    assert moved.alignments == "/there/links"


def test_all_tokens_of_linked_words_are_linked():
    links = np.array([[0, 1], [1, 0]])
    source, target = np.array([-1, 0, 0, 1, -1]), np.array([0, 1, 1, -1])
    assert token_links(links, source, target).tolist() == [[0, 3], [1, 1], [1, 2], [2, 1], [2, 2]]
    assert token_links(np.zeros((0, 2), np.int64), source, target).shape == (0, 2)


class Aligned:
    """A corpus of two lines."""

    def __init__(self, alignments) -> None:
        self.alignments = alignments


def test_rows_without_alignments_or_with_other_words_have_no_links(tmp_path):
    begins = np.array([False, True, False])
    alignments = open_alignments(write(tmp_path, "0-0 1-0\n1-1\n"), num_pairs=2, cache=tmp_path)
    places = Places(np.array([0, 0, 1]), np.array([0, 1, 0]), np.zeros(3, np.int64))
    source = Ragged.of([[1, 2, 1, 0], [1, 2, 0], [1, 0]])
    target = Ragged.of([[1, 0], [1, 0], [1, 0]])
    texts = [("ab c", "d"), ("a b", "d"), ("a", "d")]
    rows = LinksTokens(begins, begins).rows(
        [Aligned(alignments), Aligned(None)], places, texts, source, target, num_tags=np.zeros(3, np.int64)
    )
    assert [rows.row(number).tolist() for number in range(3)] == [[0, 0, 0, 1, 0, 2], [], []]
