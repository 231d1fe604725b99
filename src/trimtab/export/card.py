"""The model card: what the model is, what it was trained on, what it scored, how it was proven, what it cannot."""

import json
import shlex
from collections.abc import Iterator
from typing import Any

from trimtab import __version__
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.corpora import ParallelFiles
from trimtab.config.render import render_recipe
from trimtab.errors import one_line
from trimtab.export.gate import GateReport
from trimtab.export.marks import public, short
from trimtab.export.target import Target
from trimtab.metrics.catalogue import OF_TRANSLATIONS
from trimtab.translator import LoadedModel

TO_FILL_IN = "not said by the recipe: fill it in"
SCORES = ("loss", *OF_TRANSLATIONS)
LIBRARIES = {"hf": "transformers"}
"""What the hub calls the library of a target, where it is not the target's own name."""


def model_card(model: LoadedModel, *, target: Target, gate: GateReport, name: str, origins: str = "") -> str:
    """The text of README.md; `origins` says where the lines of the gate stand."""
    sections = [
        _head(model, target, name),
        "## Use\n\n" + _usage(model, target, name),
        "## Data\n\n" + table(("corpus", "files", "fingerprint", "licence"), data_rows(model)),
        "## Scores\n\n" + _scores(model),
        "## Proof\n\nCompared with the trainer's model in float32 before this folder appeared:\n\n"
        f"```\n{gate.render()}\n```" + (f"\n\nThe lines: {origins}." if origins else ""),
        "## Limits\n\n" + "\n".join(f"- {each}" for each in target.limits(model)),
        f"## Recipe\n\n```yaml\n{render_recipe(public(model.recipe))}```",
    ]
    return "\n\n".join(sections) + "\n"


def _head(model: LoadedModel, target: Target, name: str) -> str:
    shape = model.recipe.model
    millions = model.model.num_parameters() / 1e6
    return (
        f"---\nlibrary_name: {LIBRARIES.get(target.name, target.name)}\n"
        "pipeline_tag: translation\ntags: [translation, trimtab]\n"
        f"license: other\nlicense_name: {json.dumps(TO_FILL_IN)}\n---\n\n"
        f"# {name}\n\n"
        f"A transformer encoder-decoder of {millions:.2f} million parameters, {shape.dim} wide, "
        f"{shape.encoder_layers} + {shape.decoder_layers} layers, {model.tokenizer.num_ids} pieces; "
        f"trained with trimtab, step {model.checkpoint.step}, exported by trimtab {__version__}.\n\n"
        f"- Languages: {TO_FILL_IN}\n- Licence of the weights: {TO_FILL_IN}\n- Intended use: {TO_FILL_IN}"
    )


def _usage(model: LoadedModel, target: Target, name: str) -> str:
    """With tags where the model never saw a line without them."""
    tagged = [corpus.tags for corpus in model.recipe.data.train]
    tags = tagged[0] if all(tagged) else ()
    command = shlex.join(["trimtab", "translate", name, *(each for tag in tags for each in ("--tag", tag))])
    why = f"In training every line had tags before it, such as `{' '.join(tags)}`.\n\n" if tags else ""
    return f"{why}```python\n{target.usage(name, tags=tags)}\n```\n\nOr `{command}`."


def data_rows(model: LoadedModel) -> Iterator[tuple[str, ...]]:
    """Name, files, fingerprint and licence of each corpus and validation set."""
    data, marks = model.recipe.data, model.checkpoint.fingerprints
    for number, corpus in enumerate(data.train):
        said = marks.get(f"data.train.{number}", "not recorded")
        yield f"train {number + 1}", _files(corpus), said, TO_FILL_IN
    for name, files in data.valid.items():
        yield f"validation {name}", _files(files), "not recorded", TO_FILL_IN


def _files(files: ParallelFiles) -> str:
    tags = f" {' '.join(files.tags)}" if files.tags else ""
    return ", ".join(f"`{short(each)}`" for each in dict.fromkeys(files.paths.values())) + tags


def _scores(model: LoadedModel) -> str:
    rows = list(_evaluations(model))
    if not rows:
        return "The run evaluated nothing at this step."
    counts = ", ".join(_translated(model))
    told = f"\n\nTranslated for it: {counts}; the loss is that of the whole set." if counts else ""
    return table(("set", "measure", "score", "signature"), rows) + told


def _translated(model: LoadedModel) -> list[str]:
    """How many lines of each set the measures of translations stand on: a run translates some of a long one."""
    counts: dict[str, str] = {}
    for found in read_journal(RunFolder(model.checkpoint.run).evaluations):
        measured = any(measure in found for measure in SCORES if measure != "loss")
        if found.get("step") == model.checkpoint.step and measured and isinstance(found.get("lines"), int):
            name = one_line(str(found.get("set")))
            counts[name] = f"{found['lines']} lines of {name}"
    return list(counts.values())


def _evaluations(model: LoadedModel) -> Iterator[tuple[str, ...]]:
    for found in read_journal(RunFolder(model.checkpoint.run).evaluations):
        if found.get("step") != model.checkpoint.step:
            continue
        for measure in SCORES:
            if (score := found.get(measure)) is not None:
                signature = found.get(f"{measure}_signature", "nats per target token")
                yield str(found.get("set")), measure, number(score), f"`{signature}`"


def number(score: Any) -> str:
    """A score; the log has words for those that are not finite."""
    return f"{score:.4g}" if isinstance(score, int | float) else one_line(str(score))


def table(head: tuple[str, ...], rows: Any) -> str:
    """Rows of cells as Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
