"""The latents that a diffusion model works in: a trained autoencoder that stays as it is, and their statistics."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from trimtab.checkpoint.durable import replace_file
from trimtab.config.pretrained.shapes import read_settings
from trimtab.errors import input_error
from trimtab.model.vision.autoencoder import MOST_LATENT, Autoencoder, AutoencoderShape

FOLDER = "autoencoder"
"""In a run's `tokenizer/`: the run needs the autoencoder that it was started with no more."""
CONFIG, WEIGHTS, STATISTICS = "config.json", "diffusion_pytorch_model.safetensors", "latents.json"
AT_ONCE = 64
"""Images that are encoded at once to measure latents."""
LEAST_STD = 1e-4
"""Standard deviation by which latents are divided at least, where a channel is constant."""
ALLOWED = "a RUN of an autoencoder, or a folder that AutoencoderTiny of diffusers saved, such as TAESD's"


@dataclass(frozen=True, slots=True)
class Statistics:
    """Mean and standard deviation of each channel of latents, over some images."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    images: int


class Latents(nn.Module):
    """Images as latents of zero mean and unit variance, and back. The autoencoder's weights are buffers that no
    checkpoint has and nothing trains."""

    mean: Tensor
    std: Tensor

    def __init__(self, network: Autoencoder, statistics: Statistics) -> None:
        super().__init__()
        self.network, self.statistics = fixed(network), statistics
        for name in ("mean", "std"):
            self.register_buffer(
                name, torch.tensor(getattr(statistics, name)).view(1, -1, 1, 1), persistent=False
            )

    @property
    def shape(self) -> AutoencoderShape:
        """Sizes of the autoencoder."""
        return self.network.shape

    @torch.no_grad()
    def encode(
        self, x: Float[Tensor, "images channels side side2"]
    ) -> Float[Tensor, "images latent rows columns"]:
        """Images from -1 to 1, in float32 also under autocast, whose half precision would round latents."""
        with torch.autocast(x.device.type, enabled=False):
            return (self.network.encode(x.to(self.mean.dtype)) - self.mean) / self.std

    @torch.no_grad()
    def decode(
        self, z: Float[Tensor, "images latent rows columns"]
    ) -> Float[Tensor, "images channels side side2"]:
        """The images, about from -1 to 1."""
        with torch.autocast(z.device.type, enabled=False):
            return self.network.decode(z.to(self.mean.dtype) * self.std + self.mean)

    @property
    def fingerprint(self) -> str:
        """sha256 of weights and statistics."""
        mark = hashlib.sha256(json.dumps(asdict(self.statistics)).encode())
        for name, tensor in sorted(self.network.named_buffers()):
            mark.update(name.encode() + tensor.float().cpu().contiguous().numpy().tobytes())
        return mark.hexdigest()


def fixed(network: Autoencoder) -> Autoencoder:
    """The network with buffers in place of its parameters."""
    for module in network.modules():
        for name, weight in [*module.named_parameters(recurse=False)]:
            delattr(module, name)
            module.register_buffer(name, weight.detach(), persistent=False)
    return network.eval()


@torch.no_grad()
def measured(network: Autoencoder, pixels: np.ndarray) -> Statistics:
    """The statistics of the latents of `images channels side side`, uint8."""
    parts = torch.from_numpy(np.ascontiguousarray(pixels)).split(AT_ONCE)
    z = torch.cat([network.encode(part.float() / 127.5 - 1) for part in parts]).double()
    if not bool(torch.isfinite(z).all()):
        raise input_error(
            "model.autoencoder: its latents of the training images are not finite",
            got="NaN or infinity",
            allowed=ALLOWED,
            fix="name another checkpoint of the autoencoder",
        )
    std = z.std(dim=(0, 2, 3), correction=0).clamp(min=LEAST_STD)
    mean = z.mean(dim=(0, 2, 3))
    return Statistics(_rounded(mean), _rounded(std), len(pixels))


def _rounded(values: Tensor) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values.tolist())


def write_latents(network: Autoencoder, statistics: Statistics, folder: Path) -> None:
    """Writes weights and settings as `AutoencoderTiny` of diffusers has them, and the statistics.

    diffusers has one number each for all channels: `(z - shift_factor) * scaling_factor` has about unit variance.
    """
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: tensor.detach().float().cpu().contiguous()
        for name, tensor in (*network.named_parameters(), *network.named_buffers())
    }
    config = {**settings_of(network.shape), **one_scale(statistics)}
    replace_file(folder / WEIGHTS, save(weights, metadata={"format": "pt"}))
    replace_file(folder / STATISTICS, (json.dumps(asdict(statistics), indent=1) + "\n").encode())
    replace_file(folder / CONFIG, (json.dumps(config, indent=2) + "\n").encode())


def one_scale(statistics: Statistics) -> dict[str, float]:
    """The statistics of all channels together."""
    mean, std = np.array(statistics.mean), np.array(statistics.std)
    shift = float(mean.mean())
    scale = 1 / float(np.sqrt(np.mean(std**2 + (mean - shift) ** 2)))
    return {"scaling_factor": float(f"{scale:.6g}"), "shift_factor": float(f"{shift:.6g}")}


def settings_of(shape: AutoencoderShape) -> dict[str, Any]:
    """config.json, but for the statistics."""
    widths = [shape.dim] * len(shape.blocks)
    return {
        "_class_name": "AutoencoderTiny",
        "act_fn": "relu",
        "decoder_block_out_channels": widths,
        "encoder_block_out_channels": widths,
        "force_upcast": False,
        "in_channels": shape.image_channels,
        "latent_channels": shape.latent_channels,
        "latent_magnitude": int(MOST_LATENT),
        "latent_shift": 0.5,
        "num_decoder_blocks": [*reversed(shape.blocks)],
        "num_encoder_blocks": [*shape.blocks],
        "out_channels": shape.image_channels,
        "upsample_fn": "nearest",
        "upsampling_scaling_factor": 2,
    }


def read_network(folder: Path) -> Autoencoder:
    """The autoencoder of a folder in the form of diffusers; InputError for another class or shape, and for weights that
    are damaged or not finite."""
    shape = shape_of(read_settings(folder / CONFIG), folder=folder)
    network = Autoencoder(shape)
    try:
        network.load_state_dict(load_file(folder / WEIGHTS))
    except (SafetensorError, OSError, RuntimeError) as error:
        raise input_error(
            f"{folder / WEIGHTS}: not the weights of this autoencoder",
            got=" ".join(str(error).split())[:200],
            allowed=ALLOWED,
            fix="save it with `save_pretrained` again, as safetensors",
        ) from None
    if not all(bool(torch.isfinite(each).all()) for each in network.parameters()):
        raise input_error(
            f"{folder / WEIGHTS}: weights that are not finite", got="NaN or infinity", fix="download it again"
        )
    return network.eval()


def shape_of(settings: dict[str, Any], *, folder: Path) -> AutoencoderShape:
    """The sizes that config.json says; InputError for what is no `AutoencoderTiny` of equal widths."""
    try:
        widths = {*settings["encoder_block_out_channels"], *settings["decoder_block_out_channels"]}
        blocks = tuple(settings["num_encoder_blocks"])
        numbers = (settings["in_channels"], settings["latent_channels"], *widths, *blocks)
        fits = all(type(each) is int and 0 < each <= 4096 for each in numbers) and len(blocks) <= 8
        shape = AutoencoderShape(numbers[0], numbers[1], max(widths), blocks) if fits else USUAL
        fits = fits and all(settings.get(key) == settings_of(shape)[key] for key in SHAPE_KEYS)
    except (KeyError, TypeError, ValueError):
        fits, shape = False, USUAL
    if not fits:
        raise input_error(
            f"model.autoencoder: {folder} is no autoencoder of this shape",
            got=str(settings.get("_class_name", "a config.json of another model")),
            allowed=f"{ALLOWED}, with one width, ReLU, and blocks of the decoder as those of the encoder in reverse",
            fix="train one with `task: diffusion` and `model: {kind: autoencoder, preset: tiny}`",
        )
    return shape


SHAPE_KEYS = (
    *("_class_name", "act_fn", "upsample_fn", "upsampling_scaling_factor", "out_channels"),
    *("num_decoder_blocks", "encoder_block_out_channels", "decoder_block_out_channels"),
)
"""What of config.json must be as `settings_of` has it."""


USUAL = AutoencoderShape(3, 4, 64, (1, 3, 3, 3))
"""That of TAESD."""


def read_latents(folder: Path) -> Latents:
    """The latents of a run, by its own folder; InputError where it is damaged."""
    found = read_settings(folder / STATISTICS)
    network = read_network(folder)
    try:
        mean, std = (tuple(float(each) for each in found[name]) for name in ("mean", "std"))
        statistics = Statistics(mean, std, int(found["images"]))
        sound = len(mean) == len(std) == network.shape.latent_channels and all(np.isfinite([*mean, *std]))
    except (KeyError, TypeError, ValueError):
        sound, statistics = False, Statistics((), (), 0)
    if not sound or not all(each > 0 for each in statistics.std):
        raise input_error(
            f"{folder / STATISTICS}: no statistics of these latents",
            got=json.dumps(found)[:100],
            allowed="mean and std of each channel, and the number of images",
            fix="restore the file of this run",
        )
    return Latents(network, statistics)
