from tests.checks.written import run_of
from tests.for_each import for_each
from trimtab.checks.pushed import is_pushed


@for_each(
    ("keys", "is_so"),
    [
        ({}, False),
        ({"push_to_hub": False}, False),
        ({"push_to_hub": True}, True),
        ({"push_to_hub": True, "hub_strategy": "all_checkpoints"}, True),
        ({"push_to_hub": True, "hub_strategy": "end"}, False),
        ({"hub_strategy": "every_save"}, False),
    ],
)
def test_each_save_is_pushed_unless_only_the_end_is(keys, is_so):
    assert is_pushed(run_of(keys=keys)) is is_so
