import inspect
from typing import get_type_hints

from trimtab.cli import arguments, evaluate, export, score, serve, tokenizer, train, translate


def test_arguments_said_once_are_those_that_commands_use():
    commands = (
        train.train,
        translate.translate,
        evaluate.evaluate,
        score.score,
        tokenizer.inspect,
        export.export,
        serve.serve,
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
        "Threads",
        "BatchTokens",
        "MaxLength",
        "Json",
    ):
        assert getattr(arguments, name) in used, name
    assert all(inspect.getdoc(command) for command in commands)


def test_threads_are_set_where_they_are_named(monkeypatch):
    from trimtab import device

    taken = []
    monkeypatch.setattr(device, "set_threads", taken.append)
    arguments.take_threads(None)
    arguments.take_threads(3)
    assert taken == [3]


def test_a_model_is_sized_only_where_a_size_is_named():
    class Model:
        sizes = None

        def sized(self, **sizes):
            smaller = Model()
            smaller.sizes = sizes
            return smaller

    model = Model()
    assert arguments.sized(model, batch_tokens=None, max_length=None) is model
    smaller = arguments.sized(model, batch_tokens=5, max_length=None)
    assert smaller.sizes == {"batch_tokens": 5, "max_length": None}
