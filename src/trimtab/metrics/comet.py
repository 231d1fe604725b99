"""COMET, a score by a neural network that was trained on judgements of people, through its own library."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from trimtab.errors import input_error
from trimtab.metrics.metric import Score, TranslationMetric, check_aligned

CHECKPOINT = Path("checkpoints") / "model.ckpt"
"""Where a COMET model's folder has its weights."""
BATCH_SEGMENTS = 16


def import_comet() -> Any:
    """The library `unbabel-comet`; InputError with the command that installs it where it is missing."""
    try:
        return import_module("comet")
    except ImportError as error:
        raise input_error(
            "COMET: needs a library that is not installed",
            got=" ".join(str(error).split()),
            allowed="unbabel-comet 2.2 or newer",
            fix='`pip install "trimtab[comet]"`, or leave --comet out',
        ) from None


def load_comet(model: str) -> Any:
    """The COMET model of a checkpoint file, of a folder with `checkpoints/model.ckpt`, or of a name on the hub.

    The library reads its checkpoints as pickles, which can run code: take them only from whom you trust. Raises
    InputError if the library or the model is missing.
    """
    comet = import_comet()
    path = Path(model)
    place = path / CHECKPOINT if path.is_dir() else path
    try:
        checkpoint = str(place) if place.exists() else comet.download_model(model)
        return comet.load_from_checkpoint(checkpoint)
    except Exception as error:  # the library raises whatever its parts raise, down to plain Exception
        raise input_error(
            f"COMET: the model {model!r} cannot be loaded",
            got=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
            allowed="a checkpoint file, the folder of a model, or a name on the hub such as Unbabel/wmt22-comet-da",
            fix="check the name; without network access, download the model elsewhere and name its folder",
        ) from None


def comet_score(
    model: str,
    translations: Sequence[str],
    *,
    sources: Sequence[str],
    references: Sequence[str],
    gpus: int = 0,
) -> Score:
    """The mean of a COMET model's scores of all lines; about 0 to 1, larger is better, comparable for one model only.

    Source: Rei et al. 2020, arXiv 2009.09025. Models that need no reference ignore it. Raises InputError on unequal or
    empty sets and as `load_comet`.
    """
    check_aligned(translations, references)
    network = load_comet(model)
    columns = zip(sources, translations, references, strict=True)
    samples = [{"src": source, "mt": line, "ref": reference} for source, line, reference in columns]
    found = network.predict(samples, batch_size=BATCH_SEGMENTS, gpus=gpus, progress_bar=False)
    version = getattr(import_comet(), "__version__", "unknown")
    return Score(
        name="COMET",
        value=float(found.system_score),
        signature=f"model:{Path(model).name if Path(model).exists() else model}|version:{version}",
        digits=4,
    )


COMET = TranslationMetric(
    name="comet",
    label="COMET",
    about="a neural network's judgement of translation, source and reference, about 0 to 1",
    compute=lambda lines: comet_score(
        lines.settings.comet_model,
        lines.outputs,
        sources=lines.sources,
        references=lines.references,
        gpus=lines.settings.gpus,
    ),
    check=lambda _: import_comet(),
    digits=4,
    fine_digits=4,
)
