"""Every way in which labels get the value that a loss leaves out."""

from tests.checks.read.flow.following import flow
from tests.for_each import for_each
from trimtab.checks.read.flow.masks import maskings


@for_each(
    "line",
    [
        "labels[ids == pad] = -100",
        "labels = labels.masked_fill(ids == pad, -100)",
        "labels = torch.where(ids == pad, -100, labels)",
        "labels = torch.where(ids != pad, labels, torch.tensor(-100))",
        "batch['labels'] = [-100 if each == pad else each for each in ids]",
    ],
)
def test_a_mask_is_found_with_its_condition(line):
    found = list(maskings(flow(f"import torch\nimport torch.optim\n{line}\n")))
    assert [(each.filled.constant, each.condition.made) for each in found] == [(-100, "compare")]


@for_each("line", ["labels[0] = -100", "labels = torch.where(mask, a, b)", "x = 1 if a else 2"])
def test_other_values_are_no_mask(line):
    assert list(maskings(flow(f"import torch\nimport torch.optim\n{line}\n"))) == []
