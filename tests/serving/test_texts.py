import pytest

from trimtab.decode.generation_config import USUAL, GenerationConfig
from trimtab.decode.sampling import Sampling
from trimtab.errors import InputError
from trimtab.serving.fields import Fields
from trimtab.serving.limits import ServeLimits
from trimtab.serving.refused import Refused
from trimtab.serving.texts import SAMPLING_KEYS, sampling_of, text_work


def fields(**given):
    return Fields(given, known=SAMPLING_KEYS)


def test_what_is_not_said_is_as_usual_and_temperature_0_draws_nothing():
    assert sampling_of(fields(), usual=USUAL) == USUAL
    assert sampling_of(fields(top_p=1, seed=7), usual=USUAL) == Sampling(temperature=0.8, top_p=1.0, seed=7)
    assert sampling_of(fields(temperature=0), usual=USUAL) is None


def test_texts_of_different_seeds_share_a_batch_and_those_of_different_temperatures_do_not(writer):
    def key(**options):
        generation = GenerationConfig(sampling=Sampling(**options))
        return text_work(writer, ["a"], generation, streams=False, limits=ServeLimits()).key

    assert key(seed=1) == key(seed=2) != key(temperature=0.5)


def test_a_text_costs_its_prompt_and_what_may_follow(writer):
    generation = GenerationConfig(max_tokens=5, samples=2)
    work = text_work(writer, ["a", "a a a"], generation, streams=False, limits=ServeLimits())
    sizes = [len(each.row.ids) + 5 for each in work.contents]
    assert [piece.cost for piece in work.waiting] == sizes
    assert [(each.row.number, each.sample) for each in work.contents] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_too_many_and_too_long_texts_are_refused(writer):
    with pytest.raises(Refused, match="samples"):
        text_work(writer, ["a"], GenerationConfig(samples=3), streams=False, limits=ServeLimits(max_lines=2))
    with pytest.raises(InputError, match="longer than"):
        text_work(writer, ["a " * 100], GenerationConfig(), streams=False, limits=ServeLimits())
