import asyncio
import threading

import pytest

from trimtab.serving.batcher import Batcher, Made, Work
from trimtab.serving.counters import Counters
from trimtab.serving.refused import Refused


class Model:
    """Gives each content back, doubled; waits for leave before each batch where it is told to."""

    budget = 10

    def __init__(self) -> None:
        self.batches: list[list] = []
        self.leave = threading.Event()
        self.leave.set()
        self.begun = threading.Event()

    def run(self, pieces):
        self.begun.set()
        assert self.leave.wait(10)
        self.batches.append([piece.content for piece in pieces])
        if "bad" in self.batches[-1]:
            raise ZeroDivisionError
        for piece in pieces:
            yield [Made(piece, piece.content * 2, True)]


@pytest.fixture
def model():
    return Model()


def work(*contents, key="k", cost=1):
    return Work(key, contents, [cost] * len(contents))


async def results(work):
    found = []
    while (made := await work.made()) is not None:
        found.append((made.piece.place, made.result))
    return [result for _, result in sorted(found)]


def run(model, scenario, *, max_queue=100, window_s=0.0):
    """Runs a scenario with a batcher whose thread is up; the model waits until the scenario gives it leave."""

    async def main():
        batcher = Batcher(model, Counters(), max_queue=max_queue, window_s=window_s)
        batcher.start(asyncio.get_running_loop())
        try:
            return await asyncio.wait_for(scenario(batcher), 20)
        finally:
            model.leave.set()
            await asyncio.to_thread(batcher.stop)

    return asyncio.run(main())


def hold(model, batcher):
    """Occupies the model with a batch of its own, so that what follows waits together."""
    model.leave.clear()
    first = work("first", key="other")
    batcher.submit(first)
    assert model.begun.wait(10)
    return first


def test_every_piece_comes_back_to_its_own_request(model):
    async def scenario(batcher):
        works = [work(*[f"{number}{place}" for place in range(number)]) for number in range(8)]
        for each in works:
            batcher.submit(each)
        return [await results(each) for each in works]

    assert run(model, scenario) == [
        [f"{number}{place}" * 2 for place in range(number)] for number in range(8)
    ]


def test_requests_share_a_batch_up_to_the_budget_a_line_of_each_in_turn(model):
    async def scenario(batcher):
        first = hold(model, batcher)
        long, short = work(*[f"l{number}" for number in range(12)]), work("s0", "s1")
        batcher.submit(long)
        batcher.submit(short)
        model.leave.set()
        return [await results(each) for each in (first, long, short)]

    run(model, scenario)
    assert model.batches == [
        ["first"],
        ["l0", "s0", "l1", "s1", "l2", "l3", "l4", "l5", "l6", "l7"],
        ["l8", "l9", "l10", "l11"],
    ]


def test_other_keys_have_batches_of_their_own_and_come_next(model):
    async def scenario(batcher):
        first = hold(model, batcher)
        works = [
            work("a0", "a1", key="a", cost=6),
            work("b", key="b"),
            work("a2", key="a"),
            work("c", key="c"),
        ]
        for each in works:
            batcher.submit(each)
        model.leave.set()
        return [await results(each) for each in (first, *works)]

    run(model, scenario)
    assert model.batches == [["first"], ["a0", "a2"], ["b"], ["c"], ["a1"]]


def test_a_line_above_the_budget_has_a_batch_of_its_own(model):
    async def scenario(batcher):
        whole = work("huge", cost=1000)
        batcher.submit(whole)
        return await results(whole)

    assert run(model, scenario) == ["hugehuge"]


def test_the_first_line_waits_for_others_within_the_window(model):
    async def scenario(batcher):
        one, two = work("1"), work("2", cost=9)
        batcher.submit(one)
        await asyncio.sleep(0)
        batcher.submit(two)  # fills the budget, so the window of a minute ends here
        return await results(one) + await results(two)

    assert run(model, scenario, window_s=60.0) == ["11", "22"]
    assert model.batches == [["1", "2"]]


def test_a_full_queue_refuses_and_is_open_again_when_something_is_taken_back(model):
    async def scenario(batcher):
        first = hold(model, batcher)
        waiting = work("1", "2", "3")
        batcher.submit(waiting)
        with pytest.raises(Refused, match="the queue is full") as refused:
            batcher.submit(work("4", "5"))
        assert (refused.value.status, refused.value.headers) == (429, {"retry-after": "1"})
        batcher.withdraw(waiting)
        assert batcher.num_waiting == 0
        last = work("4", "5")
        batcher.submit(last)
        model.leave.set()
        return await results(first) + await results(last)

    assert run(model, scenario, max_queue=4) == ["firstfirst", "44", "55"]
    assert model.batches == [["first"], ["4", "5"]]


def test_nobody_gets_what_was_begun_for_one_who_left(model):
    async def scenario(batcher):
        first = hold(model, batcher)
        batcher.withdraw(first)
        after = work("after")
        batcher.submit(after)
        model.leave.set()
        assert await results(after) == ["afterafter"]
        return first.results.empty()

    assert run(model, scenario)


def test_a_model_that_fails_ends_its_requests_and_no_other(model):
    async def scenario(batcher):
        bad = work("bad")
        batcher.submit(bad)
        with pytest.raises(Refused) as refused:
            await results(bad)
        assert refused.value.status == 500
        good = work("good")
        batcher.submit(good)
        return await results(good)

    assert run(model, scenario) == ["goodgood"]


def test_a_request_without_lines_has_its_answer_at_once(model):
    async def scenario(batcher):
        empty = work()
        batcher.submit(empty)
        return await results(empty)

    assert run(model, scenario) == []
    assert model.batches == []
