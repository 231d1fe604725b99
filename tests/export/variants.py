"""Models of any shape that have learned a little in a fraction of a second, in the place of a trained run's."""

from dataclasses import replace

import torch
import torch.nn.functional as F

from tests.small_run import small_pairs
from tests.streams import pack_of
from trimtab.config.model import EncoderDecoderModel
from trimtab.model.encoder_decoder import EncoderDecoder

SIZES = {"dim": 32, "heads": 4, "encoder_layers": 2, "decoder_layers": 1, "feed_forward": 48, "dropout": 0.0}
STEPS = 25


def variant(loaded, *, steps=STEPS, tokenizers=None, seed=1, **changes):
    """The loaded model with another one in its place, made with these keys of `model` and taught for a few steps.

    No weight is as it was set first, biases and norms least of all; some translations are right by then, others long.
    """
    config = EncoderDecoderModel(**{**SIZES, **changes})
    tokenizers = tokenizers or loaded.tokenizers
    model = EncoderDecoder(
        config,
        num_ids=tokenizers.target.num_ids,
        num_source_ids=tokenizers.source.num_ids,
        max_positions=64,
        seed=seed,
    )
    shake(model, seed=seed)
    teach(model, tokenizers, steps=steps)
    recipe = loaded.recipe.model_copy(update={"model": config})
    return replace(loaded, model=model.eval(), recipe=recipe, tokenizers=tokenizers)


@torch.no_grad()
def shake(model, *, seed):
    draw = torch.Generator().manual_seed(seed)
    for name, weight in model.named_parameters():
        spread = 0.3 if "norm" in name or "bias" in name else 0.03
        weight.add_(torch.randn(weight.shape, generator=draw) * spread)


def teach(model, tokenizers, *, steps):
    sources, targets = zip(*small_pairs(32, seed=5), strict=True)
    pack = pack_of(tokenizers.source.encode(sources), tokenizers.target.encode(targets))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        logits = F.linear(model(pack), model.output_matrix)[:, : model.num_ids]
        F.cross_entropy(logits, pack.labels).backward()
        optimizer.step()
        optimizer.zero_grad()
