"""`trimtab detect`: objects in images."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trimtab.cli.arguments import Device, Run
from trimtab.cli.output_place import check_output
from trimtab.cli.streams import opened_output
from trimtab.errors import input_error, reading

if TYPE_CHECKING:
    from trimtab.tasks.detection.detector import Detections, TrainedDetector


class Form(StrEnum):
    """How the objects are written."""

    TEXT = "text"
    JSON = "json"
    COCO = "coco"


class Nms(StrEnum):
    """How duplicates are removed."""

    NONE = "none"
    IOU = "iou"
    IOU_CONTAINMENT = "iou_containment"


def detect(
    run: Run,
    images: Annotated[
        list[Path],
        typer.Argument(
            metavar="IMAGE...",
            help="Images, or folders of images. With --score, a list of boxes: a .json file in COCO's form, a "
            "data.yaml, or a folder in YOLO's form.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Written when it is complete; by default stdout.")
    ] = None,
    form: Annotated[
        Form,
        typer.Option(
            "--format",
            help="text: a line for each object; json: a JSON object for each image; coco: one list in the form of "
            "COCO's results, in which images are numbered from 0 in the order given.",
        ),
    ] = Form.TEXT,
    score: Annotated[
        bool, typer.Option("--score", help="Print AP, precision and recall, against the boxes of the list.")
    ] = False,
    draw: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write each image here with its objects drawn in.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Smallest score of an object; by default the recipe's.")
    ] = None,
    nms: Annotated[
        Nms | None, typer.Option(help="How to remove duplicates; by default as the recipe says.")
    ] = None,
    device: Device = None,
) -> None:
    """Find objects in images with a trained detector.

    Prints path, category, score and box (left, top, right, bottom in pixels) of each object, tab-separated. If an image
    cannot be read, prints an error on stderr and exits with 1.
    """
    check_output(output, inputs={}, models=[run])
    from trimtab.tasks.detection.detector import load_detector
    from trimtab.tasks.detection.scoring import score_list
    from trimtab.tasks.images.sources import image_files

    paths = [] if score else image_files(images)
    detector = load_detector(
        run, device=device, score_threshold=threshold, nms=None if nms is None else nms.value
    )
    if score:
        scores = score_list(detector, images)
        with opened_output(output) as written:
            written.write(f"{json.dumps(scores.to_dict()) if form is not Form.TEXT else scores.render()}\n")
        return
    _find(detector, paths, output=output, form=form, draw=draw)


def _find(
    detector: "TrainedDetector", paths: list[Path], *, output: Path | None, form: Form, draw: Path | None
) -> None:
    """Writes what is found in each image; exit code 1 where one could not be read."""
    from trimtab.tasks.detection.detector import coco_results

    if draw is not None:
        with reading(draw):
            draw.mkdir(parents=True, exist_ok=True)
    found: "list[Detections]" = []
    with opened_output(output) as written:
        for path, each in zip(paths, detector.detect(paths), strict=True):
            found.append(each)
            if each.error:
                typer.echo(f"{each.image}: {each.error}", err=True)
            elif draw is not None:
                _draw(detector, path, each, draw)
            if form is Form.JSON:
                written.write(json.dumps(each.to_dict(), ensure_ascii=False) + "\n")
            elif form is Form.TEXT:
                written.writelines(_lines(each))
        if form is Form.COCO:
            written.write(coco_results(found, detector.categories, range(len(found))) + "\n")
    if failed := sum(bool(each.error) for each in found):
        typer.echo(f"{failed} of {len(paths)} images could not be read", err=True)
        raise typer.Exit(1)


def _lines(found: "Detections") -> list[str]:
    return [
        "\t".join([found.image, each.category, f"{each.score:.4f}", *(f"{side:.1f}" for side in each.box)])
        + "\n"
        for each in found.objects
    ]


def _draw(detector: "TrainedDetector", path: Path, found: "Detections", folder: Path) -> None:
    from trimtab.tasks.detection.detector import drawn
    from trimtab.tasks.images.pixels import load_image

    place = folder / f"{path.stem}.png"
    if place.resolve() == path.resolve():
        raise input_error(
            f"--draw {folder}: would replace the image itself",
            got=str(path),
            allowed="another folder",
            fix="name another folder",
        )
    image = load_image(path, detector.canvas.reading)
    with reading(place):
        drawn(image, found, categories=detector.categories.names).save(place)
