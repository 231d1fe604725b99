from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from trimtab.config.encoder_model import EncoderModel
from trimtab.tasks.classification.batches import BatchShape, assemble
from trimtab.tasks.classification.model import SequenceClassifier, segment_means
from trimtab.types import Ragged

SHAPE = BatchShape(num_batches=1, slots=128, examples=8, max_seqlen=16, fixed=False, sort=False)
SIZES = {"dim": 32, "heads": 2, "layers": 2, "feed_forward": 64, "dropout": 0.0}


def model_with(**changes):
    config = EncoderModel(**{**SIZES, **changes})
    return SequenceClassifier(config, num_labels=5, num_pieces=100, max_positions=64, seed=1).eval()


@pytest.fixture
def rows():
    draw = np.random.default_rng(3)
    return Ragged.of([draw.integers(4, 100, length).tolist() for length in (1, 7, 16, 3)])


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@pytest.mark.parametrize(
    "changes", [{}, {"norm": "rms", "norm_position": "after", "activation": "swiglu", "kv_heads": 1}]
)
def test_a_text_is_the_same_in_a_batch_with_others_in_one_with_padding_and_alone(rows, positions, changes):
    model = model_with(positions=positions, **changes)
    together = model(assemble(rows, np.zeros(4), SHAPE, pad=0))
    padded = model(assemble(rows, np.zeros(4), replace(SHAPE, fixed=True), pad=0))[:4]
    alone = torch.cat([model(assemble(rows.between(i, i + 1), np.zeros(1), SHAPE, pad=0)) for i in range(4)])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(padded, alone, rtol=1e-4, atol=1e-5)


def test_means_are_those_of_a_plain_loop(rows):
    stream = assemble(rows, np.zeros(4), replace(SHAPE, fixed=True), pad=0).text
    x, bounds = torch.randn(len(stream.ids), 6), stream.cu_seqlens.tolist()
    found = segment_means(x, stream, len(bounds) - 1)
    for number, (start, stop) in enumerate(pairwise(bounds)):
        plain = x[start:stop].mean(0) if stop > start else torch.zeros(6)
        torch.testing.assert_close(found[number], plain)


def test_the_order_of_words_matters(rows):
    model = model_with()
    backwards = Ragged.of([rows.row(number)[::-1].tolist() for number in range(4)])
    one, other = (model(assemble(each, np.zeros(4), SHAPE, pad=0)) for each in (rows, backwards))
    assert torch.allclose(one[0], other[0], atol=1e-6)  # a single token
    assert not torch.allclose(one[1], other[1], atol=1e-3)


def test_first_weights_follow_from_the_seed():
    first, same = model_with(), model_with()
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), same.parameters(), strict=True))


def test_what_weights_are_for():
    model = model_with(positions="learned")
    roles = {name: model.role_of(name) for name, _ in model.named_parameters()}
    assert roles["output.weight"] == "output"
    assert roles["embedding.weight"] == roles["source_positions.weight"] == "embedding"
    assert roles["encoder.blocks.0.attention.qkv.weight"] == "hidden"
    assert len(model.blocks) == 2
    assert model.tokens_read(assemble(Ragged.of([[5, 6]]), np.zeros(1), SHAPE, pad=0)) == {"encoder": 2}
