"""Translation whose decoder steps are recorded as CUDA graphs, on a GPU in half precision."""

from dataclasses import replace

import torch

from trimtab.decode.batches import GPU_BATCH_TOKENS, MOST_HYPOTHESES
from trimtab.decode.ensemble import Ensemble
from trimtab.decode.setup import TranslationSetup
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.static.opener import StaticOpener
from trimtab.types import Translates

ROOMY_TOKENS, ROOMY_HYPOTHESES = 131072, 4096
"""What a batch holds where there is much memory; see `TranslationSetup`."""
SLOTS_OF_A_TOKEN = 6
"""A hypothesis of a source of 60 tokens may have 130, for which there is room for 256; a third of the rows may be there
only to fill the shape."""
LOGIT_COPIES = 4
SPARE = 1.25


def recorded(setup: TranslationSetup) -> TranslationSetup:
    """Translation by recorded steps, in large batches where the GPU has the memory for them; the setup as it is on a
    CPU, where nothing is recorded. Sums differ from those of plain steps in the last digits of their precision. The
    recordings belong to the setup, so it pays to keep a translator.

    Not for a model in training, whose weights are copied for each evaluation and which needs the memory itself.
    """
    if setup.device.type != "cuda":
        return setup
    fixed = replace(setup, model=with_static_shapes(setup.model))
    # Only what was measured: an ensemble has such memory for each of its models, and what is not recorded copies its
    # own in every step.
    if not isinstance(fixed.model, StaticOpener):
        return fixed
    free, _ = torch.cuda.mem_get_info(setup.device)
    if free < SPARE * bytes_of_large_batches(fixed.model):
        return fixed
    return replace(fixed, batch_tokens=ROOMY_TOKENS, most_hypotheses=ROOMY_HYPOTHESES)


def bytes_of_large_batches(opener: StaticOpener) -> int:
    """What the largest of the large batches needs for its caches, the table of who wrote what, and its logits: 11.5 GiB
    with the base preset and a vocabulary of 16,000, 22 GiB with the big one."""
    memory, model = opener.memory, opener.model
    slot = 2 * memory.kv_heads * memory.size * model.output_matrix.element_size() * len(model.decoder.blocks)
    logits = LOGIT_COPIES * 4 * ROOMY_HYPOTHESES * model.num_ids
    source = ROOMY_TOKENS * slot
    return SLOTS_OF_A_TOKEN * ROOMY_TOKENS * (slot + torch.long.itemsize) + source + logits


def with_static_shapes(model: Translates) -> Translates:
    """A model or ensemble whose sessions have fixed shapes; one that has no such sessions as it is."""
    match model:
        case Ensemble():
            return Ensemble([with_static_shapes(each) for each in model.models], mode=model.mode)
        case EncoderDecoder(output_matrix=weights) if weights.device.type == "cpu" or weights.dtype in (
            torch.float16,
            torch.bfloat16,
        ):
            return StaticOpener(model)
        case _:
            return model


def with_dynamic_shapes(setup: TranslationSetup) -> TranslationSetup:
    """Back to sessions that rows can join, as documents need them, and to the batches that suit these."""
    return replace(
        setup,
        model=_plain(setup.model),
        batch_tokens=min(setup.batch_tokens, GPU_BATCH_TOKENS)
        if setup.device.type == "cuda"
        else setup.batch_tokens,
        most_hypotheses=min(setup.most_hypotheses, MOST_HYPOTHESES),
    )


def _plain(model: Translates) -> Translates:
    if isinstance(model, Ensemble):
        return Ensemble([_plain(each) for each in model.models], mode=model.mode)
    return model.model if isinstance(model, StaticOpener) else model
