import math

import pytest

from tests.small_run import small_parts
from trimtab.tasks.diagnoses import differs_alone, dropped_examples, loss_not_finite, not_seen, others_seen


def others(share):
    return others_seen(share, bound=0.1)


def alone(share):
    return differs_alone(share, bound=0.1, targets=3, others=4)


def unread(share):
    return not_seen("source", 1e-6 - share)


@pytest.mark.parametrize(("found_in", "code"), [(others, "M203"), (alone, "M204"), (unread, "M202")])
@pytest.mark.parametrize(("share", "found"), [(-1.0, False), (0.2, True), (math.nan, True)])
def test_a_share_beyond_its_bound_or_not_finite_is_an_error(found_in, code, share, found):
    assert [(each.code, each.severity) for each in found_in(share)] == [(code, "error")] * found


def test_a_loss_that_is_not_finite_names_its_set_and_what_was_not_done():
    found = loss_not_finite("valid", math.inf, consequence=": nothing was read")
    assert found.message == "the loss of the validation set valid is inf: nothing was read"


@pytest.mark.parametrize(("least", "severity"), [(2, None), (4, "warning"), (6, "error")])
def test_examples_that_filters_drop_are_counted_by_reason(tmp_path, least, severity):
    parts = small_parts(tmp_path, **{"data.transforms": [{"kind": "length", "min": least}]})
    results = list(dropped_examples(parts, fix=""))
    assert [(each.code, each.severity) for each in results] == ([("D202", severity)] if severity else [])
    for each in results:
        share = len(parts.datasets.sample.dropped) / 200
        assert each.message.startswith(f"{share:.1%} of the first 200 examples are dropped: ")
        assert f" {share:.1%}" in each.message.partition(":")[2]
