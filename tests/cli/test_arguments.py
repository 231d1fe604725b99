import inspect
from typing import get_type_hints

from trimtab.cli import arguments, evaluate, export, score, tokenizer, train, translate


def test_arguments_said_once_are_those_that_commands_use():
    commands = (
        train.train,
        translate.translate,
        evaluate.evaluate,
        score.score,
        tokenizer.inspect,
        export.export,
    )
    used = {hint for command in commands for hint in get_type_hints(command, include_extras=True).values()}
    for name in (
        "RecipeFile",
        "Overrides",
        "Run",
        "Model",
        "Runs",
        "Beam",
        "LengthPenalty",
        "Device",
        "Json",
    ):
        assert getattr(arguments, name) in used, name
    assert all(inspect.getdoc(command) for command in commands)
