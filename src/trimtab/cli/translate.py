"""`trimtab translate`: lines in, as many lines out, in order."""

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Beam, Run, Tag
from trimtab.cli.streams import opened_input, opened_output


def translate(
    run: Run,
    source: Annotated[
        Path | None,
        typer.Option("--input", metavar="FILE", help="Text, one sentence a line; by default stdin."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Appears when it is complete; by default stdout.")
    ] = None,
    beam: Beam = 4,
    tag: Tag = None,
    length_penalty: Annotated[
        float, typer.Option(min=0.0, max=10.0, help="Above 1 favours long translations, below 1 short ones.")
    ] = 1.0,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda or cuda:1; by default a GPU where there is one.")
    ] = None,
) -> None:
    """Translate text, line by line."""
    with opened_input(source) as lines:
        from trimtab.translator import load_translator

        translator = load_translator(
            run, beam=beam, length_penalty=length_penalty, tags=tag or (), device=device
        )
        with opened_output(output) as text:
            translator.translate_stream(lines, text, name="stdin" if source is None else str(source))
