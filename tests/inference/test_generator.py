import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.decode.prompt_model import PromptModel
from tests.decode.test_incremental_detokenizer import Bytes
from trimtab.config.decoder_model import DecoderModel
from trimtab.decode.generation_config import GenerationConfig
from trimtab.decode.sampling import Sampling
from trimtab.errors import InputError
from trimtab.inference.generator import PROMPTS_AT_ONCE, Generator
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.prompted import Prompted

CPU = torch.device("cpu")


def over(model, *, window=40, batch_tokens=8192) -> Generator:
    return Generator(
        name="runs/x", model=model, tokenizer=Bytes(), device=CPU, window=window, batch_tokens=batch_tokens
    )


def recurrent(seed=1, *, window=40, **options) -> Generator:
    model = PromptModel(seed, vocabulary=Bytes.num_ids, sharpness=1.0, window=window)
    model.output[Bytes.end] *= 5  # so that some texts end
    return over(model, window=window, **options)


def transformer(**changes) -> Generator:
    config = DecoderModel(dim=32, heads=4, layers=2, feed_forward=48, **changes)
    model = DecoderOnly(config, num_ids=Bytes.num_ids, max_positions=40, seed=2).eval()
    with torch.no_grad():
        model.embedding.weight.mul_(20)  # so that it is sure of something
    return over(Prompted(model))


prompts = st.lists(st.text(max_size=8), min_size=1, max_size=6)


@pytest.mark.slow
@given(lines=prompts, samples=st.integers(1, 3), budget=st.sampled_from([30, 300, 8192]))
def test_texts_come_in_order_and_are_the_same_however_they_are_batched(lines, samples, budget):
    generation = GenerationConfig(max_tokens=6, samples=samples, sampling=Sampling(seed=3))
    found = list(recurrent(batch_tokens=budget).generate(lines, generation))
    assert [(each.line, each.sample) for each in found] == [
        (line + 1, sample + 1) for line in range(len(lines)) for sample in range(samples)
    ]
    alone = list(recurrent(batch_tokens=20).generate(lines, generation))
    assert [each.to_dict() for each in found] == [pytest.approx(each.to_dict()) for each in alone]
    assert [each.prompt for each in found[::samples]] == lines
    assert all(each.whole == each.prompt + each.text for each in found)


@pytest.mark.parametrize("make", [recurrent, transformer])
def test_a_short_prompt_with_a_long_way_to_go_stands_beside_a_long_one(make):
    lines, generation = ["", "a prompt of some length", "b"], GenerationConfig(max_tokens=64, sampling=None)
    together = [each.text for each in make().generate(lines, generation)]
    assert together == [next(iter(make().generate([line], generation))).text for line in lines]


@pytest.mark.quick("None-recurrent", "None-transformer", "sampling1-recurrent", "sampling1-<lambda>")
@pytest.mark.parametrize("make", [recurrent, transformer, lambda: transformer(kv_heads=2, qk_norm=True)])
@pytest.mark.parametrize("sampling", [None, Sampling(temperature=0.7, min_p=0.02)])
def test_a_text_that_is_streamed_is_the_one_that_is_given_whole(make, sampling):
    generator, generation = make(), GenerationConfig(max_tokens=12, sampling=sampling)
    whole = list(generator.generate(["a", "the boat", ""], generation))
    for line, prompt in enumerate(["a", "the boat", ""]):
        stream, parts = generator.stream(prompt, generation, line=line), []
        try:
            while True:
                parts.append(next(stream))
        except StopIteration as end:
            streamed = end.value
        assert "".join(parts) == streamed.text == whole[line].text
        assert streamed.to_dict() == pytest.approx(whole[line].to_dict())


def test_another_seed_gives_another_text_and_the_same_seed_the_same():
    texts = [
        [
            each.text
            for each in recurrent().generate(
                ["ab"] * 3, GenerationConfig(max_tokens=20, sampling=Sampling(seed=seed))
            )
        ]
        for seed in (1, 2, 1)
    ]
    assert texts[0] == texts[2] != texts[1]
    assert len(set(texts[0])) == 3


def test_a_text_ends_with_the_end_symbol_the_number_of_tokens_or_the_window():
    found = list(
        recurrent(window=12).generate(
            ["a" * n for n in (0, 5, 11) for _ in range(20)], GenerationConfig(max_tokens=9)
        )
    )
    assert {each.stopped for each in found} == {"end", "max_tokens", "window"}
    for each in found:
        room = 12 - len(each.prompt)
        assert each.num_tokens <= min(9, room)
        assert each.stopped == "end" or each.num_tokens == min(9, room)
        assert each.stopped != "window" or room < 9


def test_a_prompt_that_fills_the_window_still_gets_one_token_and_a_longer_one_is_refused():
    generator = recurrent(window=10)
    (found,) = generator.generate(["123456789"], GenerationConfig(max_tokens=5))
    assert found.num_tokens == 1
    given = generator.generate(["ok", "1234567890", "never"], GenerationConfig(max_tokens=2))
    assert next(given).prompt == "ok"
    with pytest.raises(
        InputError, match=r"prompt 2: longer than runs/x can read\n  got     11 tokens.*\n.*at most 10"
    ):
        next(given)


def test_prompts_are_checked_without_a_text_written_however_many_there_are():
    generator = recurrent(window=10)
    many = ["ok"] * (PROMPTS_AT_ONCE + 3)
    generator.check(many)
    for texts in (["1234567890"], [*many, "1234567890", "never"]):
        number = texts.index("1234567890") + 1
        with pytest.raises(InputError, match=f"prompt {number}: longer than runs/x can read"):
            generator.check(iter(texts))


def test_one_text_in_place_of_a_list_is_refused_at_once():
    generator = recurrent()
    for call in (generator.generate, generator.check):
        with pytest.raises(InputError, match=r'prompts: a single text[\s\S]*a list: \["..."\]'):
            call("Once")


def test_repetition_is_of_what_was_written_alone():
    generator = transformer()
    (found,) = generator.generate(["abcabcabcabc"], GenerationConfig(max_tokens=25, sampling=None))
    ids = Bytes().encode([found.text])[0][:-1]
    assert found.repeated == pytest.approx(
        1 - len({tuple(ids[n : n + 4]) for n in range(len(ids) - 3)}) / (len(ids) - 3), abs=0.2
    )


def test_the_transformer_writes_what_it_would_without_a_cache():
    generator = transformer(kv_heads=2)
    (found,) = generator.generate(["boat"], GenerationConfig(max_tokens=10, sampling=None))
    ids = [Bytes.start, *b"boat"]
    with torch.inference_mode():
        for _ in range(10):
            session = generator.model.open_prompts(rows=1, width=1, max_length=len(ids))
            for id in ids:
                logits = session.step(torch.tensor([[id]]))
            logits[..., [256, 257, 258]] = -torch.inf
            ids.append(int(logits.argmax()))
            if ids[-1] == Bytes.end:
                break
    assert found.text == bytes(id for id in ids[5:] if id < 256).decode(errors="replace")


@pytest.mark.quick("recurrent")
@pytest.mark.parametrize("make", [recurrent, transformer])
def test_a_text_ends_before_a_stop_string_streamed_or_not(make):
    lines, plain = ["a", "the boat", ""], GenerationConfig(max_tokens=24, samples=2)
    free = list(make().generate(lines, plain))
    stop = next(each.text[3:5] for each in free if len(each.text) > 8)
    stopping = GenerationConfig(max_tokens=24, samples=2, stop=(stop, "never at all"))
    found = list(make().generate(lines, stopping))
    for one, other in zip(free, found, strict=True):
        place = one.text.find(stop)
        assert other.text == (one.text if place < 0 else one.text[:place])
        assert other.whole == other.prompt + other.text
        assert other.stopped == (one.stopped if place < 0 else "stop")
        assert other.num_tokens <= one.num_tokens
    assert any(each.stopped == "stop" for each in found)
    single = GenerationConfig(max_tokens=24, stop=(stop,))
    for line, prompt in enumerate(lines):
        parts = list(make().stream(prompt, single, line=line))
        assert "".join(parts) == next(iter(make().generate([prompt], single, first=line))).text


@pytest.mark.parametrize("stop", [("",), ("a",) * 65])
def test_a_stop_string_that_is_none_is_refused(stop):
    with pytest.raises(InputError, match="no string to stop at"):
        GenerationConfig(stop=stop)
