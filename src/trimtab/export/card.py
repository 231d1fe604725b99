"""The model card: what the model is, what it was trained on, what it scored, how it was proven, what it cannot."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab import __version__
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.corpora import ParallelFiles
from trimtab.config.export_targets import AROUND_THE_MODEL
from trimtab.config.pairs_alone import learns_pairs_alone
from trimtab.config.render import render_recipe
from trimtab.config.reserved import SEPARATOR
from trimtab.config.run import Recipe
from trimtab.config.transformers_model import TransformersModel
from trimtab.errors import one_line
from trimtab.export.gate import GateReport
from trimtab.export.public_recipe import public, short
from trimtab.export.target import TargetCard, Trained
from trimtab.metrics.catalogue import OF_THE_LOSS, OF_TRANSLATIONS
from trimtab.metrics.loss import LOSS

TO_FILL_IN = "not said by the recipe: fill it in"
PER_TARGET = "nats per target token"
UNITS = {metric.name: metric.about for metric in (LOSS, *OF_THE_LOSS.values())}
"""What a language model is measured in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardWords:
    """What the card says of one kind of model."""

    pipeline: str
    """The hub's name of what the model does."""
    hub_tags: tuple[str, ...]
    about: str
    """What it is, up to its training."""
    before_use: str
    """What to know before the code, or nothing."""
    after_use: str
    """How trimtab itself takes the folder."""
    scores: str
    samples: str
    """What the gate compared: lines or texts."""


def translator_words(trained: Trained, name: str, *, tags: Sequence[str]) -> CardWords:
    """Of a model that translates lines, with the tags before them that it never saw a line without."""
    shape, millions = trained.recipe.model, trained.model.num_parameters() / 1e6
    command = shlex.join(["trimtab", "translate", name, *(each for tag in tags for each in ("--tag", tag))])
    before = f"In training every line had tags before it, such as `{' '.join(tags)}`.\n\n" if tags else ""
    return CardWords(
        pipeline="translation",
        hub_tags=("translation", "trimtab"),
        about=f"A fine-tuned {shape.family} model of {millions:.2f} million parameters, {shape.dim} wide, "
        f"{len(trained.model.blocks)} layers on both sides, {trained.tokenizer.num_ids} pieces"
        if isinstance(shape, TransformersModel)
        else f"A transformer encoder-decoder of {millions:.2f} million parameters, {shape.dim} wide, "
        f"{shape.encoder_layers} + {shape.decoder_layers} layers, {trained.tokenizer.num_ids} pieces",
        before_use=before + around_the_model(trained.recipe),
        after_use=f"Or `{command}`.",
        scores=_translation_scores(trained),
        samples="lines",
    )


def around_the_model(recipe: Recipe) -> str:
    """What has to be done to lines outside the library, and who does it; nothing where nothing has to be done."""
    done = [AROUND_THE_MODEL[each.kind] for each in recipe.data.transforms if each.kind in AROUND_THE_MODEL]
    if not done:
        return ""
    return (
        f"The model reads lines that trimtab has prepared: it {' and '.join(done)}, as `data.transforms` in "
        "`trimtab/recipe.yaml` says. `trimtab translate` does that; the code below, which knows the library alone, "
        "does not.\n\n"
    )


def language_model_words(trained: Trained, name: str, *, class_name: str) -> CardWords:
    """Of a model that continues prompts."""
    shape, millions = trained.recipe.model, trained.model.num_parameters() / 1e6
    return CardWords(
        pipeline="text-generation",
        hub_tags=("trimtab",),
        about=f"A language model ({class_name}) of {millions:.2f} million parameters, {shape.dim} wide, "
        f"{len(trained.model.blocks)} layers, {trained.model.num_ids} ids, a window of "
        f"{trained.recipe.data.max_tokens} tokens",
        before_use="",
        after_use=way_to_use(trained.recipe, name),
        scores=_scores(trained, UNITS, column="unit"),
        samples="texts",
    )


def model_card(
    trained: Trained, words: CardWords, card: TargetCard, *, gate: GateReport, name: str, origins: str = ""
) -> str:
    """The text of README.md; `origins` says where the samples of the gate come from."""
    proven = f"\n\nThe {words.samples}: {origins}." if origins else ""
    sections = [
        _head(trained, words, card, name),
        f"## Use\n\n{words.before_use}```python\n{card.usage}\n```\n\n{words.after_use}",
        "## Data\n\n" + table(("corpus", "files", "fingerprint", "licence"), data_rows(trained)),
        "## Scores\n\n" + words.scores,
        "## Proof\n\nCompared with the trainer's model in float32 before this folder appeared:\n\n"
        f"```\n{gate.render()}\n```{proven}",
        "## Limits\n\n" + "\n".join(f"- {each}" for each in card.limits),
        f"## Recipe\n\n```yaml\n{render_recipe(public(trained.recipe))}```",
    ]
    return "\n\n".join(sections) + "\n"


def _head(trained: Trained, words: CardWords, card: TargetCard, name: str) -> str:
    return (
        f"---\nlibrary_name: {card.library}\n"
        f"pipeline_tag: {words.pipeline}\ntags: [{', '.join(words.hub_tags)}]\n"
        f"license: other\nlicense_name: {json.dumps(TO_FILL_IN)}\n---\n\n"
        f"# {name}\n\n"
        f"{words.about}; trained with trimtab, step {trained.checkpoint.step}, exported by trimtab {__version__}.\n\n"
        f"- Languages: {TO_FILL_IN}\n- Licence of the weights: {TO_FILL_IN}\n- Intended use: {TO_FILL_IN}"
    )


def way_to_use(recipe: Recipe, name: str) -> str:
    """What to do with the folder of a language model besides Python."""
    if learns_pairs_alone(recipe):
        return (
            f"Every row that it was trained on was a source, `{SEPARATOR}` and a target, so a prompt must end with "
            "that symbol. `trimtab translate` with the run that it came from puts it there."
        )
    command = shlex.join(["trimtab", "generate", name, "--prompt", "Once"])
    return f"Or `{command}`."


def data_rows(trained: Trained) -> Iterator[tuple[str, ...]]:
    """Name, files, fingerprint and licence of each corpus and validation set."""
    data, marks = trained.recipe.data, trained.checkpoint.fingerprints
    for number, corpus in enumerate(data.train):
        said = marks.get(f"data.train.{number}", "not recorded")
        yield f"train {number + 1}", _files(corpus), said, TO_FILL_IN
    for name, files in data.valid.items():
        yield f"validation {name}", _files(files), "not recorded", TO_FILL_IN


def _files(files: ParallelFiles) -> str:
    tags = f" {' '.join(files.tags)}" if files.tags else ""
    return ", ".join(f"`{short(each)}`" for each in dict.fromkeys(files.paths.values())) + tags


def _translation_scores(trained: Trained) -> str:
    units = dict.fromkeys(("loss", *OF_TRANSLATIONS), PER_TARGET)
    counts = ", ".join(_translated(trained, [measure for measure in units if measure != "loss"]))
    told = f"\n\nTranslated for it: {counts}; the loss is that of the whole set." if counts else ""
    return _scores(trained, units, column="signature") + told


def _scores(trained: Trained, units: Mapping[str, str], *, column: str) -> str:
    rows = list(_evaluations(trained, units, is_code=column == "signature"))
    return (
        table(("set", "measure", "score", column), rows)
        if rows
        else "The run evaluated nothing at this step."
    )


def _translated(trained: Trained, measures: Sequence[str]) -> list[str]:
    """How many lines of each set the measures of translations are of: a run translates some of a long one."""
    counts: dict[str, str] = {}
    for found in read_journal(RunFolder(trained.checkpoint.run).evaluations):
        measured = any(measure in found for measure in measures)
        if found.get("step") == trained.checkpoint.step and measured and isinstance(found.get("lines"), int):
            name = one_line(str(found.get("set")))
            counts[name] = f"{found['lines']} lines of {name}"
    return list(counts.values())


def _evaluations(trained: Trained, units: Mapping[str, str], *, is_code: bool) -> Iterator[tuple[str, ...]]:
    for found in read_journal(RunFolder(trained.checkpoint.run).evaluations):
        if found.get("step") != trained.checkpoint.step:
            continue
        for measure, unit in units.items():
            if (score := found.get(measure)) is not None:
                signature = found.get(f"{measure}_signature", unit)
                yield (
                    str(found.get("set")),
                    measure,
                    number(score),
                    f"`{signature}`" if is_code else signature,
                )


def number(score: Any) -> str:
    """A score; the log has words for those that are not finite."""
    return f"{score:.4g}" if isinstance(score, int | float) else one_line(str(score))


def table(head: tuple[str, ...], rows: Any) -> str:
    """Rows of cells as Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
