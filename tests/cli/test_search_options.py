from types import SimpleNamespace

import pytest

from trimtab.cli.search_options import (
    check_beside,
    opened_prefixes,
    opened_terms,
    refuse_together,
    report_terms,
)
from trimtab.decode.setup import TranslationCounts
from trimtab.errors import InputError


def test_a_text_is_for_all_lines_and_a_file_has_one_for_each(tmp_path):
    (tmp_path / "begin").write_text("Das\n\nEin", encoding="utf-8")
    with opened_prefixes("Das", None) as prefixes:
        assert prefixes == "Das"
    with opened_prefixes(None, tmp_path / "begin") as prefixes:
        assert list(prefixes) == ["Das", "", "Ein"]
    with opened_prefixes(None, None) as prefixes:
        assert prefixes is None


def test_both_are_refused(tmp_path):
    with pytest.raises(InputError, match="--prefix: already given"), opened_prefixes("a", tmp_path / "b"):
        raise AssertionError("nothing is opened")


def test_a_glossary_is_read_from_its_file(tmp_path):
    (tmp_path / "terms.tsv").write_text("ship\tSchiff\tBoot\n", encoding="utf-8")
    assert opened_terms(tmp_path / "terms.tsv")["glossary"].entries["ship"].targets == ("Schiff", "Boot")
    assert opened_terms(None) == {}
    with pytest.raises(InputError, match="no such file"):
        opened_terms(tmp_path / "term.tsv")


def test_options_that_exclude_each_other_are_named():
    refuse_together("--glossary", None, {"--prefix": "Das"})
    refuse_together("--glossary", "terms.tsv", {"--prefix": None})
    with pytest.raises(InputError, match="--glossary: cannot be combined with --prefix"):
        refuse_together("--glossary", "terms.tsv", {"--sample": None, "--prefix": "Das"})


def test_terms_are_summed_up(tmp_path, capsys):
    counts = TranslationCounts(terms=1200, missing_terms=2, lines_with_terms=1000)
    report_terms(SimpleNamespace(counts=counts), None)
    report_terms(SimpleNamespace(counts=counts), tmp_path)
    assert capsys.readouterr().err == "glossary: 1,198 of 1,200 terms kept, in 1,000 lines with terms\n"


@pytest.mark.parametrize(
    ("option", "other"),
    [("--glossary", "--rerank"), ("--alignments", "--n-best"), ("--glossary", "--prefix")],
)
def test_what_goes_beside_a_translation_excludes_other_ways_to_write_it(option, other):
    names = ("--glossary", "--alignments", "--sample", "--prefix", "--prefix-file", "--rerank", "--n-best")
    nothing = dict.fromkeys(names)
    check_beside({**nothing, option: "file"})
    with pytest.raises(InputError, match=f"{option}: cannot be combined with {other}"):
        check_beside({**nothing, option: "file", other: 1})
