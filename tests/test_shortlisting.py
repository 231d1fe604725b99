import numpy as np
import pytest

from tests.small_run import WORDS, small_pairs, write_pairs
from trimtab.data.tokenizers import load_tokenizers
from trimtab.decode.shortlist import Shortlist
from trimtab.errors import InputError
from trimtab.inference import load_translator
from trimtab.inference.shortlist_file import read_shortlist
from trimtab.shortlisting import build_shortlist, coverage
from trimtab.types import Ragged

LINES = [pair[0] for pair in small_pairs(12, seed=9)]


@pytest.fixture(scope="module")
def made(trained_run, tmp_path_factory):
    """A shortlist of the trained run, and what was said of it."""
    out = tmp_path_factory.mktemp("shortlist") / "small.shortlist"
    return build_shortlist(str(trained_run), out=out, first=10, best=4)


def test_a_run_is_its_own_source_of_pairs(made, trained_run):
    assert (made.pairs, made.always) == (180, 10)
    assert made.covered > 0.9
    assert made.per_line < made.num_ids == 66
    found = read_shortlist(made.file, tokenizers=load_tokenizers(trained_run / "tokenizer"))
    assert found.of_source.lengths.max() == 4
    assert "held-out" in made.render()
    assert made.to_dict()["file"] == str(made.file)


def test_translations_with_it_are_nearly_those_without(made, trained_run):
    plain = load_translator(str(trained_run), beam=2, device="cpu")
    short = plain.with_shortlist(made.file)
    found, expected = short.translate(LINES), plain.translate(LINES)
    assert sum(one == other for one, other in zip(found, expected, strict=True)) >= 8
    assert short.counts.lines == len(LINES)
    with pytest.raises(InputError, match="--documents"):
        short.stream_documents([["the ship"]])


@pytest.mark.slow
def test_lines_with_terms_of_a_glossary_are_searched_in_the_whole_vocabulary(made, trained_run):
    plain = load_translator(str(trained_run), beam=2, device="cpu")
    short = plain.with_shortlist(made.file)
    glossary = dict.fromkeys(WORDS, "schiff wasser")
    assert short.translate(LINES, glossary=glossary) == plain.translate(LINES, glossary=glossary)


@pytest.mark.slow
def test_a_shortlist_of_everything_gives_the_same_bytes(trained_run, tmp_path):
    out = tmp_path / "whole.shortlist"
    build_shortlist(str(trained_run), out=out, first=1000, best=1000)
    plain = load_translator(str(trained_run), beam=3, device="cpu")
    expected = plain.n_best(LINES, n=3)
    assert plain.with_shortlist(out).n_best(LINES, n=3) == expected


def test_pairs_can_be_named_and_limited(trained_run, tmp_path):
    write_pairs(tmp_path, "own", [(word, into) for word, into in WORDS.items()])
    files = {"source": tmp_path / "own.en", "target": tmp_path / "own.de"}
    report = build_shortlist(str(trained_run), out=tmp_path / "a", pairs=7, **files)
    assert (report.pairs, report.covered) == (7, None)
    assert "held-out" not in report.render()


def test_pairs_that_training_drops_are_left_out(copied_run, tmp_path):
    run, _ = copied_run
    recipe = run / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("data:\n", "data:\n  transforms: [{kind: duplicate}]\n", 1))
    write_pairs(tmp_path, "own", 3 * list(WORDS.items()))
    files = {"source": tmp_path / "own.en", "target": tmp_path / "own.de"}
    report = build_shortlist(run, out=tmp_path / "a", **files)
    assert report.pairs == len(WORDS) - min(2000, len(WORDS) // 10)


def test_what_cannot_be_made_is_wrong_input(trained_run, made, tmp_path, exported_run):
    run, out = str(trained_run), tmp_path / "new"
    for options, match in (
        ({"out": made.file}, "already exists"),
        ({"out": out, "source": "a.en"}, "one without the other"),
        ({"out": out, "source": tmp_path / "no.en", "target": tmp_path / "no.de"}, r"no\.en"),
        ({"out": out, "best": 0}, "best: out of range"),
    ):
        with pytest.raises(InputError, match=match):
            build_shortlist(run, **options)
    (tmp_path / "long.en").write_text("ship " * 99 + "\n")
    with pytest.raises(InputError, match="no pairs to make a shortlist"):
        build_shortlist(run, out=out, source=tmp_path / "long.en", target=tmp_path / "long.en")
    with pytest.raises(InputError, match="an exported model"):
        load_translator(str(exported_run)).with_shortlist(made.file)
    assert not out.exists()


def test_coverage_counts_tokens_and_sizes():
    shortlist = Shortlist(always=np.array([3]), of_source=Ragged.of([[], [4]]), num_ids=6, copies=False)
    found = coverage(shortlist, Ragged.of([[1], [0]]), Ragged.of([[4, 3], [4, 5]]))
    assert found == (0.5, 1.5)
    assert coverage(shortlist, Ragged.of([]), Ragged.of([])) == (None, None)
