import itertools
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.data.prefetch import prefetched

WAIT = 10.0


def prefetch_threads():
    return [thread for thread in threading.enumerate() if thread.name == "window prefetch"]


class Watched:
    """Counts up, notes how far it got, whether it was closed and where; may fail or block on the way."""

    def __init__(self, count, *, error=None):
        self.count, self.error = count, error
        self.made = 0
        self.closed = threading.Event()

    def __iter__(self):
        try:
            for number in range(self.count):
                self.made = number + 1
                yield number
            if self.error is not None:
                raise self.error
        finally:
            self.closed.set()


@settings(max_examples=20, deadline=None)
@given(count=st.integers(0, 30), ahead=st.integers(1, 8))
def test_it_gives_the_same_items_in_the_same_order(count, ahead):
    watched = Watched(count)
    assert list(prefetched(iter(watched), ahead=ahead)) == list(range(count))
    assert watched.closed.is_set()
    assert prefetch_threads() == []


@pytest.mark.parametrize("error", [ValueError("broken"), KeyboardInterrupt("stop")])
def test_an_error_comes_after_the_items_before_it(error):
    items = prefetched(iter(Watched(5, error=error)), ahead=2)
    assert list(itertools.islice(items, 5)) == [0, 1, 2, 3, 4]
    with pytest.raises(type(error)) as caught:
        next(items)
    assert caught.value is error
    assert prefetch_threads() == []


def test_it_works_ahead_by_so_many_and_no_more():
    arrived = threading.Semaphore(0)

    def counting():
        for number in range(100):
            arrived.release()
            yield number

    items = prefetched(counting(), ahead=3)
    next(items)
    # One was taken, three lie ready, and one more waits for room.
    for _ in range(5):
        assert arrived.acquire(timeout=WAIT)
    assert not arrived.acquire(timeout=0.3)
    items.close()


def test_closing_early_ends_the_thread_and_closes_the_inner_generator():
    watched = Watched(1000)
    inner = iter(watched)  # kept, so that it is closed on purpose and not for want of references
    items = prefetched(inner, ahead=2)
    assert [next(items), next(items)] == [0, 1]
    items.close()
    assert watched.closed.is_set()
    assert list(inner) == []
    assert watched.made < 10
    assert prefetch_threads() == []


def test_an_error_of_the_one_who_takes_the_items_ends_the_thread_too():
    watched = Watched(1000)

    def consume():
        for item in prefetched(iter(watched), ahead=2):
            if item == 3:
                raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        consume()
    assert watched.closed.wait(WAIT)
    assert prefetch_threads() == []


def test_nothing_is_made_before_the_first_item_is_asked_for():
    watched = Watched(3)
    items = prefetched(iter(watched), ahead=2)
    assert watched.made == 0
    assert prefetch_threads() == []
    items.close()


def test_an_iterator_that_cannot_be_closed_will_do():
    assert list(prefetched(iter([1, 2, 3]), ahead=1)) == [1, 2, 3]
