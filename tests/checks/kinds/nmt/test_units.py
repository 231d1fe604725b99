from tests.for_each import for_each
from trimtab.checks.kinds.nmt.units import Amount, read_amount, read_amounts


@for_each(
    ("text", "amount"),
    [
        ("100Ku", Amount(100_000, "updates")),
        ("2ku", Amount(2000, "updates")),
        ("10Gt", Amount(10_000_000_000, "tokens")),
        ("20e", Amount(20, "epochs")),
        ("16,000", Amount(16_000, "updates")),
        (16000, Amount(16_000, "updates")),
        ("1e4", Amount(10_000, "updates")),
        ("5000x", None),
        ("2.5u", None),
        ("1e400", None),
        ("2.5Ku", Amount(2500, "updates")),
        (True, None),
        (None, None),
        ([1], None),
        (float("nan"), None),
    ],
)
def test_an_amount_is_read_as_marian_reads_it(text, amount):
    assert read_amount(text) == amount


def test_several_amounts_stand_behind_commas_that_may_be_in_a_number_too():
    assert read_amounts("20e,100Ku") == [Amount(20, "epochs"), Amount(100_000, "updates")]
    assert read_amounts("10,000u") == [Amount(10_000, "updates")]
    assert read_amounts(0) == [Amount(0, "updates")]
    assert read_amounts(None) == []
