from tests.checks.kinds.describing import words, written
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.huggingface.arguments import training_concepts

VERSIONS = {"transformers": (5, 24, 0)}


def test_a_trainer_of_defaults_is_told_whole():
    told = words(training_concepts(written(table=load_table("transformers", VERSIONS)), VERSIONS))
    assert told["learning_rate"] == 5e-5
    assert told["gradient_checkpointing"] is False
    assert told["save_steps"] == 500.0
    assert "autocast" not in told


def test_a_part_is_told_as_far_as_it_is_written():
    told = training_concepts(
        written(table=load_table("transformers", VERSIONS), is_whole=False, seed=3), VERSIONS
    )
    assert words(told) == {"seed": 3}
