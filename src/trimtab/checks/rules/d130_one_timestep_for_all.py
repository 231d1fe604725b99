"""D130 one-timestep-for-all"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.slices import plain
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom diffusers import DDPMScheduler, UNet2DModel\nunet, noise_scheduler = UNet2DModel(), "
    "DDPMScheduler()\n"
    "optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)\nfor images in loader:\n"
    "    t = torch.randint(0, 1000, ({size},))\n    noise = torch.randn_like(images)\n"
    "    predicted = unet(noise_scheduler.add_noise(images, noise, t), t).sample\n"
    "    torch.nn.functional.mse_loss(predicted, noise).backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="D130",
    name="one-timestep-for-all",
    severity="warning",
    message="one timestep is drawn for the whole batch: all its examples get the same noise level",
    why="The loss of a diffusion model is a mean over noise levels. With one level for each batch the gradient "
    "of a step "
    "estimates one point of it, with the variance of a batch of one example.",
    evidence=(
        Arithmetic("A mean over n levels drawn one by one has 1/n of the variance that one level has."),
        Maintainer(
            "https://github.com/huggingface/diffusers/blob/main/examples/text_to_image/train_text_to_image.py",
            "'Sample a random timestep for each image': `torch.randint(0, num_train_timesteps, (bsz,))`.",
        ),
    ),
    fix=Fix("draw one for each example: `torch.randint(0, steps, (len(images),))`"),
    bad=Example("train.py", _SCRIPT.replace("{size}", "1")),
    good=Example("train.py", _SCRIPT.replace("{size}", "len(images)")),
    symptoms=("diffusion loss is noisy", "diffusion training is slow to learn"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """`randint` of one number that goes as it is into `add_noise` in a training loop."""
    for loop in training_loops(flow_of(run.document)):
        if loop.block.value is not None and loop.block.value.last in ("range", "trange"):
            continue  # over steps, perhaps of one example alone
        for event in loop.called("add_noise"):
            if _is_single(plain(event.value.argument(2, "timesteps"))):
                yield RULE.at(event.place)
                return


def _is_single(value: Value | None) -> bool:
    if value is None or value.made != "call" or value.name != "torch.randint":
        return False
    size = value.keywords.get("size") or (value.args[-1] if len(value.args) > 1 else None)
    return size is not None and size.made == "list" and [each.constant for each in size.args] == [1]
