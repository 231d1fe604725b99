import itertools
from functools import partial

import pytest
import torch

import trimtab
from tests.small_run import small_pairs, small_recipe
from trimtab.decode.search import Search
from trimtab.decode.stream import stream_of
from trimtab.errors import InputError
from trimtab.evaluation import pairs
from trimtab.evaluation.pairs import score_pairs
from trimtab.inference import load_model
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

PAIRS = small_pairs(40, seed=5)
SOURCES, TARGETS = [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]


@pytest.fixture(scope="module")
def loaded(trained_run):
    return load_model(str(trained_run), device="cpu")


@torch.no_grad()
def step_by_step(loaded, source, target):
    """The sum over a decoding session that is fed the target token by token."""
    tokenizer = loaded.tokenizer
    (source_ids,), (ids,) = tokenizer.encode([source]), tokenizer.encode([target])
    session = loaded.model.open_session(
        stream_of([source_ids], torch.device("cpu")), rows=1, width=1, max_length=len(ids)
    )
    total = 0.0
    for fed, wanted in zip([tokenizer.start, *ids], ids, strict=False):
        total += float(session.step(torch.tensor([[fed]])).log_softmax(-1)[0, 0, wanted])
    return total, len(ids)


@pytest.mark.slow
def test_a_pair_has_the_sum_of_its_steps(loaded):
    found = list(score_pairs(loaded, SOURCES, TARGETS))
    assert [pair.line for pair in found] == list(range(1, 41))
    for pair, source, target in zip(found, SOURCES, TARGETS, strict=True):
        total, length = step_by_step(loaded, source, target)
        assert pair.num_tokens == length
        assert pair.log_probability == pytest.approx(total, abs=1e-3)
        assert pair.per_token == pytest.approx(total / length, abs=1e-4)


def test_one_text_in_place_of_a_list_is_refused_at_once(loaded):
    for sources, targets, name in (("AB", ["A", "B"], "sources"), (["A", "B"], "AB", "targets")):
        for call in (partial(score_pairs, loaded), partial(trimtab.score, "runs/none")):
            with pytest.raises(InputError, match=rf'{name}: a single text[\s\S]*a list: \["..."\]'):
                call(sources, targets)


def test_it_is_the_score_that_the_beam_gave_its_own_translation(loaded):
    candidates = [few[0] for few in loaded.translator(search=Search(beam=3)).n_best(SOURCES, n=1)]
    found = score_pairs(loaded, SOURCES, [each.text for each in candidates])
    # Ids that are not those of their own text are another translation to the model.
    same = [
        (pair, each)
        for pair, each in zip(found, candidates, strict=True)
        if pair.num_tokens == each.num_tokens
    ]
    close = [
        pair for pair, each in same if pair.log_probability == pytest.approx(each.log_probability, abs=1e-3)
    ]
    assert len(close) > len(PAIRS) // 2
    assert all(pair.log_probability <= each.log_probability + 1e-3 or pair in close for pair, each in same)


def test_blocks_and_what_stands_around_a_pair_do_not_matter(loaded, monkeypatch):
    whole = [pair.log_probability for pair in score_pairs(loaded, SOURCES, TARGETS)]
    monkeypatch.setattr(pairs, "BLOCK_PAIRS", 7)
    cut = [pair.log_probability for pair in score_pairs(loaded, SOURCES, TARGETS)]
    assert cut == pytest.approx(whole, abs=1e-4)
    (alone,) = score_pairs(loaded, SOURCES[3:4], TARGETS[3:4])
    assert alone.log_probability == pytest.approx(whole[3], abs=1e-4)


def test_pairs_that_are_too_long_keep_their_place_and_have_no_number(loaded):
    long = "ship " * 60
    found = list(score_pairs(loaded, [SOURCES[0], long, "", SOURCES[1]], [TARGETS[0], "das", "", long]))
    assert [pair.log_probability is None for pair in found] == [False, True, False, True]
    assert [pair.line for pair in found] == [1, 2, 3, 4]
    assert found[1].source_tokens > 32
    assert found[3].to_dict()["per_token"] is None
    assert found[2].num_tokens == 1
    assert list(score_pairs(loaded, [], [])) == []


def test_pairs_come_block_by_block_and_not_at_the_end(loaded, monkeypatch):
    monkeypatch.setattr(pairs, "BLOCK_PAIRS", 5)
    read = itertools.count()
    sources = (f"ship {next(read)}" for _ in range(1000))
    first = next(iter(score_pairs(loaded, sources, itertools.repeat("boot"))))
    assert first.line == 1
    assert next(read) <= 6


@pytest.mark.parametrize(("cut", "side"), [("sources", "targets"), ("targets", "sources")])
def test_sides_of_unequal_length_are_wrong_input_after_what_is_equal(loaded, cut, side):
    sources, targets = list(SOURCES), list(TARGETS)
    del {"sources": sources, "targets": targets}[cut][10:]
    found = score_pairs(loaded, sources, targets)
    assert len(list(itertools.islice(found, 10))) == 10
    with pytest.raises(InputError, match=f"line 11 in the {side} only"):
        next(found)


@pytest.mark.slow
def test_tags_stand_before_the_source_and_forgotten_ones_are_told(tmp_path, caplog):
    changes = {
        "data.train.0.tags": ["<ui>"],
        "length": "2 steps",
        "step.schedule.warmup": "1 steps",
        "data.valid": None,
    }
    run = train(small_recipe(tmp_path, **changes), out=tmp_path / "run").run
    tagged = list(trimtab.score(str(run), SOURCES[:4], TARGETS[:4], tags=["<ui>"]))
    assert caplog.records == []
    plain = list(trimtab.score(str(run), SOURCES[:4], TARGETS[:4]))
    assert ["E902" in record.getMessage() for record in caplog.records] == [True]
    assert [pair.source_tokens for pair in tagged] == [pair.source_tokens + 1 for pair in plain]
    assert all(one.log_probability != other.log_probability for one, other in zip(tagged, plain, strict=True))
    with pytest.raises(InputError, match="<no>"):
        trimtab.score(str(run), SOURCES, TARGETS, tags=["<no>"])


def test_a_piece_of_text_is_no_tag(loaded):
    piece = next(loaded.tokenizer.piece(id) for id in range(10, 20))
    with pytest.raises(InputError, match="a piece of ordinary text, not a tag"):
        list(score_pairs(loaded, SOURCES[:1], TARGETS[:1], tags=(piece,)))
