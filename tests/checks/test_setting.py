import pytest

from trimtab.checks.place import Place
from trimtab.checks.setting import Setting


@pytest.mark.parametrize(("origin", "written"), [("file", True), ("default", False), ("beside", False)])
def test_only_what_stands_in_the_file_was_written_by_somebody(origin, written):
    assert Setting(key="lr", value=1.0, place=Place("a"), origin=origin).is_written is written
