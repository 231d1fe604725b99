"""Samples of a model as files: each image, a grid, a list, and their nearest training images."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trimtab.errors import input_error, reading
from trimtab.progress import Progress
from trimtab.tasks.diffusion.autoencoder import load_autoencoder, psnr
from trimtab.tasks.diffusion.generator import ImageGenerator, load_image_generator
from trimtab.tasks.diffusion.pictures import grid_of, png_of
from trimtab.tasks.images.labelled import open_pictures
from trimtab.tasks.images.new_folder import check_new
from trimtab.tasks.images.squares import images_of, read_square
from trimtab.tasks.trained_run import trained_run


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleOptions:
    """What is to be sampled, and how; what is None is as the run has it."""

    classes: Sequence[str] | None = None
    """By default all."""
    count: int = 8
    """Images of each class."""
    seed: int = 1
    nearest: bool = False
    """Whether the nearest training image of each is looked for."""
    guidance: float | None = None
    steps: int | None = None
    sampler: str | None = None


def write_samples(
    run: Path | str, out: Path, *, asked: SampleOptions, device: str | None = None, progress: Progress
) -> str:
    """Writes `00000.png` and so on, `grid.png`, `samples.jsonl` and, where it is asked for, `nearest.png` into a new
    folder; gives what was written, in words.

    Of an autoencoder, `reconstructions.png` has held-out images above what it makes of them.

    Raises InputError for a folder that is not empty, for what `load_image_generator` and `ImageGenerator.sample`
    refuse, and where the training images are gone.
    """
    check_new(out)
    if trained_run(run, task="diffusion", kind="diffusion model").recipe.model.kind == "autoencoder":
        return write_reconstructions(run, out, asked=asked, device=device)
    generator = load_image_generator(run, device=device)
    classes = classes_of(generator, asked.classes)
    labels = [name for name in classes for _ in range(asked.count)]
    progress.message(f"sampling {len(labels):,} images")
    images = generator.sample(
        labels, seed=asked.seed, guidance=asked.guidance, steps=asked.steps, sampler=asked.sampler
    )
    found = generator.nearest(images) if asked.nearest else []
    with reading(out):
        out.mkdir(parents=True, exist_ok=True)
    lines = list[str]()
    for number, (label, image) in enumerate(zip(labels, images, strict=True)):
        name = f"{number:05}.png"
        (out / name).write_bytes(png_of(image))
        line: dict[str, object] = {"image": name, "label": label or ""}
        if found:
            line |= {"nearest": found[number].place, "distance": found[number].distance}
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    (out / "samples.jsonl").write_text("".join(lines), encoding="utf-8")
    (out / "grid.png").write_bytes(png_of(grid_of(images, columns=asked.count)))
    told = f"{len(labels):,} images in {out}, all of them in grid.png"
    if found:
        pairs = np.stack([images, np.stack([each.pixels for each in found])])
        rows = [pairs[:, start : start + asked.count] for start in range(0, len(labels), asked.count)]
        stacked = np.concatenate([row.reshape(-1, *images.shape[1:]) for row in rows])
        (out / "nearest.png").write_bytes(png_of(grid_of(stacked, columns=asked.count)))
        least = min(each.distance for each in found)
        told += f"; nearest training images in nearest.png, smallest RMS pixel distance {least:.1f} (of 255)"
    return told


def write_reconstructions(run: Path | str, out: Path, *, asked: SampleOptions, device: str | None) -> str:
    """Writes the first images of the first validation set above what an autoencoder makes of them, and says how near
    they are. InputError for options that only samples have, and for a run without such a set."""
    given = [name for name in ("classes", "nearest", "guidance", "steps", "sampler") if getattr(asked, name)]
    trained = load_autoencoder(run, device=device)
    sets = [*trained.recipe.data.valid_by_key.items()]
    if given or not sets:
        raise input_error(
            f"{run}: an autoencoder reconstructs validation images and does not sample new ones",
            got=", ".join(given) or "a run without data.valid",
            allowed="only --count",
            fix=f"train a diffusion transformer in its latents, with `model.autoencoder: {run}`",
        )
    key, files = sets[0]
    corpus, config = open_pictures(files, key=key, seed=1), images_of(trained.recipe)
    images = np.stack([read_square(corpus, line, config) for line in range(min(asked.count, len(corpus)))])
    again = trained.reconstruct(images)
    error = float(np.square((images.astype(np.float64) - again) / 127.5).mean())
    with reading(out):
        out.mkdir(parents=True, exist_ok=True)
    both = np.concatenate([images, again])
    (out / "reconstructions.png").write_bytes(png_of(grid_of(both, columns=len(images))))
    place = out / "reconstructions.png"
    return f"{place}: {len(images):,} images of {key} above their reconstructions; PSNR {psnr(error):.1f} dB"


def classes_of(generator: ImageGenerator, asked: Sequence[str] | None) -> list[str | None]:
    """The classes to sample: those that are asked for, or all, or no class where there are none."""
    names: Sequence[str | None] = list(asked or generator.labels.names)
    return [*dict.fromkeys(names)] or [None]
