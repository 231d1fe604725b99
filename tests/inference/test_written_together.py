"""Texts of several requests in one batch: the slow twin writes each alone, as `Generator.generate` does."""

import pytest

from tests.inference.test_generator import recurrent, transformer
from trimtab.decode.continuation import Continuation
from trimtab.decode.generation_config import GenerationConfig
from trimtab.decode.sampling import Sampling
from trimtab.inference.written_together import TextPart, WantedText, longest_text, written_together


def wanted(generator, prompts, generation, *, streams=False):
    rows, failure = generator.read(prompts)
    assert failure is None
    return [
        WantedText(row=row, sample=sample, generation=generation, streams=streams)
        for row in rows
        for sample in range(generation.samples)
    ]


def written(generator, texts, is_awaited=lambda place: True):
    parts, wholes = {}, {}
    for step in written_together(generator, texts, is_awaited=is_awaited):
        for place, each in step:
            if isinstance(each, TextPart):
                parts.setdefault(place, []).append(each.text)
            else:
                assert place not in wholes
                wholes[place] = each
    return parts, wholes


@pytest.mark.quick("drawn0-recurrent", "drawn0-transformer", "None-recurrent")
@pytest.mark.parametrize("make", [recurrent, transformer])
@pytest.mark.parametrize("drawn", [{"temperature": 0.7, "min_p": 0.02}, None])
def test_each_request_gets_what_it_would_get_alone(make, drawn):
    generator = make()

    def sampling(seed):
        return None if drawn is None else Sampling(**drawn, seed=seed)

    asked = [
        (["a", "the boat"], GenerationConfig(max_tokens=7, sampling=sampling(3), samples=2 if drawn else 1)),
        ([""], GenerationConfig(max_tokens=20, sampling=sampling(4))),
        (["a"], GenerationConfig(max_tokens=9, sampling=sampling(5), stop=("b", "x"))),
    ]
    texts = [
        each for prompts, generation in asked for each in wanted(generator, prompts, generation, streams=True)
    ]
    parts, wholes = written(generator, texts)
    alone = [each for prompts, generation in asked for each in generator.generate(prompts, generation)]
    assert [wholes[place].to_dict() for place in range(len(texts))] == [
        pytest.approx(each.to_dict()) for each in alone
    ]
    assert ["".join(parts.get(place, [])) for place in range(len(texts))] == [each.text for each in alone]


def test_it_ends_when_nobody_waits_any_more():
    generator = recurrent()
    texts = wanted(generator, ["a", "b"], GenerationConfig(max_tokens=30, sampling=None))
    steps = []
    for step in written_together(generator, texts, is_awaited=lambda place: len(steps) < 3):
        steps.append(step)
    assert len(steps) == 3


def test_a_text_takes_its_prompt_and_at_most_the_window():
    generator = recurrent(window=40)
    short, long = (wanted(generator, ["ab"], GenerationConfig(max_tokens=count))[0] for count in (5, 500))
    assert longest_text(short, generator) == len(short.row.ids) + 5
    assert longest_text(long, generator) == 41


def test_texts_that_do_not_stream_have_no_parts():
    generator = recurrent()
    parts, wholes = written(generator, wanted(generator, ["a"], GenerationConfig(max_tokens=5)))
    assert parts == {}
    assert isinstance(wholes[0], Continuation)
