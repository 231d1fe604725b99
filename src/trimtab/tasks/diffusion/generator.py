"""A trained diffusion model, ready to make images."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from trimtab.arguments import whole_number
from trimtab.checkpoint.load import Checkpoint
from trimtab.config.diffusion_model import Sampling
from trimtab.config.run import Recipe
from trimtab.data.order import stream_keys
from trimtab.device import choose_device
from trimtab.errors import input_error
from trimtab.inference.ready import prepare_for_inference
from trimtab.tasks.diffusion.building import diffuser_of
from trimtab.tasks.diffusion.datasets import settings_of
from trimtab.tasks.diffusion.latents import FOLDER, read_latents
from trimtab.tasks.diffusion.model import ImageDiffuser
from trimtab.tasks.diffusion.pictures import nearest
from trimtab.tasks.diffusion.sampling import SampleRequest, sampled
from trimtab.tasks.images.labelled import open_pictures
from trimtab.tasks.images.pixels import BadImage
from trimtab.tasks.images.squares import read_square
from trimtab.tasks.labels import Labels, load_labels
from trimtab.tasks.trained_run import trained_run


@dataclass(frozen=True, slots=True)
class Nearest:
    """The training image that is nearest to a sample."""

    place: str
    distance: float
    """Root mean square of the differences of their pixels, in levels from 0 to 255."""
    pixels: np.ndarray
    """As the model learned it, `side side channels`, uint8."""


@dataclass(frozen=True)
class ImageGenerator:
    """A checkpoint's model on its device, with the classes that belong to it."""

    recipe: Recipe
    checkpoint: Checkpoint
    model: ImageDiffuser
    labels: Labels

    def __repr__(self) -> str:
        return f"ImageGenerator({str(self.checkpoint.folder)!r}, {len(self.labels)} classes)"

    def sample(
        self,
        classes: Sequence[str | None],
        *,
        seed: int = 1,
        guidance: float | None = None,
        steps: int | None = None,
        sampler: str | None = None,
    ) -> np.ndarray:
        """An image for each of these classes (None for no class), `images side side channels`, uint8; what is not given
        is as the recipe has it (`model.sampling`). Image number N follows from seed, N and its class, however many
        there are. Raises InputError for a class that the model does not know, and for settings that it cannot have."""
        wanted = SampleRequest(
            self.numbers(classes),
            stream_keys(whole_number(seed, name="seed", least=0, fix="seed=1"), np.arange(len(classes))),
        )
        settings = self.settings(guidance=guidance, steps=steps, sampler=sampler)
        return sampled(self.model, wanted, settings, device=self.model.output_matrix.device)

    def numbers(self, classes: Iterable[str | None]) -> np.ndarray:
        """The numbers of classes, int64; InputError for one that the model does not know."""
        known, found = self.labels.numbers, list[int]()
        for name in classes:
            if name is not None and name not in known:
                raise input_error(
                    "class: not one that the model knows",
                    got=repr(name),
                    allowed=self.labels.shown() or "none: it was trained without classes",
                    fix="name one of these, or leave it out",
                )
            found.append(self.model.no_class if name is None else known[name])
        return np.array(found, np.int64)

    def settings(self, *, guidance: float | None, steps: int | None, sampler: str | None) -> Sampling:
        """Those of the recipe with what is given; InputError for what cannot be."""
        model, _ = settings_of(self.recipe)
        given = {"guidance": guidance, "steps": steps, "sampler": sampler}
        changed = {key: value for key, value in given.items() if value is not None}
        allowed = {"guidance": (0.0, 100.0), "steps": (1, 10_000)}
        for key, (least, most) in allowed.items():
            value = changed.get(key)
            if value is not None and not least <= float(value) <= most:
                raise input_error(
                    f"{key}: out of range",
                    got=f"{value:g}",
                    allowed=f"{least:g} to {most:g}",
                    fix=f"leave it out to take {getattr(model.sampling, key):g}",
                )
        if sampler not in (None, "euler", "ddim"):
            raise input_error(
                "sampler: not known", got=repr(sampler), allowed="euler or ddim", fix="leave it out"
            )
        if guidance not in (None, 1.0) and model.class_dropout == 0 and len(self.labels):
            raise input_error(
                "guidance: needs a model that also knows images without their class",
                got=f"{guidance:g}, of a run with `model.class_dropout: 0`",
                allowed="1",
                fix="train with `model.class_dropout: 0.1`",
            )
        return model.sampling.model_copy(update=changed)

    def nearest(self, images: np.ndarray) -> list[Nearest]:
        """For each of these images the training image with the nearest pixels; reads all training images, and leaves
        out those that cannot be read, as training did."""
        places, pixels = self.training_images
        numbers, distances = nearest(images.reshape(len(images), -1), pixels.reshape(len(pixels), -1))
        return [
            Nearest(places[number], round(float(distance), 3), pixels[number])
            for number, distance in zip(numbers.tolist(), distances.tolist(), strict=True)
        ]

    @cached_property
    def training_images(self) -> tuple[list[str], np.ndarray]:
        """The places of all training images, and their pixels. InputError where none can be read."""
        _, images = settings_of(self.recipe)
        places, found = list[str](), list[np.ndarray]()
        for number, files in enumerate(self.recipe.data.train):
            corpus = open_pictures(files, key=f"data.train.{number}", seed=self.recipe.seed)
            for line in range(len(corpus)):
                try:
                    found.append(read_square(corpus, line, images))
                except BadImage:
                    continue
                places.append(corpus.place(line))
        if not found:
            raise input_error(
                "data.train: no training image can be read",
                got=", ".join(str(files.images) for files in self.recipe.data.train),
                fix="put them back where the run found them",
            )
        return places, np.stack(found)


def load_image_generator(spec: Path | str, *, device: str | None = None) -> ImageGenerator:
    """The model of `RUN`, `RUN@last` or `RUN@500` (`:raw` for the weights without their moving average); on a GPU in
    half precision.

    Raises InputError if there is no such run or checkpoint, it makes no images, the checkpoint is damaged, or recipe or
    classes are not those that it was trained with.
    """
    place = choose_device(device)
    run = trained_run(spec, task="diffusion", kind="diffusion model")
    recipe = run.recipe
    if recipe.model.kind == "autoencoder":
        raise input_error(
            f"{spec}: an autoencoder makes no images",
            got="a run with `model.kind: autoencoder`",
            allowed="a run with `model.kind: diffusion_transformer`",
            fix=f"train one in its latents, with `model.autoencoder: {spec}`",
        )
    labels = load_labels(run.folder.tokenizer)
    run.check_trained_with(
        labels.fingerprint,
        name="labels",
        what="classes",
        got=labels.shown() or "none",
    )
    settings, _ = settings_of(recipe)
    latents = None if settings.autoencoder is None else read_latents(run.folder.tokenizer / FOLDER)
    if latents is not None:
        run.check_trained_with(
            latents.fingerprint,
            name="autoencoder",
            what="autoencoder",
            got=f"sha256 {latents.fingerprint[:16]}",
        )
    model = diffuser_of(recipe, num_classes=len(labels), latents=latents)
    run.load_weights(model)
    return ImageGenerator(
        recipe, run.checkpoint, prepare_for_inference(place, model, kernel="varlen"), labels
    )
