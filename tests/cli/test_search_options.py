import pytest

from trimtab.cli.search_options import opened_glossary, opened_prefixes, refuse_together, terms_kept
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
    assert opened_glossary(tmp_path / "terms.tsv").entries["ship"].targets == ("Schiff", "Boot")
    with pytest.raises(InputError, match="no such file"):
        opened_glossary(tmp_path / "term.tsv")


def test_options_that_exclude_each_other_are_named():
    refuse_together("--glossary", None, {"--prefix": "Das"})
    refuse_together("--glossary", "terms.tsv", {"--prefix": None})
    with pytest.raises(InputError, match="--glossary: cannot be combined with --prefix"):
        refuse_together("--glossary", "terms.tsv", {"--sample": None, "--prefix": "Das"})


def test_terms_are_summed_up():
    counts = TranslationCounts(terms=1200, missing_terms=2, lines_with_terms=1000)
    assert terms_kept(counts) == "glossary: 1,198 of 1,200 terms kept, in 1,000 lines with terms"
