import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.decode.prompt_model import PromptModel
from trimtab.decode.continuing import Continues, OpenPrompts, SampledRows, continuations
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.sample import Draw, uniform_numbers
from trimtab.decode.sampling import Sampling, allowed_probabilities
from trimtab.errors import RunFailed

CPU = torch.device("cpu")
SYMBOLS = Symbols(start=2, end=3, suppress=(0, 1, 2))

prompts = st.lists(
    st.lists(st.integers(4, 11), max_size=5).map(lambda ids: [SYMBOLS.start, *ids]), min_size=1, max_size=5
)


def texts(model, rows, *, limits, sampled=None) -> dict[tuple[int, int], list[int]]:
    found = {}
    for step in continuations(model, rows, limits=limits, symbols=SYMBOLS, sampled=sampled, device=CPU):
        for each in step:
            found.setdefault((each.row, each.sample), []).append(each)
    return {key: [each.id for each in written] for key, written in found.items()}


def drawn_by(draws, *, samples, length, **options) -> SampledRows:
    sampling = Sampling(**options)
    return SampledRows(sampling, uniform_numbers(draws, seed=sampling.seed, samples=samples, length=length))


def likeliest(model, prompt, limit):
    """Greedy, without any session."""
    ids = []
    while len(ids) < limit and (not ids or ids[-1] != SYMBOLS.end):
        logits = model.logits([*prompt, *ids])
        logits[list(SYMBOLS.suppress)] = -torch.inf
        ids.append(int(logits.argmax()))
    return ids


def test_a_session_and_a_model_are_what_the_protocols_say():
    model = PromptModel(1, vocabulary=12)
    assert isinstance(model, Continues)
    assert isinstance(model.open_prompts(rows=1, width=1, max_length=1), OpenPrompts)


@given(rows=prompts, seed=st.integers(0, 30), data=st.data())
def test_without_drawing_each_text_is_the_likeliest_symbol_each_time(rows, seed, data):
    model = PromptModel(seed, vocabulary=12)
    limits = data.draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows)))
    found = texts(model, rows, limits=limits)
    assert [found[row, 0] for row in range(len(rows))] == [
        likeliest(model, prompt, limit) for prompt, limit in zip(rows, limits, strict=True)
    ]


@pytest.mark.slow
@given(rows=prompts, seed=st.integers(0, 30), samples=st.integers(1, 4))
def test_what_is_drawn_for_a_row_is_the_same_alone_and_in_any_batch(rows, seed, samples):
    model = PromptModel(seed, vocabulary=12)
    options = {"samples": samples, "length": 8, "temperature": 1.3, "seed": 5}
    together = texts(
        model, rows, limits=[8] * len(rows), sampled=drawn_by([Draw(n) for n in range(len(rows))], **options)
    )
    for number, row in enumerate(rows):
        alone = texts(model, [row], limits=[8], sampled=drawn_by([Draw(number)], **options))
        assert [alone[0, sample] for sample in range(samples)] == [
            together[number, sample] for sample in range(samples)
        ]


def test_a_longer_limit_only_goes_on_from_a_shorter_one():
    model = PromptModel(3, vocabulary=12)
    short, long = (
        texts(model, [[2, 5]], limits=[n], sampled=drawn_by([Draw(0)], samples=2, length=n, temperature=2.0))
        for n in (4, 9)
    )
    assert all(long[key][: len(ids)] == ids for key, ids in short.items())


def test_draws_follow_the_models_distribution():
    model, count = PromptModel(4, vocabulary=9, sharpness=0.6), 4000
    sampling = {"temperature": 0.9, "min_p": 0.05}
    sampled = drawn_by([Draw(n) for n in range(count)], samples=1, length=1, **sampling)
    found = texts(model, [[2, 7]] * count, limits=[1] * count, sampled=sampled)
    logits = model.logits([2, 7])
    logits[list(SYMBOLS.suppress)] = -torch.inf
    expected = allowed_probabilities(logits[None, None], Sampling(**sampling))[0, 0]
    seen = torch.bincount(torch.tensor([ids[0] for ids in found.values()]), minlength=9) / count
    assert (seen - expected).abs().max() < 0.03
    assert (seen[expected == 0] == 0).all()


def test_log_probabilities_are_the_models_own():
    model = PromptModel(5, vocabulary=12)
    sampled = drawn_by([Draw(0)], samples=1, length=5, temperature=3.0, top_k=4)
    ids = [2, 6]
    for step in continuations(model, [ids], limits=[5], symbols=SYMBOLS, sampled=sampled, device=CPU):
        (written,) = step
        expected = model.logits(ids).log_softmax(-1)[written.id]
        assert written.log_probability == pytest.approx(float(expected))
        ids = [*ids, written.id]


def test_the_end_symbol_ends_a_text_and_rows_that_are_done_are_fed_no_more():
    model = PromptModel(6, vocabulary=12, window=9)
    sampled = drawn_by([Draw(n) for n in range(6)], samples=2, length=9, temperature=4.0)
    rows = [[2, *range(4, 4 + n)] for n in range(6)]
    found = texts(model, rows, limits=[9 - len(row) + 1 for row in rows], sampled=sampled)
    assert any(ids[-1] == SYMBOLS.end for ids in found.values())
    assert all(SYMBOLS.end not in ids[:-1] for ids in found.values())
    longest = {row: 10 - len(rows[row]) for row in range(6)}
    assert all(len(ids) == longest[row] or ids[-1] == SYMBOLS.end for (row, _), ids in found.items())


def test_nothing_is_opened_for_no_prompts():
    model = PromptModel(7, vocabulary=12)
    assert list(continuations(model, [], limits=[], symbols=SYMBOLS, device=CPU)) == []
    assert model.sessions == []


def test_scores_that_are_no_numbers_end_it_with_a_reason():
    model = PromptModel(8, vocabulary=12)
    model.output[5] = torch.nan
    with pytest.raises(RunFailed, match="scores are NaN"):
        texts(model, [[2]], limits=[3])
