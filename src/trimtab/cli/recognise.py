"""`trimtab recognise`: the text in images of lines."""

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trimtab.cli.arguments import Device, Run
from trimtab.cli.output_place import check_output
from trimtab.cli.streams import opened_output

if TYPE_CHECKING:
    from trimtab.tasks.recognition.recognizer import Recognized


class Head(StrEnum):
    """What writes the text."""

    CTC = "ctc"
    ATTENTION = "attention"


def recognise(
    run: Run,
    images: Annotated[
        list[Path],
        typer.Argument(
            metavar="IMAGE...",
            help="Images of one line each, or folders of such images. With --score, a list of images with their texts, "
            "as in `data.train`.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Written when it is complete; by default stdout.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object per image; with --score, one with the scores."),
    ] = False,
    score: Annotated[
        bool,
        typer.Option(
            "--score", help="Print error rates and confused characters, against the texts of the list."
        ),
    ] = False,
    head: Annotated[
        Head | None, typer.Option(help="Head to use if the model has both; by default, the decoder.")
    ] = None,
    beam: Annotated[
        int,
        typer.Option(min=1, max=64, help="Hypotheses that a decoder follows for each image; 1 is greedy."),
    ] = 1,
    device: Device = None,
) -> None:
    """Read images of text lines with a trained recognizer.

    Prints the path and the text of each image, tab-separated, in the order given. If an image cannot be read, prints an
    error on stderr and exits with 1.
    """
    for image in images:
        check_output(output, inputs={"image": image}, models=[run])
    check_output(output, inputs={}, models=[run])
    from trimtab.tasks.images.sources import image_files
    from trimtab.tasks.recognition.recognizer import load_recognizer
    from trimtab.tasks.recognition.scoring import score_list

    paths = [] if score else image_files(images)
    recognizer = load_recognizer(run, device=device, head=None if head is None else head.value, beam=beam)
    with opened_output(output) as written:
        if score:
            found = score_list(recognizer, images)
            written.write(
                f"{json.dumps(found.to_dict(), ensure_ascii=False) if as_json else found.render()}\n"
            )
            return
        failed = _write(recognizer.recognize(paths), written, as_json=as_json)
    if failed:
        typer.echo(f"{failed} of {len(paths)} images could not be read", err=True)
        raise typer.Exit(1)


def _write(found: "Iterable[Recognized]", written: Any, *, as_json: bool) -> int:
    """Writes what was read, and says on stderr what could not be read; how many images that were."""
    failed = 0
    for each in found:
        failed += bool(each.error)
        if each.error:
            typer.echo(f"{each.image}: {each.error}", err=True)
        if as_json or not each.error:
            written.write((_object(each) if as_json else f"{each.image}\t{each.text}") + "\n")
    return failed


def _object(found: "Recognized") -> str:
    """What was read in an image, as JSON."""
    told = {"image": found.image, "text": found.text, "confidence": round(found.confidence, 6)}
    return json.dumps(told | ({"error": found.error} if found.error else {}), ensure_ascii=False)
