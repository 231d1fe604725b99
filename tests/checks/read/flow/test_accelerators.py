from tests.checks.kinds.describing import document
from tests.for_each import for_each
from trimtab.checks.read.flow.accelerators import accelerators, is_accelerator
from trimtab.checks.read.flow.of import flow_of


@for_each(
    ("text", "number"),
    [
        ("from accelerate import Accelerator\na = Accelerator()\n", 1),
        ("import accelerate\na = accelerate.Accelerator(cpu=True)\n", 1),
        ("from accelerate import Accelerator\na = Accelerator(**how)\n", 0),
        ("from mine import Accelerator\na = Accelerator()\n", 0),
    ],
)
def test_only_accelerates_own_with_arguments_that_can_be_seen_count(text, number):
    assert len(accelerators(document("a.py", f"{text}a.backward(loss)\n"))) == number


@for_each(
    ("text", "expected"),
    [
        ("from accelerate import Accelerator\na = Accelerator()\na.backward(loss)", True),
        ("import torch\ndef train(accelerator):\n    accelerator.backward(loss)", True),
        ("import torch\ndef train(self):\n    self.accelerator.backward(loss)", True),
        ("import torch\nloss.backward()", False),
        ("import torch\nengine.backward(loss)", False),
    ],
)
def test_an_accelerator_is_known_by_its_maker_or_its_name(text, expected):
    (event,) = flow_of(document("a.py", f"{text}\n")).named("backward")
    assert is_accelerator(event.subject) is expected
