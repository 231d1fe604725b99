"""The model card of a language model: what it is, what it read, what it scored, how it was proven, what it cannot."""

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from trimtab import __version__
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.render import render_recipe
from trimtab.config.reserved import SEPARATOR
from trimtab.config.run import Recipe
from trimtab.engines.llama_shape import class_name
from trimtab.export import llama
from trimtab.export.card import TO_FILL_IN, data_rows, number, table
from trimtab.export.marks import public
from trimtab.export.text_gate import TextGateReport
from trimtab.export.text_lines import GateText
from trimtab.metrics.catalogue import OF_THE_LOSS
from trimtab.metrics.loss import LOSS
from trimtab.model.decoder_only import DecoderOnly
from trimtab.translator import LoadedModel
from trimtab.translator.pairs_alone import learns_pairs_alone

MEASURES = {metric.name: metric.about for metric in (LOSS, *OF_THE_LOSS.values())}


def text_card(
    model: LoadedModel, network: DecoderOnly, *, gate: TextGateReport, name: str, texts: Sequence[GateText]
) -> str:
    """The text of README.md; `texts` are those of the gate."""
    window = model.recipe.data.max_tokens
    counts = Counter(text.origin for text in texts)
    origins = ", ".join(f"{count} of {origin}" for origin, count in counts.items())
    sections = [
        _head(model, network, name),
        f"## Use\n\n```python\n{llama.usage(name)}\n```\n\n{way_to_use(model.recipe, name)}",
        "## Data\n\n" + table(("corpus", "files", "fingerprint", "licence"), data_rows(model)),
        "## Scores\n\n" + _scores(model),
        "## Proof\n\nCompared with the trainer's model in float32 before this folder appeared:\n\n"
        f"```\n{gate.render()}\n```\n\nThe texts: {origins}.",
        "## Limits\n\n" + "\n".join(f"- {each}" for each in llama.limits(model.tokenizer, window=window)),
        f"## Recipe\n\n```yaml\n{render_recipe(public(model.recipe))}```",
    ]
    return "\n\n".join(sections) + "\n"


def way_to_use(recipe: Recipe, name: str) -> str:
    """What to do with the folder besides Python."""
    if learns_pairs_alone(recipe):
        return (
            f"Every row that it was trained on was a source, `{SEPARATOR}` and a target, so a prompt must end with "
            "that symbol. `trimtab translate` with the run that it came from puts it there."
        )
    command = shlex.join(["trimtab", "generate", name, "--prompt", "Once"])
    return f"Or `{command}`."


def _head(model: LoadedModel, network: DecoderOnly, name: str) -> str:
    shape, millions = network.config, network.num_parameters() / 1e6
    return (
        "---\nlibrary_name: transformers\npipeline_tag: text-generation\ntags: [trimtab]\n"
        f"license: other\nlicense_name: {json.dumps(TO_FILL_IN)}\n---\n\n"
        f"# {name}\n\n"
        f"A language model ({class_name(shape)}) of {millions:.2f} million parameters, {shape.dim} wide, "
        f"{shape.layers} layers, {network.num_ids} ids, a window of {model.recipe.data.max_tokens} tokens; "
        f"trained with trimtab, step {model.checkpoint.step}, exported by trimtab {__version__}.\n\n"
        f"- Languages: {TO_FILL_IN}\n- Licence of the weights: {TO_FILL_IN}\n- Intended use: {TO_FILL_IN}"
    )


def _scores(model: LoadedModel) -> str:
    rows = list(_evaluations(model))
    return (
        table(("set", "measure", "score", "unit"), rows)
        if rows
        else "The run evaluated nothing at this step."
    )


def _evaluations(model: LoadedModel) -> Iterator[tuple[str, ...]]:
    for found in read_journal(RunFolder(model.checkpoint.run).evaluations):
        if found.get("step") != model.checkpoint.step:
            continue
        for measure, unit in MEASURES.items():
            if (score := found.get(measure)) is not None:
                yield str(found.get("set")), measure, number(score), unit
