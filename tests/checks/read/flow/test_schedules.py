import pytest

from tests.checks.read.flow.following import flow
from tests.for_each import for_each
from trimtab.checks.read.flow.schedules import (
    batches_of,
    is_count_of,
    length_of,
    product_of,
    stepped_schedules,
)

LOOP = (
    "import torch\nfrom transformers import get_linear_schedule_with_warmup\n"
    "optimizer = torch.optim.SGD(p, lr=0.1)\nschedule = {schedule}\nfor epoch in range(epochs):\n"
    "    for i, x in enumerate(loader):\n        model(x).backward()\n{steps}"
)
LINEAR = "get_linear_schedule_with_warmup(optimizer, 0, len(loader) * epochs // 4)"


def stepped(steps, schedule=LINEAR):
    return list(stepped_schedules(flow(LOOP.format(schedule=schedule, steps=steps))))


@for_each(
    ("steps", "pace"),
    [
        ("        schedule.step()\n", ["turn"]),
        ("        if i % 4 == 3:\n            schedule.step()\n", ["period"]),
        ("    schedule.step()\n", ["epoch"]),
        ("        if x.ok:\n            schedule.step()\n", []),
        ("    if epoch:\n        schedule.step()\n", []),
        ("        schedule.step(loss)\n", []),
        ("schedule.step()\n", []),
    ],
)
def test_how_often_a_schedule_steps(steps, pace):
    assert [each.pace for each in stepped(steps)] == pace


def test_a_length_is_a_product_of_batches_and_epochs():
    (found,) = stepped("        schedule.step()\n")
    product = product_of(length_of(found.schedule))
    assert len(product.factors) == 2
    assert [each.constant for each in product.divisors] == [4]
    assert len(batches_of(product, found.loop)) == 1
    assert sum(is_count_of(each, found.epochs) for each in product.factors) == 1


@pytest.mark.parametrize("length", ["a + b", "steps if c else other", "-1 * (a - b)"])
def test_a_sum_is_no_product(length):
    (found,) = stepped(
        "        schedule.step()\n", f"get_linear_schedule_with_warmup(optimizer, 0, {length})"
    )
    assert product_of(length_of(found.schedule)) is None


def test_only_schedules_that_end_have_a_length():
    (found,) = stepped("        schedule.step()\n", "torch.optim.lr_scheduler.StepLR(optimizer, 30)")
    assert length_of(found.schedule) is None
