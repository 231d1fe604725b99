"""`trimtab sample`: images from a trained diffusion model."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Device, Run
from trimtab.cli.console import ConsoleProgress
from trimtab.cli.numbers import Range, number_option


class Sampler(StrEnum):
    """How noise becomes an image."""

    EULER = "euler"
    DDIM = "ddim"


Out = Annotated[Path, typer.Option(metavar="DIR", help="Output folder; must be new or empty.")]
Classes = Annotated[
    list[str] | None,
    typer.Option(
        "--class",
        metavar="NAME",
        help="Class to sample; may be given more than once. By default every class.",
    ),
]
Count = Annotated[
    int,
    number_option("--count", Range(least=1, most=100_000), help="Images for each class.", fix="8 is usual"),
]
Guidance = Annotated[
    float | None,
    number_option(
        "--guidance",
        Range(least=0, most=100, whole=False),
        help="Scale of classifier-free guidance; 1 is the model as it is.",
        fix="1 to 5 is usual",
        show_default="model.sampling.guidance of the run",
    ),
]
Steps = Annotated[
    int | None,
    number_option(
        "--steps",
        Range(least=1, most=10_000),
        help="Number of sampling steps.",
        fix="20 to 100 is usual",
        show_default="model.sampling.steps of the run",
    ),
]
ImageSeed = Annotated[
    int,
    number_option(
        "--seed",
        Range(least=0, most=2**63 - 1),
        help="Image N follows from the seed, N and its class.",
        fix="any whole number, such as 1",
    ),
]


def sample(
    run: Run,
    out: Out,
    classes: Classes = None,
    count: Count = 8,
    guidance: Guidance = None,
    steps: Steps = None,
    sampler: Annotated[
        Sampler | None, typer.Option(help="By default the one of the run (model.sampling.sampler).")
    ] = None,
    seed: ImageSeed = 1,
    nearest: Annotated[
        bool, typer.Option("--nearest", help="Also find the nearest training image of each sample.")
    ] = False,
    device: Device = None,
) -> None:
    """Make images with a trained diffusion model.

    Writes DIR/00000.png and so on, DIR/grid.png with a row for each class, and DIR/samples.jsonl with the class of each
    file; with --nearest also DIR/nearest.png, a row of samples above the row of their nearest training images.
    """
    from trimtab.tasks.diffusion.write_samples import SampleOptions, write_samples

    progress = ConsoleProgress()
    asked = SampleOptions(
        classes=classes,
        count=count,
        seed=seed,
        nearest=nearest,
        guidance=guidance,
        steps=steps,
        sampler=None if sampler is None else sampler.value,
    )
    try:
        told = write_samples(run, out, asked=asked, device=device, progress=progress)
    finally:
        progress.close()
    typer.echo(told)
