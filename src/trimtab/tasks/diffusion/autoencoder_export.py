"""`trimtab export --to hf` of an autoencoder: a folder for `AutoencoderTiny` of diffusers, proven on real images."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trimtab.errors import RunFailed, input_error
from trimtab.export.draft import check_place, draft_folder
from trimtab.export.quantized import Quantized
from trimtab.export.target import Target
from trimtab.export.write_export import GivenText
from trimtab.tasks.diffusion.autoencoder import TrainedAutoencoder, load_autoencoder
from trimtab.tasks.diffusion.latents import measured, one_scale, read_network, write_latents
from trimtab.tasks.images.labelled import open_pictures
from trimtab.tasks.images.pixels import BadImage
from trimtab.tasks.images.squares import images_of, read_square

IMAGES, COMPARED, BOUND = 512, 32, 1e-5
"""Training images that the latents are measured on, how many the proof reads, and by how much numbers may differ."""


@dataclass(frozen=True, slots=True)
class AutoencoderGate:
    """How far the exported autoencoder is from the trained one on real images."""

    images: int
    worst_latent: float
    worst_pixel: float
    """Largest differences of numbers of latents, and of images from -1 to 1."""

    @property
    def passed(self) -> bool:
        """Whether the folder may be used in the trainer's place."""
        return max(self.worst_latent, self.worst_pixel) <= BOUND

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {**asdict(self), "bound": BOUND, "passed": self.passed}

    def render(self) -> str:
        """Lines for people."""
        return (
            f"{self.images} images: latents differ by at most {self.worst_latent:.1e}, "
            f"pixels by {self.worst_pixel:.1e} of 2 (bound {BOUND:.0e})"
        )


@dataclass(frozen=True, slots=True)
class AutoencoderExport:
    """A folder that was written."""

    folder: Path
    step: int
    gate: AutoencoderGate

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "folder": str(self.folder), "target": "hf", "gate": self.gate.to_dict()}

    def render(self) -> str:
        """Lines for people."""
        return f"{self.folder}: step {self.step} for AutoencoderTiny of diffusers\n{self.gate.render()}"


def export_autoencoder(
    run: Path | str, target: Target, out: Path, *, given: GivenText, quantized: Quantized
) -> AutoencoderExport:
    """See `Task.export`: what the folder holds encodes and decodes images as the trainer does, to 1e-5."""
    trained = load_autoencoder(run, device="cpu")
    if target.name != "hf" or given != GivenText():
        raise input_error(
            f"export: {run} is an autoencoder",
            got=f"--to {target.name}" if target.name != "hf" else "text of your own, or tags",
            allowed="--to hf, which AutoencoderTiny of diffusers opens",
            fix="leave other options out",
        )
    check_place(out, run=trained.checkpoint.run)
    pixels = training_images(trained)
    with draft_folder(out) as draft:
        network = trained.model.network
        statistics = measured(network, pixels)
        write_latents(network, statistics, draft)
        gate = compare(trained, draft, pixels[:COMPARED])
        if not gate.passed:
            raise RunFailed(f"the export differs from the trainer; nothing was written\n{gate.render()}")
        told = json.dumps({**gate.to_dict(), **one_scale(statistics)}, indent=2) + "\n"
        (draft / "gate.json").write_text(told, encoding="utf-8")
    return AutoencoderExport(out, trained.checkpoint.step, gate)


def training_images(trained: TrainedAutoencoder) -> np.ndarray:
    """The first images of each corpus that can be read, `images channels side side`, uint8; InputError for none."""
    config, found = images_of(trained.recipe), list[np.ndarray]()
    corpora = trained.recipe.data.train
    for number, files in enumerate(corpora):
        corpus = open_pictures(files, key=f"data.train.{number}", seed=trained.recipe.seed)
        lines = np.random.default_rng(number).permutation(len(corpus))[: max(1, IMAGES // len(corpora))]
        for line in lines.tolist():
            try:
                found.append(read_square(corpus, line, config))
            except BadImage:
                continue
    if not found:
        raise input_error(
            "data.train: no training image can be read",
            got=", ".join(str(files.images) for files in corpora),
            fix="put them back where the run found them",
        )
    return np.stack(found).transpose(0, 3, 1, 2)


@torch.no_grad()
def compare(trained: TrainedAutoencoder, folder: Path, pixels: np.ndarray) -> AutoencoderGate:
    """The trainer's network beside the one that is read from the folder."""
    x = torch.from_numpy(np.ascontiguousarray(pixels)).float() / 127.5 - 1
    ours, other = trained.model.network, read_network(folder)
    latents = ours.encode(x)
    apart = (
        (latents - other.encode(x)).abs().max(),
        (ours.decode(latents) - other.decode(latents)).abs().max(),
    )
    return AutoencoderGate(len(pixels), *(float(each) for each in apart))
