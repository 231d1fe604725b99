"""First weights from another model: everything but the vocabulary as it is, the vocabulary piece by piece."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.config.decoder_model import DecoderModel
from trimtab.config.model import ModelConfig
from trimtab.config.positions import parts_of
from trimtab.errors import InputError, Problem, input_error
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.lora import base_weights, merged_weights

TABLES = ("embedding.weight", "source_embedding.weight", "output.weight")
FACTORS = "source_factors."
MAY_DIFFER = {
    "preset",
    "tie_embeddings",
    "warm_start",
    "warm_start_sha256",
    "warm_start_positions",
    "absolute_fade",
    "prefix",
    "residual",
    "mup_base_dim",
}
"""Settings that may differ, besides every dropout: they change no weight, or only which matrix is read."""
POSITIONS = ("positions", "decoder_positions")
SIDE_POSITIONS = ("source_positions", "target_positions")
VECTORS = ".attention.relative."
"""In the names of vectors that layers have by distance."""
SIDES = ("heads", "kv_heads", "feed_forward")
TYING_THAT_FITS = {
    "all": ("all", "decoder", "none"),
    "decoder": ("decoder", "none"),
    "none": ("none",),
    "True": ("True", "False"),
    "False": ("False",),
}
"""How a model may be tied that starts from one that is tied so: two matrices do not fit into one."""


Started = EncoderDecoder | DecoderOnly
"""The models that can start from one of their own kind."""


@dataclass(frozen=True, slots=True)
class RowMap:
    """Where the rows of an embedding come from."""

    same: Sequence[int | None]
    """For each new id, the old id of the same piece; None if there is none."""
    spelled: Mapping[int, Sequence[int]]
    """For new ids that the old vocabulary lacks, the old ids that spell the piece."""


@torch.no_grad()
def take_weights(
    model: Started,
    old: Started,
    *,
    source: RowMap,
    target: RowMap,
    name: str,
    factors: Mapping[str, RowMap] | None = None,
) -> None:
    """Fills a new model with the weights of an old one, whose name is for messages; a language model has no source.
    `factors` says for each source factor where its values come from.

    A piece that both vocabularies have keeps its vectors; a new one has the mean of the vectors of the pieces that the
    old tokenizer cuts it into (Gee et al. 2022, "Fast Vocabulary Transfer", arXiv 2402.09977), and where
    there are none its first weights. Raises InputError, with every difference, where the models do not fit.
    """
    problems = [*differences(old.config, model.config, name=name), *_other_factors(old, model)]
    if problems:
        raise InputError(*problems)
    if "embedding.weight" in model.frozen:
        _refuse_new_rows(source, target, old=old, name=name)
    found, here = merged_weights(old), base_weights(model)
    if model.config.warm_start_positions == "other":
        found = with_positions_of(model, old, found=found, here=here)
    elif old.config.absolute_fade is not None and model.config.absolute_fade is None:
        raise input_error(
            f"model.warm_start: the absolute positions of {name} have faded",
            got="absolute_fade there, and not here",
            allowed="the positions that are left",
            fix="continue first without an adapter, with the relative positions alone in `model.positions` and "
            "`model.warm_start_positions: other`",
        )
    if unlike := [*unlike_tensors(found, here, name=name)]:
        raise InputError(*unlike)
    for key, tensor in here.items():
        if key not in TABLES and not key.startswith(FACTORS):
            tensor.copy_(found[key])
    _take_factors(model, old, factors or {})
    model.embedding.weight.copy_(mapped_rows(old.embedding.weight, model.embedding.weight, target))
    if model.source_embedding is not None:
        own = old.source_embedding or old.embedding
        model.source_embedding.weight.copy_(mapped_rows(own.weight, model.source_embedding.weight, source))
    if model.output is not None:
        model.output.weight.copy_(mapped_rows(old.output_matrix, model.output.weight, target))


def with_positions_of(
    model: Started, old: Started, *, found: Mapping[str, Tensor], here: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The old weights without those of positions that the new model lacks, under the names that it has for those that
    both have, and with its first weights for the others."""
    begun = {
        name: tensor for name, tensor in here.items() if VECTORS in name or name.startswith(SIDE_POSITIONS)
    }
    kept = {name: tensor for name, tensor in found.items() if not name.startswith(SIDE_POSITIONS)}
    kept = {name: tensor for name, tensor in kept.items() if VECTORS not in name or name in here}
    for side in SIDE_POSITIONS:
        before, after = (names_of_positions(each, side) for each in (old, model))
        both = (kind for kind in before.keys() & after.keys() if before[kind] in found)
        kept |= {after[kind]: found[before[kind]] for kind in both}
    return {**begun, **kept}


def names_of_positions(model: Started, side: str) -> dict[str, str]:
    """By the kind of positions of a side, what a table of weights of it is called."""
    settings = model.config.all_position_settings[0 if side == "source_positions" else -1]
    if not hasattr(model, side):
        return {}
    parts = parts_of(settings)
    places = [side] if len(parts) == 1 else [f"{side}.absolute", f"{side}.relative"]
    return {each.kind: f"{place}.weight" for each, place in zip(parts, places, strict=True)}


def _take_factors(model: Started, old: Started, rows: Mapping[str, RowMap]) -> None:
    """The tables of the source factors: a value that the old model knew keeps its vector, and what is new adds nothing,
    so that the model begins as the old one."""
    if model.source_factors is None:
        return
    for size in model.source_factors.sizes:
        table = model.source_factors.table(size.name)
        had = None if old.source_factors is None else old.source_factors.table(size.name)
        assert table is not None
        table.weight.zero_()
        if had is not None and size.name in rows:
            table.weight.copy_(mapped_rows(had.weight, table.weight, rows[size.name]))


def _other_factors(old: Started, new: Started) -> Iterator[Problem]:
    """Factors that are appended make the embeddings of the pieces narrower, so they have to be those of the old
    model."""
    before, after = (
        [
            f"{each.name} (dim {each.dim})"
            for each in (model.source_factors.sizes if model.source_factors else ())
            if each.dim
        ]
        for model in (old, new)
    )
    if before != after:
        yield Problem(
            what="data.source_factors: those with `combine: concat` differ from the model to start from",
            got=", ".join(after) or "none",
            allowed=", ".join(before) or "none",
            fix="leave `data.source_factors` out to keep those of the run, or use `combine: sum` for new ones",
        )


def _refuse_new_rows(source: RowMap, target: RowMap, *, old: Started, name: str) -> None:
    """Rows that are frozen stand for what they stood for; new ones would stay as they are drawn."""
    sides = (source, target) if old.config.has_encoder else (target,)
    others = max(sum(found != id for id, found in enumerate(side.same)) for side in sides)
    if others:
        raise input_error(
            "adapter.embeddings: the vocabulary is another than that of the model to start from, and its rows would "
            "not be trained",
            got=f"{others:,} pieces that are new or have another id than in {name}, with `adapter.embeddings: frozen`",
            allowed="`adapter.embeddings: train`, or the same vocabulary",
            fix="set `adapter.embeddings: train`, or leave `data.tokenizer` out to keep that of the run",
        )


def mapped_rows(
    old: Float[Tensor, "old_rows dim"], first: Float[Tensor, "rows dim"], rows: RowMap
) -> Float[Tensor, "rows dim"]:
    """The first weights in their precision, with each row that has something to come from replaced; means are made in
    the precision of the old weights."""
    mapped = first.detach().to("cpu", copy=True)
    old = old.detach().cpu()
    known = {id: found for id, found in enumerate(rows.same) if found is not None}
    mapped[list(known)] = old[list(known.values())].to(mapped.dtype)
    for id, spelling in rows.spelled.items():
        mapped[id] = old[list(spelling)].mean(0)
    return mapped


def differences(
    old: ModelConfig | DecoderModel, new: ModelConfig | DecoderModel, *, name: str
) -> Iterator[Problem]:
    """Each setting that makes another model of it, also where no size shows it."""
    before, after = described(old), described(new)
    if old.kind != new.kind:
        after = {"kind": new.kind}
    may_differ = POSITIONS if new.warm_start_positions == "other" else ()
    for key in after:
        if key not in may_differ and before.get(key) != after[key]:
            yield Problem(
                what=f"model.{key}: differs from the model to start from",
                got=str(after[key]),
                allowed=f"{before.get(key)}, as in {name}",
                fix="set it so, or remove `model.warm_start` to train from scratch",
            )
    fitting = TYING_THAT_FITS[str(old.tie_embeddings)]
    if old.kind == new.kind and str(new.tie_embeddings) not in fitting:
        yield Problem(
            what="model.tie_embeddings: the model to start from has several matrices, which do not fit into one",
            got=str(new.tie_embeddings),
            allowed=f"{' or '.join(fitting)}, since {name} has {old.tie_embeddings}",
            fix=f"set `model.tie_embeddings: {old.tie_embeddings}`",
        )


def described(config: ModelConfig | DecoderModel) -> Mapping[str, object]:
    """What the model computes, with defaults filled in and two names of one thing made one."""
    tree = config.model_dump(exclude=MAY_DIFFER)
    activation = "silu" if config.activation == "swish" else config.activation
    tree = {key: value for key, value in tree.items() if "drop" not in key} | {"activation": activation}
    if not config.has_encoder:
        return tree | {"kv_heads": config.kv_heads or config.heads}
    tree = {key: value for key, value in tree.items() if key not in SIDES}
    for side, own in (("encoder", config.encoder), ("decoder", config.decoder)):
        tree |= {f"{side}_{key}": getattr(own, key) for key in SIDES}
    return tree | {"decoder_positions": config.target_positions}


def unlike_tensors(old: Mapping[str, Tensor], new: Mapping[str, Tensor], *, name: str) -> Iterator[Problem]:
    """Each tensor of another size, such as learned positions for sentences of another length."""
    for key in sorted((old.keys() | new.keys()) - set(TABLES)):
        if key.startswith(FACTORS):
            continue
        sizes = [f"{tuple(each[key].shape)}" if key in each else "nothing" for each in (new, old)]
        if sizes[0] != sizes[1]:
            fix = (
                "set data.max_tokens and step.position_shift as there"
                if "positions" in key
                else "describe the same model"
            )
            yield Problem(
                what=f"model.warm_start: {key} has another size",
                got=sizes[0],
                allowed=f"{sizes[1]}, as in {name}",
                fix=fix,
            )
