"""muP: learning rates by role from the width of a model and of the one whose learning rate was searched.

Yang et al. 2022, "Tensor Programs V", arXiv 2203.03466, table 8. The first weights of an encoder-decoder follow it
already; `model/decoder_init.py` draws those of a decoder by `mup_base_dim`. What remains are learning rates.
"""

import math
from collections.abc import Iterator
from fnmatch import fnmatchcase

from trimtab.config.complaint import Complaint
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.freezing import patterns_of
from trimtab.config.model import EncoderDecoderModel
from trimtab.config.modular_model import ModularModel
from trimtab.config.optimizers import kinds_where
from trimtab.config.positions import RelativeBias, RelativeVectors, parts_of
from trimtab.config.run import Model, Recipe
from trimtab.config.schedules import Noam

LAST_NORM = "decoder.norm.*"
TABLES_OF_BIASES = "*_positions.weight"
TABLES_OF_VECTORS = "*.attention.relative.*"


def with_mup(recipe: Recipe) -> Recipe:
    """The recipe with the learning rate multipliers that `model.mup_base_dim` stands for, where it writes none.

    With m = dim / mup_base_dim, and Adam's updates, whose size does not depend on that of the gradient:

    - hidden matrices have 1 / m, as in table 8; gains and biases within the layers have 1;
    - the last norm, before the output, takes the place of the output multiplier 1 / m: its gain begins at 1 / m of that
      of the base model (1 / sqrt(m) in an encoder-decoder), and it learns as much slower;
    - in an encoder-decoder, whose embeddings are multiplied by sqrt(dim), embeddings and output have 1 / sqrt(m); in a
      decoder they have 1.

    Multiplying a weight, its first value and its learning rate by c, and what follows it by 1 / c, changes nothing of
    what Adam computes (section J.2.1), so these are the rates of table 8 for other, equal parametrizations.
    """
    model = scaled(recipe.model)
    if model is None or model.mup_base_dim is None or recipe.adapter is not None:
        return recipe  # an adapter has learning rates of its own
    wider = model.dim / model.mup_base_dim
    tables = 1 / math.sqrt(wider) if model.has_encoder else 1.0
    own = recipe.step.optimizer.learning_rate_multipliers
    names = {LAST_NORM: tables if model.has_encoder else 1 / wider}
    # Added to scores of attention, which do not grow with the width.
    names |= dict.fromkeys(relative_tables(model), 1 / tables)
    frozen = patterns_of(recipe.freeze)
    names = {
        pattern: factor
        for pattern, factor in names.items()
        if not any(fnmatchcase(pattern.replace("*", "weight"), each) for each in frozen)
    }
    found = {"hidden": 1 / wider, "embedding": tables, "names": {**names, **own.names}}
    if model.tie_embeddings in ("none", False):
        found["output"] = tables
    kept = {key: value for key, value in found.items() if key == "names" or key not in own.model_fields_set}
    optimizer = recipe.step.optimizer.model_copy(
        update={"learning_rate_multipliers": own.model_copy(update=kept)}
    )
    return recipe.model_copy(update={"step": recipe.step.model_copy(update={"optimizer": optimizer})})


def relative_tables(model: EncoderDecoderModel | DecoderModel) -> Iterator[str]:
    """Patterns of the names of trained positions that attention adds by distance."""
    for settings in model.all_position_settings:
        for each in parts_of(settings):
            match each:
                case RelativeBias():
                    yield "*_positions.relative.weight" if len(parts_of(settings)) > 1 else TABLES_OF_BIASES
                case RelativeVectors():
                    yield TABLES_OF_VECTORS
                case _:
                    pass


def scaled(model: Model) -> EncoderDecoderModel | DecoderModel | None:
    """The model if it has a `mup_base_dim`."""
    match model:
        case EncoderDecoderModel() | DecoderModel() if model.mup_base_dim is not None:
            return model
        case _:
            return None


def mup_contradictions(recipe: Recipe) -> Iterator[Complaint]:
    """What cannot be beside `model.mup_base_dim`."""
    model, step = scaled(recipe.model), recipe.step
    if model is None:
        return
    if isinstance(model, ModularModel):
        yield Complaint(
            path="model.mup_base_dim",
            what="not for models of many components, whose last norms have names of their own",
            got="kind: modular",
            allowed="kind: encoder_decoder or decoder",
            fix="leave it out",
        )
        return
    if model.norm_position != "before":
        yield Complaint(
            path="model.mup_base_dim",
            what="muP takes the place of the last norm's gain, which only `norm_position: before` has",
            got=f"norm_position: {model.norm_position}",
            allowed="norm_position: before",
            fix="set `norm_position: before`, or remove `mup_base_dim`",
        )
    if model.rezero:
        yield Complaint(
            path="model.mup_base_dim",
            what="muP has no scaling rule for the factors of ReZero",
            got="rezero: true",
            allowed="rezero: false",
            fix="remove `rezero`, or `mup_base_dim`",
        )
    yield from _routers(model)
    if not step.optimizer.follows_mup:
        yield Complaint(
            path="step.optimizer.kind",
            what="`model.mup_base_dim` scales learning rates for updates of Adam's size",
            got=step.optimizer.kind,
            allowed=kinds_where(lambda each: each.follows_mup),
            fix="choose one of them, or remove `mup_base_dim`",
        )
    if isinstance(step.schedule, Noam):
        yield Complaint(
            path="step.schedule.kind",
            what="noam divides the learning rate by the root of the width, which `model.mup_base_dim` does already",
            got="noam, with `mup_base_dim`",
            allowed="any other schedule",
            fix="use `{kind: inverse_sqrt}`, which is the same without the width",
        )


def _routers(model: EncoderDecoderModel | DecoderModel) -> Iterator[Complaint]:
    """Parts whose scores of tokens no table of muP scales."""
    found = [] if model.experts is None else [("experts", f"{{count: {model.experts.count}}}")]
    match model:
        case DecoderModel() if model.mixture_of_depths is not None:
            found.append(("mixture_of_depths", f"{{capacity: {model.mixture_of_depths.capacity:g}}}"))
        case _:
            pass
    for key, got in found:
        yield Complaint(
            path="model.mup_base_dim",
            what=f"muP has no rule for routers, which `model.{key}` has",
            got=f"{key}: {got}",
            allowed=f"no `{key}`",
            fix=f"remove `{key}`, or `mup_base_dim`",
        )
