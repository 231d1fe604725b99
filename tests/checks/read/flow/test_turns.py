"""Short loops over written objects are followed turn by turn."""

from tests.checks.read.flow.following import flow
from tests.for_each import for_each

MADE = "import torch\none, two = torch.optim.Adam(a, 1e-3), torch.optim.SGD(b, 1e-3)\n"


@for_each(
    ("loop", "names"),
    [
        ("for each in (one, two):\n    each.step()\n", ["torch.optim.Adam", "torch.optim.SGD"]),
        (
            "for each in {'a': one, 'b': two}.values():\n    each.step()\n",
            ["torch.optim.Adam", "torch.optim.SGD"],
        ),
        (
            "for n, each in {'a': one, 'b': two}.items():\n    each.step()\n",
            ["torch.optim.Adam", "torch.optim.SGD"],
        ),
        (
            "for each, n in zip([one, two], [two, one]):\n    each.step()\n",
            ["torch.optim.Adam", "torch.optim.SGD"],
        ),
        ("for each in [one, *others]:\n    each.step()\n", [""]),
        ("for each in unknown:\n    each.step()\n", [""]),
        ("for each in (1, 2):\n    each.step()\n", [""]),
        ("for each in (one, two):\n    for x in y:\n        pass\n    each.step()\n", [""]),
    ],
)
def test_each_turn_has_its_own_object(loop, names):
    steps = [event.subject.name for event in flow(MADE + loop).named("step")]
    assert [name if "." in name else "" for name in steps] == names


def test_a_comprehension_over_names_makes_an_object_for_each():
    made = flow(
        MADE + "made = [torch.optim.lr_scheduler.StepLR(each, 10) for each in (one, two)]\nmade[1].step()\n"
    )
    (step,) = made.named("step")
    assert step.subject.args[0].name == "torch.optim.SGD"
