"""Which weights of a checkpoint are meant: those that were trained, or their moving average."""

from pathlib import Path

from torch import Tensor

from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.manifest import MODEL, OPTIMIZER
from trimtab.checkpoint.resolve import split_weights
from trimtab.config.run import Recipe, Weights
from trimtab.errors import input_error
from trimtab.step.optimizer.averaged_weights import PREFIX, has_means, with_means


def weights_meant(checkpoint: Checkpoint, recipe: Recipe) -> Weights:
    """What the user asked for, or else what the run evaluates, so that its scores are those of what is used."""
    return checkpoint.weights or recipe.evaluate.weights


def chosen_weights(checkpoint: Checkpoint, recipe: Recipe) -> dict[str, Tensor]:
    """The weights that are meant, on the CPU; InputError if a moving average is meant and none was kept."""
    weights = checkpoint.load_model()
    if weights_meant(checkpoint, recipe) == "raw":
        return weights
    if not has_means(checkpoint.manifest.tensors[OPTIMIZER]):
        where = f"{checkpoint.run}@{checkpoint.step}"
        raise input_error(
            f"{where}: no moving average of the weights was kept",
            got=f"{where}:ema",
            allowed=f"{where}:raw",
            fix="train with `step.ema.decay: 0.9999`; several checkpoints are averaged by `trimtab average`",
        )
    return with_means(weights, checkpoint.load_optimizer(prefix=PREFIX))


def weights_sha256(checkpoint: Checkpoint, recipe: Recipe) -> str:
    """The sha256, as the manifest has it, of the file that holds the weights that are meant."""
    file = MODEL if weights_meant(checkpoint, recipe) == "raw" else OPTIMIZER
    return checkpoint.manifest.files.named()[file].sha256


def place_of(checkpoint: Checkpoint, recipe: Recipe) -> str:
    """The one name of the weights that are meant: `RUN@500`, or `RUN@500:ema`; `:raw` only where the run evaluates the
    average."""
    meant = weights_meant(checkpoint, recipe)
    said = meant == "ema" or recipe.evaluate.weights == "ema"
    return f"{checkpoint.run}@{checkpoint.step}" + (f":{meant}" if said else "")


def named_place(spec: str, old: Checkpoint, recipe: Recipe) -> str:
    """The one checkpoint that a name such as `RUN` stood for."""
    itself = Path(split_weights(spec)[0]) == old.folder
    return spec if itself else place_of(old, recipe)
