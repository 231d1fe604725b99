"""`trimtab classify`: the label of each line."""

import json
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Adapter, Device, Run
from trimtab.cli.output_place import check_output
from trimtab.cli.streams import opened_input, opened_output


def classify(
    run: Run,
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
    """Label texts with a trained classifier.

    Prints the likeliest label of each line and its probability, tab-separated.
    """
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
