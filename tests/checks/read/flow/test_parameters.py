"""What the parameters of a function hold."""

from tests.checks.read.flow.following import flow


def test_a_call_gives_arguments_and_defaults():
    (show,) = flow("import torch.optim\ndef f(a, b=2, *, c=3):\n    show(a, b, c)\nf(1, c=4)\n").named("show")
    assert [each.constant for each in show.value.args] == [1, 2, 4]


def test_a_function_that_nobody_calls_has_unknown_parameters():
    (show,) = flow("def f(a, b=2):\n    torch.optim.SGD(a)\n    show(a, b)\n").named("show")
    assert [each.made for each in show.value.args] == ["parameter", "parameter"]
    assert show.value.args[1].keywords["default"].constant == 2
