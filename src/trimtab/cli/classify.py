"""`trimtab classify`: the label of each line, or of each image."""

import json
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Adapter, Device, Run
from trimtab.cli.output_place import check_output
from trimtab.cli.streams import opened_input, opened_output
from trimtab.errors import input_error


def classify(
    run: Run,
    images: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[IMAGE]...",
            help="Images, or folders of images, for an image classifier. Without images, reads texts.",
        ),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", help="Texts, one per line; by default stdin.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Written when it is complete; by default stdout.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object per line, with the probability of every label."),
    ] = False,
    adapter: Adapter = None,
    device: Device = None,
) -> None:
    """Label texts or images with a trained classifier.

    Prints the most likely label of each line and its probability, tab-separated; for images, the path comes first.
    If an image cannot be read, prints an error on stderr, classifies the others, and exits with 1.
    """
    if images:
        if source is not None or adapter is not None:
            option = "--input" if source is not None else "--adapter"
            raise input_error(
                f"classify: {option} is for a classifier of texts",
                got=f"{option} and {len(images)} images",
                allowed=f"images, or {option}",
                fix="leave one of them out",
            )
        classify_images(run, images, output=output, as_json=as_json, device=device)
        return
    check_output(output, inputs={"--input": source}, models=[run])
    with opened_input(source) as lines:
        from trimtab.decode.reading import read_lines
        from trimtab.tasks.classification.classifier import load_classifier

        classifier = load_classifier(run, device=device, adapter=adapter)
        texts = read_lines(lines, name="stdin" if source is None else str(source))
        with opened_output(output) as written:
            for found in classifier.classify(texts):
                line = f"{found.label}\t{found.probability:.6f}"
                if as_json:
                    told = {"label": found.label, "probabilities": found.probabilities}
                    line = json.dumps(told, ensure_ascii=False)
                written.write(line + "\n")


def classify_images(
    run: str, images: list[Path], *, output: Path | None, as_json: bool, device: str | None
) -> None:
    """The class of each image."""
    for image in images:
        check_output(output, inputs={"image": image}, models=[run])
    from trimtab.tasks.image_classification.classifier import load_image_classifier
    from trimtab.tasks.images.sources import image_files

    paths, failed = image_files(images), 0
    classifier = load_image_classifier(run, device=device)
    with opened_output(output) as written:
        for found in classifier.classify(paths):
            failed += bool(found.error)
            if found.error:
                typer.echo(f"{found.image}: {found.error}", err=True)
            told: dict[str, object] = {"image": found.image, "label": found.label}
            told |= {"error": found.error} if found.error else {"probabilities": found.probabilities}
            line = f"{found.image}\t{found.label}\t{found.probability:.6f}"
            if as_json or not found.error:
                written.write((json.dumps(told, ensure_ascii=False) if as_json else line) + "\n")
    if failed:
        typer.echo(f"{failed} of {len(paths)} images could not be read", err=True)
        raise typer.Exit(1)
