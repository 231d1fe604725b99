"""The model that a recipe on text describes, sized by its vocabularies."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Protocol, runtime_checkable

import torch

from trimtab.config.run import Recipe
from trimtab.config.transformers_model import TransformersModel
from trimtab.config.x_transformers_model import XTransformersModel
from trimtab.model.block import set_stochastic_depth
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.init import without_first_weights
from trimtab.model.kinds import ContinuesTexts, Model, model_of
from trimtab.model.module.causal import CausalModule
from trimtab.model.module.network import family_of_model
from trimtab.model.module.seq2seq import Seq2SeqModule, forced_by
from trimtab.model.module.x_transformers import XDecoder, XTranslator
from trimtab.model.source_factors import FactorSize


@runtime_checkable
class Vocabulary(Protocol):
    """A tokenizer, as far as it matters here."""

    @property
    def num_ids(self) -> int:
        """Size of the vocabulary."""
        ...


@runtime_checkable
class Framed(Protocol):
    """What stands around the pieces of a line."""

    @property
    def before(self) -> tuple[int, ...]:
        """Ids before them."""
        ...


@runtime_checkable
class Padded(Protocol):
    """A tokenizer that fills rows up."""

    pad: int
    """With what."""


@runtime_checkable
class PretrainedVocabulary(Vocabulary, Padded, Protocol):
    """The tokenizer of a pretrained translator."""

    frame: Framed


@runtime_checkable
class FactorValues(Protocol):
    """A source factor."""

    @property
    def name(self) -> str:
        """What its embedding is called."""
        ...

    @property
    def values(self) -> Sequence[str]:
        """What it may be."""
        ...

    @property
    def dim(self) -> int | None:
        """Width of an embedding that is appended to that of a piece; None for one that is added."""
        ...


@runtime_checkable
class Vocabularies(Protocol):
    """Those of both sides."""

    @property
    def factors(self) -> Sequence[FactorValues]:
        """The source factors that the ids of the source carry."""
        ...

    @property
    def source(self) -> Vocabulary:
        """Of what is read."""
        ...

    @property
    def target(self) -> Vocabulary:
        """Of what is written."""
        ...


def module_of(
    config: TransformersModel, target: Vocabulary, *, max_positions: int, seed: int
) -> Seq2SeqModule | CausalModule:
    """The module of a pretrained translator or language model with first weights, which those of its files will
    replace."""
    if not config.has_encoder:
        assert isinstance(target, Padded), "every tokenizer is"
        return CausalModule(config, max_positions=max_positions, pad=target.pad, seed=seed)
    assert isinstance(target, PretrainedVocabulary), "other tokenizers are refused with the recipe"
    before = target.frame.before
    return Seq2SeqModule(
        config,
        max_positions=max_positions,
        pad=target.pad,
        # A code of a language is part of each target; the start symbol of BART only where its settings say so.
        forced_first=before[0]
        if family_of_model(config).tokens == "language first" and before
        else forced_by(config),
        seed=seed,
    )


def x_model_of(
    config: XTransformersModel, vocabularies: Vocabularies, *, max_positions: int, seed: int
) -> XDecoder | XTranslator:
    """The model of x-transformers with first weights."""
    target = vocabularies.target
    assert isinstance(target, Padded), "every tokenizer is"
    sizes = {"num_ids": target.num_ids, "max_positions": max_positions, "pad": target.pad, "seed": seed}
    if not config.has_encoder:
        return XDecoder(config, **sizes)
    return XTranslator(config, num_source_ids=vocabularies.source.num_ids, **sizes)


def build_model(
    recipe: Recipe, vocabularies: Vocabularies, *, device: torch.device, drawn: bool | None = None
) -> Model:
    """The model with its first weights, which follow from the recipe's seed.

    Without `drawn` its weights have no values yet, and the caller fills all of them. Left to the recipe (None), first
    weights are drawn unless the files of a pretrained model hold every one; a module of transformers may have a head
    that they lack.
    """
    if drawn is None:
        replaced = recipe.model.pretrained_path and not isinstance(recipe.model, TransformersModel)
        drawn = not replaced or bool(recipe.reinitialize)
    with nullcontext() if drawn else without_first_weights():
        return _build_model(recipe, vocabularies, device=device)


def _build_model(recipe: Recipe, vocabularies: Vocabularies, *, device: torch.device) -> Model:
    if isinstance(recipe.model, TransformersModel):
        module = module_of(
            recipe.model, vocabularies.target, max_positions=recipe.max_positions, seed=recipe.seed
        )
        return with_noise_of(recipe, module).to(device)
    if isinstance(recipe.model, XTransformersModel):
        x_model = x_model_of(recipe.model, vocabularies, max_positions=recipe.max_positions, seed=recipe.seed)
        return with_noise_of(recipe, x_model).to(device)
    narrow = recipe.step.precision == "bf16"
    with drawn_on(device, narrow=narrow) if recipe.model.drawn_on_gpu else nullcontext():
        model = model_of(
            recipe.model,
            num_ids=vocabularies.target.num_ids,
            num_source_ids=vocabularies.source.num_ids,
            max_positions=recipe.max_positions,
            seed=recipe.seed,
            factors=[FactorSize(each.name, len(each.values), each.dim) for each in vocabularies.factors],
        )
    match model:
        case EncoderDecoder():
            model.position_shift = recipe.step.position_shift or 0
            stacks = [model.encoder, model.decoder]
        case DecoderOnly():
            model.position_shift = recipe.step.position_shift or 0
            stacks = [model.decoder]
        case _:
            stacks = []
    for stack in stacks if recipe.step.stochastic_depth is not None else ():
        set_stochastic_depth([*stack.blocks], most=recipe.step.stochastic_depth or 0.0)
    return with_noise_of(recipe, model).to(device)


def with_noise_of(recipe: Recipe, model: Model) -> Model:
    """The model with the noise on embeddings that its recipe asks for, which is for language models alone."""
    if isinstance(model, ContinuesTexts):
        model.neftune_alpha = recipe.step.neftune_alpha
    return model


@contextmanager
def drawn_on(device: torch.device, *, narrow: bool) -> Iterator[None]:
    """Modules that are made within have their weights on a device, in bfloat16 where they are to be `narrow`."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16 if narrow else usual)
    try:
        with device:
            yield
    finally:
        torch.set_default_dtype(usual)
