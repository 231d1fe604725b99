"""D126 latents-not-scaled"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom diffusers import AutoencoderKL, DDPMScheduler, UNet2DConditionModel\n"
    "vae = AutoencoderKL.from_pretrained('model', subfolder='vae')\nnoise_scheduler = DDPMScheduler()\n"
    "unet = UNet2DConditionModel.from_pretrained('model', subfolder='unet')\n"
    "optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-5)\nfor images, states in loader:\n"
    "    latents = vae.encode(images).latent_dist.sample(){scale}\n    noise = torch.randn_like(latents)\n"
    "    t = torch.randint(0, 1000, (len(latents),))\n"
    "    predicted = unet(noise_scheduler.add_noise(latents, noise, t), t, states).sample\n"
    "    torch.nn.functional.mse_loss(predicted, noise).backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="D126",
    name="latents-not-scaled",
    severity="error",
    message="latents of the autoencoder get their noise without `vae.config.scaling_factor`",
    why="The denoiser of a latent diffusion model was trained on latents of about unit variance, and its "
    "pipelines multiply "
    "and divide by the factor. Unscaled latents are five times as large for Stable Diffusion 1: the noise levels "
    "do not "
    "fit, and what is trained does not fit the pipeline.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/diffusers/api/models/autoencoderkl",
            "scaling_factor (0.18215): 'The latents are scaled with the formula z = z * scaling_factor before being "
            "passed to the diffusion model.'",
        ),
        Maintainer(
            "https://github.com/huggingface/diffusers/blob/main/examples/text_to_image/train_text_to_image.py",
            "`latents = latents * vae.config.scaling_factor`",
        ),
    ),
    fix=Fix("multiply: `latents = latents * vae.config.scaling_factor`"),
    bad=Example("train.py", _SCRIPT.replace("{scale}", "")),
    good=Example("train.py", _SCRIPT.replace("{scale}", " * vae.config.scaling_factor")),
    tips=("S2-33",),
    symptoms=(
        "fine-tuned diffusion model gives noise",
        "images are washed out after training",
        "VAE latents without scaling factor",
    ),
)
_FACTORS: Final = (
    "scaling_factor",
    "scale_factor",
    "0.18215",
    "0.13025",
    "latents_std",
    "latent_std",
    "latents_mean",
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Latents of a distribution of an AutoencoderKL, as they are in `add_noise`, in a script that speaks of no
    factor."""
    if "diffusers" not in run.document.imports or not says(run.document, "latent_dist"):
        return
    if says(run.document, *_FACTORS):
        return
    for event in flow_of(run.document).named("add_noise"):
        given = event.value.argument(0, "original_samples")
        for each in walk(given, most=30):
            is_drawn = each.made == "call" and each.name in ("sample", "mode") and each.of is not None
            if is_drawn and each.of is not None and each.of.name == "latent_dist":
                yield RULE.at(event.place)
                return
