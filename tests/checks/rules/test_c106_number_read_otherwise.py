from tests.checks.written import run_of, setting
from tests.for_each import for_each
from trimtab.checks.rules.c106_number_read_otherwise import check


@for_each(("raw", "parsed"), [("012", 10), ("-010", -8), ("1:30", 90), ("1:30:00", 5400), ("0_17", 15)])
def test_a_number_that_is_read_as_another_is_told(raw, parsed):
    assert len(list(check(run_of(keys={"x": setting("x", parsed, raw=raw, parsed=parsed)})))) == 1


@for_each(
    ("raw", "parsed"),
    [
        ("0", 0),
        ("00", 0),
        ("07", 7),
        ("10", 10),
        ("0.5", 0.5),
        ("0x10", 16),
        ("012", "012"),
        ("1_000", 1000),
        ("no", False),
    ],
)
def test_a_number_that_is_read_as_it_looks_is_fine(raw, parsed):
    assert list(check(run_of(keys={"x": setting("x", parsed, raw=raw, parsed=parsed)}))) == []
