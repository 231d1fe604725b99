"""A translator for a run, or for an ensemble of several."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trimtab.config.given_path import RUN, path_texts
from trimtab.data.transforms.apply import build_transforms
from trimtab.decode.ensemble import Ensemble, EnsembleMode
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationSetup
from trimtab.errors import input_error
from trimtab.inference.exported import ExportedModel, open_model
from trimtab.inference.load import LoadedModel
from trimtab.inference.recorded import recorded
from trimtab.inference.translator import Translator


def load_translator(
    spec: Path | str | Sequence[Path | str],
    *,
    beam: int = 4,
    length_penalty: float = 1.0,
    search: Search | None = None,
    tags: Sequence[str] = (),
    device: str | None = None,
    ensemble: EnsembleMode = "linear",
) -> Translator:
    """A translator for `RUN`, `RUN@last`, `RUN@500` or the folder of an export, which puts `tags` before every line
    as training did.

    Several of them translate together, their distributions averaged as `ensemble` says; see `decode.ensemble`. Where
    `search` is given it says everything about the search, in place of `beam` and `length_penalty`.

    Raises InputError for a tag that the vocabulary does not have and for models of different vocabularies, besides
    what `load_model` raises.
    """
    search = search or Search(beam=beam, length_penalty=length_penalty)
    specs = path_texts(spec, name="run", allowed=f"{RUN}; or a list of them")
    models = [open_model(each, device=device) for each in specs]
    translator = models[0].translator(search=search, tags=tuple(tags))
    if len(models) > 1:
        translator.setup = together(models, translator.setup, mode=ensemble)
        translator.open_aligner = None  # each of them has attention of its own
    return translator


def load_adapted_translator(
    specs: Sequence[Path | str],
    *,
    adapter: Path | str,
    search: Search,
    tags: Sequence[str] = (),
    device: str | None = None,
) -> Translator:
    """A translator for one run with an adapter, which is not merged: a folder in PEFT's format, or a run that trained
    an adapter on this very model.

    Raises InputError for several runs, and for an export, besides what `load_translator` and `load_model` raise.
    """
    if len(specs) > 1:
        raise input_error(
            "--adapter: an adapter belongs to one model",
            got=f"{len(specs)} runs",
            allowed="one run beside --adapter",
            fix="name one; a run that trained an adapter can be in an ensemble by itself, without --adapter",
        )
    model = open_model(specs[0], device=device, adapter=adapter)
    return model.translator(search=search, tags=tuple(tags))


def together(
    models: Sequence[LoadedModel | ExportedModel], setup: TranslationSetup, *, mode: EnsembleMode
) -> TranslationSetup:
    """The first model's setup with all of them in it, and with the shortest of their `max_tokens`.

    Raises InputError if their vocabularies differ, or what they do to a line before it is tokenised.
    """
    first = models[0]
    for other in models[1:]:
        if other.tokenizers.fingerprints != first.tokenizers.fingerprints:
            raise input_error(
                f"{other.name}: has another vocabulary than {first.name}, so they cannot form an ensemble",
                got="sha256 "
                + " and ".join(
                    "+".join(mark[:16] for mark in each.tokenizers.fingerprints.values())
                    for each in (other, first)
                ),
                allowed="runs with one tokenizer",
                fix="train them with the same `data.tokenizer.path`, or take checkpoints of one run: RUN@500 RUN@1000",
            )
        if text_steps(other) != text_steps(first):
            raise input_error(
                f"{other.name}: preprocesses text differently from {first.name}, so they cannot form an ensemble",
                got="different `data.transforms`",
                allowed="runs with equivalent transforms",
                fix="take runs with the same `data.transforms`",
            )
    longest = min(each.recipe.data.max_tokens for each in models)
    ensemble = Ensemble([each.translates for each in models], mode=mode)
    return recorded(replace(setup, model=ensemble, max_tokens=longest))


def text_steps(model: LoadedModel | ExportedModel) -> list[str]:
    """What the transforms do to a line that is translated, as text to compare; filters do nothing to it."""
    steps = build_transforms(model.recipe.data.transforms).of_translation.steps
    return [repr(step) for step in steps]
