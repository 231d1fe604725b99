import pytest

from trimtab.errors import InputError
from trimtab.inference.sizes import checked_batch_tokens, checked_max_length


def test_sizes_are_given_or_usual():
    assert (checked_batch_tokens(None, usual=7), checked_batch_tokens(3, usual=7)) == (7, 3)
    assert (checked_max_length(None, most=7, name="x"), checked_max_length(3, most=7, name="x")) == (7, 3)


@pytest.mark.parametrize(
    "call",
    [lambda: checked_batch_tokens(0, usual=7),
     lambda: checked_max_length(1, most=7, name="x"), lambda: checked_max_length(8, most=7, name="runs/x")],
)  # fmt: skip
def test_sizes_that_cannot_be_are_refused_with_what_is_allowed(call):
    with pytest.raises(InputError) as refused:
        call()
    (problem,) = refused.value.problems
    assert problem.allowed
    assert problem.fix


def test_a_smaller_translator_cuts_lines_and_batches(trained_run):
    from trimtab.inference import load_translator

    whole = load_translator(str(trained_run))
    line = "the small ship turns slowly " * 3
    small = whole.sized(batch_tokens=16, max_length=8)
    assert len(small.translate([line, "never"])) == 2
    assert small.counts.cut_lines == 1
    assert (whole.setup.max_tokens, small.setup.max_tokens, small.setup.batch_tokens) == (32, 8, 16)
    with pytest.raises(InputError, match="max_length"):
        whole.sized(max_length=33)
