from pathlib import Path

import pytest

from tests.for_each import for_each
from trimtab.cli.source_factors import factor_files, options_of
from trimtab.errors import InputError


def test_files_are_given_by_the_names_of_factors():
    files = factor_files(["pos=a=b", "ner=c"])
    assert files == {"pos": Path("a=b"), "ner": Path("c")}
    assert factor_files(None) == {}
    assert options_of(files) == {"--factors pos": Path("a=b"), "--factors ner": Path("c")}


@for_each(
    ("given", "what"),
    [(["pos"], "no file"), (["=a"], "no file"), (["pos="], "no file"), (["a=b", "a=c"], "given twice")],
)
def test_what_names_no_file_or_one_twice_is_refused(given, what):
    with pytest.raises(InputError, match=what):
        factor_files(given)
