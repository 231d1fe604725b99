import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.fake_feed import LONGEST, FakePipeline, fake_feed
from trimtab.data.chunk import encode_chunk
from trimtab.data.global_batches import windows
from trimtab.data.loader import chunks
from trimtab.errors import InputError


def in_chunks(feed, *, from_position, size):
    """The stream in chunks of another size than the loader's, so that short streams have several."""
    return (
        encode_chunk(feed, start=number * size, count=size)
        for number in itertools.count(from_position // size)
    )


def windows_of(feed, *, from_position=0, tokens_per_step, size=40):
    return windows(
        in_chunks(feed, from_position=from_position, size=size),
        from_position=from_position,
        tokens_per_step=tokens_per_step,
        max_tokens=feed.max_tokens,
        examples_per_epoch=feed.mixture.examples_per_epoch,
    )


def plain(window):
    return (
        window.source.values.tolist(),
        window.source.offsets.tolist(),
        window.target.values.tolist(),
        window.target.offsets.tolist(),
        window.corpus.tolist(),
        window.line.tolist(),
        window.position,
        window.dropped,
    )


def slowly(feed, tokens_per_step, num_windows):
    """Windows as (corpus, line) lists, made one example after another; with their positions and dropped lines."""
    made, examples, dropped, used = [], [], [], 0
    for position in itertools.count():
        chunk = encode_chunk(feed, start=position, count=1)
        if chunk.dropped:
            dropped.append(chunk.dropped[0])
            continue
        size = int(chunk.target.lengths[0])
        if used + size > tokens_per_step:
            made.append((examples, position, tuple(dropped)))
            examples, dropped, used = [], [], 0
        if len(made) == num_windows:
            break
        examples.append((int(chunk.corpus[0]), int(chunk.line[0])))
        used += size
    return made


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(tokens_per_step=st.integers(LONGEST, 100), size=st.integers(1, 50), every=st.integers(2, 9))
def test_windows_hold_what_taking_one_example_after_another_gives(tokens_per_step, size, every):
    feed = fake_feed(pipeline=FakePipeline(every=every))
    found = itertools.islice(windows_of(feed, tokens_per_step=tokens_per_step, size=size), 6)
    plainly = [
        (
            list(zip(window.corpus.tolist(), window.line.tolist(), strict=True)),
            window.position,
            window.dropped,
        )
        for window in found
    ]
    assert plainly == slowly(feed, tokens_per_step, 6)


@pytest.mark.slow
@given(
    tokens_per_step=st.integers(LONGEST, 400),
    every=st.integers(2, 30),
    seed=st.integers(0, 2**63 - 1),
    stopped_after=st.integers(1, 10),
    random=st.booleans(),
)
def test_a_stream_resumed_after_any_window_goes_on_as_if_it_had_not_stopped(
    tokens_per_step, every, seed, stopped_after, random
):
    feed = fake_feed(seed=seed, pipeline=FakePipeline(every=every, needs_random=random))
    whole = list(itertools.islice(windows_of(feed, tokens_per_step=tokens_per_step), stopped_after + 5))
    again = windows_of(feed, from_position=whole[stopped_after - 1].position, tokens_per_step=tokens_per_step)
    resumed = list(itertools.islice(again, 5))
    assert [plain(window) for window in resumed] == [plain(window) for window in whole[stopped_after:]]


@pytest.mark.slow
@given(tokens_per_step=st.integers(LONGEST, 400), size=st.integers(1, 100))
def test_a_window_is_never_more_than_full_and_the_next_example_would_not_have_fitted(tokens_per_step, size):
    found = list(itertools.islice(windows_of(fake_feed(), tokens_per_step=tokens_per_step, size=size), 10))
    for window, following in itertools.pairwise(found):
        assert 0 < window.num_targets <= tokens_per_step
        assert window.num_targets + int(following.target.lengths[0]) > tokens_per_step


def test_windows_run_across_the_ends_of_epochs_and_count_every_position_once():
    feed = fake_feed(pipeline=FakePipeline(every=4))
    per_epoch = feed.mixture.examples_per_epoch
    found = list(itertools.islice(windows_of(feed, tokens_per_step=300), 20))
    assert found[-1].position > 3 * per_epoch
    assert sum(len(window.target) + len(window.dropped) for window in found) == found[-1].position
    assert any(
        len(window.target) > per_epoch or window.position // per_epoch != before.position // per_epoch
        for before, window in itertools.pairwise(found)
    )


@pytest.mark.slow
def test_workers_change_nothing_in_any_window_of_a_resumed_stream():
    feed = fake_feed(lengths=(900, 700), pipeline=FakePipeline(every=5, needs_random=True))

    def found(workers, from_position):
        stream = chunks(feed, from_position=from_position, workers=workers)
        made = windows(
            stream,
            from_position=from_position,
            tokens_per_step=2000,
            max_tokens=LONGEST,
            examples_per_epoch=feed.mixture.examples_per_epoch,
        )
        result = [plain(window) for window in itertools.islice(made, 20)]
        stream.close()
        return result

    alone = found(0, from_position=0)
    assert found(2, from_position=0) == alone
    assert found(2, from_position=alone[6][6])[:13] == alone[7:]


def test_an_example_that_might_not_fit_into_a_window_is_an_error_before_anything_is_read():
    with pytest.raises(InputError, match="tokens_per_step") as caught:
        windows(iter([]), from_position=0, tokens_per_step=255, max_tokens=256, examples_per_epoch=10)
    assert "at least 256" in str(caught.value)


@pytest.mark.parametrize("from_position", [0, 61])
def test_data_of_which_nothing_is_kept_ends_in_an_error_that_gives_the_reasons(from_position):
    with pytest.raises(InputError) as caught:
        next(
            windows_of(
                fake_feed(max_tokens=1, pipeline=FakePipeline(every=2)),
                from_position=from_position,
                tokens_per_step=50,
            )
        )
    assert "was dropped" in str(caught.value)
    assert "too_long" in str(caught.value)
    assert "multiple" in str(caught.value)
    few = fake_feed(max_tokens=12, pipeline=FakePipeline(every=2))
    assert next(windows_of(few, from_position=from_position, tokens_per_step=12)).num_targets


def test_a_stream_that_ends_gives_its_whole_windows():
    feed = fake_feed()
    stream = [encode_chunk(feed, start=0, count=60)]
    found = list(
        windows(stream, from_position=0, tokens_per_step=100, max_tokens=LONGEST, examples_per_epoch=57)
    )
    assert 0 < found[-1].position < 60
    assert (
        np.concatenate([window.line for window in found]).tolist()
        == stream[0].line[: found[-1].position].tolist()
    )


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(sizes=st.lists(st.integers(LONGEST, 200), min_size=6, max_size=6), size=st.integers(1, 50))
def test_windows_of_different_sizes_are_each_filled_to_their_own_and_lose_nothing(sizes, size):
    feed = fake_feed()
    stream = in_chunks(feed, from_position=0, size=size)
    made = windows(
        stream,
        from_position=0,
        tokens_per_step=200,
        max_tokens=feed.max_tokens,
        examples_per_epoch=feed.mixture.examples_per_epoch,
        sizes=iter([*sizes, LONGEST]),
    )
    position = 0
    for capacity, window in zip(sizes, made, strict=False):
        (alone,) = itertools.islice(windows_of(feed, from_position=position, tokens_per_step=capacity), 1)
        assert plain(window) == plain(alone)
        position = window.position
