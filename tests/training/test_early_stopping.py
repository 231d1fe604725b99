import math

from tests.for_each import for_each
from trimtab.config.run import EvaluateConfig
from trimtab.training.early_stopping import counted, is_another, rank_of, watched


def test_a_better_value_ranks_higher_and_of_equals_the_lower_loss():
    assert rank_of("chrf", 2.0, 9.0) > rank_of("chrf", 1.0, 1.0)
    assert rank_of("loss", 1.0, 1.0) > rank_of("loss", 2.0, 2.0)
    assert rank_of("chrf", 1.0, 1.0) > rank_of("chrf", 1.0, 2.0) > rank_of("chrf", 1.0, math.nan)
    assert rank_of("loss", math.inf, 1.0) == rank_of("loss", math.nan, 1.0)


@for_each(
    ("old", "value", "warming_up", "since"),
    [
        ({"value": 1.0}, 1.0, False, 0),
        ({"value": 1.0}, 0.9, False, 1),
        ({"value": 1.0}, 0.9, True, 0),
        ({"value": 1.0, "moved": True}, 1.0, False, 1),
        ({"value": 1.0, "since": 2}, 1.0, False, 3),
    ],
)
def test_evaluations_count_after_the_warmup_and_once_the_metric_moved(old, value, warming_up, since):
    assert counted(old, value=value, warming_up=warming_up) == since


def test_scores_that_differ_by_rounding_are_the_same():
    assert not is_another(3.0, 3.00004)
    assert is_another(3.0, 3.001)
    assert is_another(3.0, math.inf)


def test_nothing_is_remembered_where_one_metric_decides():
    assert watched({}, {"chrf": 1.0}, EvaluateConfig(patience=3), warming_up=False) == {}


def test_all_waits_for_the_last_metric_and_any_for_the_first():
    before = {
        "stop_on": {name: {"value": 1.0, "loss": 1.0, "since": 2, "moved": True} for name in ("chrf", "loss")}
    }
    for how, since in (("any", 3), ("all", 0)):
        config = EvaluateConfig(patience=5, stop_on={how: ["chrf", "loss"]})
        found = watched(before, {"chrf": 0.5, "loss": 0.5}, config, warming_up=False)
        assert found["since"] == since
        assert [each["since"] for each in found["stop_on"].values()] == [3, 0]
