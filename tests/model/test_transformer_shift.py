"""Positions that begin by chance."""

from types import SimpleNamespace

import pytest
import torch

from tests.streams import pack_of, stream_of
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.load import parse_recipe
from trimtab.config.model import EncoderDecoderModel
from trimtab.errors import InputError
from trimtab.fit.native import native_shape
from trimtab.fit.vocabulary import Vocabulary
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.text_model import build_model
from trimtab.model.transformer import shifted_positions

ROWS = [[5] * 4, [6] * 7, [7] * 2]
SIZES = {"dim": 32, "heads": 2, "layers": 1, "feed_forward": 48, "dropout": 0.0}
RECIPE = """\
data: {train: [{source: a, target: b}]}
model: {kind: encoder_decoder, preset: tiny}
step: {position_shift: 100}
length: 400 steps
"""


def test_each_text_is_shifted_as_a_whole_by_every_number_in_the_range():
    stream = stream_of(ROWS * 40)
    torch.manual_seed(0)
    shift = shifted_positions(stream, most=5) - stream.positions
    of_texts = [set(part.tolist()) for part in shift.split([4, 7, 2] * 40)]
    assert all(len(each) == 1 for each in of_texts)
    assert set.union(*of_texts) == {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_a_model_reads_shifted_positions_in_training_alone(positions):
    """The slow twin: rows of the table picked by hand."""
    model = DecoderOnly(DecoderModel(**SIZES, positions=positions), num_ids=40, max_positions=64, seed=1)
    stream = stream_of(ROWS)
    plain = model.decode(stream)
    model.position_shift = 50
    assert torch.equal(model.eval().decode(stream), plain)
    torch.manual_seed(3)
    found = model.train().decode(stream)
    torch.manual_seed(3)
    places = shifted_positions(stream, most=50)
    model.position_shift, embed = 0, model.target_positions.embed
    model.target_positions.embed = lambda x, _: embed(x, places)
    assert torch.equal(found, model.decode(stream))
    assert not torch.allclose(found, plain)


def test_source_and_target_of_a_translator_are_shifted_apart():
    model = EncoderDecoder(EncoderDecoderModel(**SIZES), num_ids=40, max_positions=64, seed=1).train()
    model.position_shift, seen = 50, []
    for name in ("source_positions", "target_positions"):
        positions = getattr(model, name)
        embed = positions.embed
        positions.embed = lambda x, places, embed=embed: seen.append(places) or embed(x, places)
    torch.manual_seed(1)
    model(pack_of(ROWS, ROWS))
    source, target = seen
    assert (source != target).any()


def test_the_table_has_room_for_the_shift_and_other_positions_are_refused():
    recipe = parse_recipe(RECIPE, overrides=["data.max_tokens=64"]).recipe
    sides = SimpleNamespace(num_ids=40)
    vocabularies = SimpleNamespace(source=sides, target=sides, factors=())
    model = build_model(recipe, vocabularies, device=torch.device("cpu"))
    assert (model.position_shift, model.max_positions) == (100, 192)
    learned = parse_recipe(RECIPE, overrides=["data.max_tokens=64", "model.positions=learned"]).recipe
    weights = native_shape(learned, Vocabulary(40, 40)).weights
    planned = [each.each for each in weights if "position" in each.name for _ in range(each.count)]
    built = build_model(learned, vocabularies, device=torch.device("cpu"))
    assert planned == [each.numel() for name, each in built.named_parameters() if "position" in name]
    for change in ("model.positions=rotary", "model.decoder_positions=none"):
        with pytest.raises(InputError, match="only positions that are added"):
            parse_recipe(RECIPE, overrides=[change])
