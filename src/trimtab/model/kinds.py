"""The models that there are, and which of them the settings describe."""

from collections.abc import Sequence
from typing import assert_never

from trimtab.config.decoder_model import DecoderModel
from trimtab.config.model import EncoderDecoderModel
from trimtab.config.modular_model import ModularModel
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.module.causal import CausalModule
from trimtab.model.module.seq2seq import Seq2SeqModule
from trimtab.model.module.x_transformers import XDecoder, XTranslator
from trimtab.model.source_factors import FactorSize

ContinuesTexts = DecoderOnly | CausalModule | XDecoder
"""Language models."""
Model = EncoderDecoder | ContinuesTexts | Seq2SeqModule | XTranslator


def model_of(
    config: EncoderDecoderModel | DecoderModel,
    *,
    num_ids: int,
    num_source_ids: int,
    max_positions: int,
    seed: int,
    factors: Sequence[FactorSize] = (),
) -> Model:
    """The model with its first weights, a function of the seed. A decoder alone has one vocabulary, of `num_ids`, and
    no source with `factors`."""
    match config:
        case ModularModel():
            raise AssertionError("it is built by its own task, and loaded as the translator of a direction")
        case EncoderDecoderModel():
            return EncoderDecoder(
                config,
                num_ids=num_ids,
                num_source_ids=num_source_ids,
                max_positions=max_positions,
                seed=seed,
                factors=factors,
            )
        case DecoderModel():
            return DecoderOnly(config, num_ids=num_ids, max_positions=max_positions, seed=seed)
        case _:
            assert_never(config)
