import torch

from trimtab.build import build
from trimtab.tasks.diffusion.checks import images_are_apart
from trimtab.tasks.images.checks import image_is_the_same_alone


class Sees(torch.nn.Module):
    """A network with something wrong in it."""

    def __init__(self, dit, wrong):
        super().__init__()
        self.dit, self.wrong, self.output = dit, wrong, dit.output

    def forward(self, x, t, labels, *, padded):
        match self.wrong:
            case "others":
                x = x + x.mean(0, keepdim=True)
            case "no time":
                t = torch.zeros_like(t)
            case "no class":
                labels = torch.zeros_like(labels)
            case "no image":
                x = torch.zeros_like(x)
        return self.dit(x, t, labels, padded=padded)


def codes(opened, wrong, check):
    parts = build(*opened)
    with torch.no_grad():
        for name in sorted(parts.model.begins_zero):
            parts.model.get_parameter(name).normal_(0, 0.1)
    parts.model.dit = Sees(parts.model.dit, wrong)
    return [each.name for each in check(parts)]


def test_a_network_that_mixes_images_or_ignores_something_is_found(opened):
    assert codes(opened, "nothing", images_are_apart) == []
    assert "examples-see-each-other" in codes(opened, "others", images_are_apart)
    for wrong in ("no time", "no class", "no image"):
        assert codes(opened, wrong, images_are_apart) == ["input-without-effect"]
    assert codes(opened, "others", image_is_the_same_alone) == ["example-differs-alone"]
