import pytest

from trimtab.cli.search_options import opened_prefixes
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
