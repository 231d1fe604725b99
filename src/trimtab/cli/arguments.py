"""Arguments that several commands take, said once."""

from pathlib import Path
from typing import Annotated

import typer

RecipeFile = Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe, as `trimtab init` writes one.")]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        help="Keys of the recipe to set for this once: step.optimizer.learning_rate=3e-4 data.train.0.weight=2",
    ),
]
Run = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="The folder of a run (its best checkpoint), RUN@last, RUN@500, or a checkpoint."
    ),
]
Beam = Annotated[int, typer.Option(min=1, max=64, help="Hypotheses kept for each line; 1 is greedy.")]
Tag = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TAG", help="Symbol put before every line, as in training: <2de>; may be said again."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
