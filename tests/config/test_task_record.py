from dataclasses import replace

from trimtab.config.task_facts import facts_of


def test_a_step_counts_targets_unless_the_task_says_what_else():
    assert facts_of("classification").counted == "examples"
    assert facts_of("detection").counted == "images"
    assert replace(facts_of("detection"), in_a_step="").counted == "boxes"


def test_the_longest_example_has_one_target_or_one_for_each_token():
    assert facts_of("classification").targets_of_longest(256) == 1
    assert facts_of("translation").targets_of_longest(256) == 256
