"""What loading a trained model begins and ends with, whatever its task."""

from dataclasses import dataclass
from pathlib import Path

from torch import nn

from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.given_path import RUN, path_text
from trimtab.config.load import load_recipe
from trimtab.config.run import Recipe
from trimtab.errors import input_error
from trimtab.inference.chosen_weights import chosen_weights
from trimtab.inference.load import load_weights


@dataclass(frozen=True, slots=True)
class TrainedRun:
    """A checkpoint that is meant, and the recipe that describes its model."""

    recipe: Recipe
    checkpoint: Checkpoint
    folder: RunFolder

    def check_trained_with(self, fingerprint: str, *, name: str, what: str, got: str) -> None:
        """InputError unless the checkpoint was trained with `what` has this fingerprint; `name` is its own among those
        of the checkpoint, and `got` what is there, in words."""
        trained_with = self.checkpoint.fingerprints.get(name)
        if fingerprint != trained_with:
            raise input_error(
                f"{self.folder.tokenizer}: not the {what} that the model was trained with",
                got=got,
                allowed=f"sha256 {str(trained_with)[:16]}, as checkpoint {self.checkpoint.folder.name} says",
                fix=f"restore the {what} of this run",
            )

    def load_weights(self, model: nn.Module) -> None:
        """Puts the weights that are meant into the model; InputError if the recipe describes another one."""
        weights = chosen_weights(self.checkpoint, self.recipe)
        load_weights(model, self.folder, weights, checkpoint=self.checkpoint)


def trained_run(spec: Path | str, *, task: str, kind: str) -> TrainedRun:
    """The checkpoint of `RUN`, `RUN@last` or `RUN@500`; InputError where there is none, and for a run of another task,
    which is no `kind`, in words."""
    checkpoint = resolve_checkpoint(path_text(spec, name="run", allowed=RUN))
    folder = RunFolder(checkpoint.run)
    recipe = load_recipe(folder.recipe).recipe
    if recipe.task != task:
        raise input_error(
            f"{spec}: no {kind}",
            got=f"a run with `task: {recipe.task}`",
            allowed=f"a run with `task: {task}`",
            fix="name a run of this task",
        )
    return TrainedRun(recipe, checkpoint, folder)
