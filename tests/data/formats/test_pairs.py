from pathlib import Path

import pytest

from trimtab.data.formats.pairs import field_names
from trimtab.errors import InputError


def test_names_are_taken_as_they_are():
    assert field_names(Path("a.jsonl"), source="en", target="de") == ("en", "de")


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_number_names_no_field(side):
    with pytest.raises(InputError, match=f"{side}: got the number 2"):
        field_names(Path("a.jsonl"), **{"source": "en", "target": "de", side: 2})
