"""Recorded steps; all but what is on a GPU is tested with graphs that remember a call."""

import gc
import threading

import pytest
import torch

from tests.model.test_encoder_decoder import SOURCES, build
from tests.streams import stream_of
from trimtab.model.static import recordings as module
from trimtab.model.static.opener import StaticOpener
from trimtab.model.static.recordings import WARM_UP_STEPS, Recordings, uncollected
from trimtab.model.static.shapes import Shape

FIRST, SECOND = Shape(2, 2, 4, 4), Shape(2, 2, 4, 8)


class Launched(Recordings):
    """Recordings without a device: a recording is the step that it was made from."""

    def __init__(self):
        self.graphs, self.counts, self.given_up, self.stream = (
            module.OrderedDict(),
            module.Counter(),
            False,
            None,
        )

    def record(self, shape, step):
        if len(self.graphs) >= module.MOST_RECORDINGS:
            self.graphs.popitem(last=False)
        self.graphs[shape] = Replayed(step)


class Replayed:
    def __init__(self, step):
        self.replay = step


@pytest.fixture
def without_streams(monkeypatch):
    monkeypatch.setattr(module, "on", lambda stream: uncollected())


@pytest.mark.usefixtures("without_streams")
def test_each_step_is_taken_once_plainly_at_first_and_recorded_then():
    recordings, taken = Launched(), []
    for number in range(WARM_UP_STEPS + 3):
        recordings.launch(FIRST, lambda number=number: taken.append(number))
    # A recording repeats what it was made from.
    assert taken == [*range(WARM_UP_STEPS), *[WARM_UP_STEPS] * 3]
    recordings.launch(SECOND, lambda: taken.append("second"))
    assert taken[-1] == "second"
    assert list(recordings.graphs) == [FIRST]


@pytest.mark.usefixtures("without_streams")
def test_the_recording_that_was_launched_longest_ago_makes_way(monkeypatch):
    monkeypatch.setattr(module, "MOST_RECORDINGS", 2)
    recordings = Launched()
    third = Shape(4, 2, 4, 4)
    for shape in (FIRST, SECOND):
        for _ in range(WARM_UP_STEPS + 1):
            recordings.launch(shape, lambda: None)
    recordings.launch(FIRST, lambda: None)
    for _ in range(WARM_UP_STEPS + 1):
        recordings.launch(third, lambda: None)
    assert list(recordings.graphs) == [FIRST, third]


def test_no_garbage_is_collected_meanwhile():
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.gpu
class TestOnGpu:
    def half(self, **changes):
        model = build(dim=64, **changes).eval().to("cuda", torch.bfloat16)
        model.kernel = "varlen"
        return StaticOpener(model)

    @torch.inference_mode()
    def run(self, opener, *, rows, width, steps=20, seed=0):
        """All logits of a session whose hypotheses change places and whose rows become fewer."""
        generator = torch.Generator().manual_seed(seed)
        sources = [SOURCES[row % 3] for row in range(rows)]
        session = opener.open_session(
            stream_of(sources).to(torch.device("cuda")), rows=rows, width=width, max_length=32
        )
        found = []
        for step in range(steps):
            tokens = torch.randint(4, 90, (rows, width), generator=generator).cuda()
            found.append(session.step(tokens).clone())
            session.reorder(torch.randint(0, width, (rows, width), generator=generator).cuda())
            if step % 6 == 5:
                rows = max(1, rows // 2)
                session.keep(torch.arange(rows).cuda())
        return found

    def assert_same(self, found, others):
        assert all(torch.equal(one, other) for one, other in zip(found, others, strict=True))

    @pytest.mark.parametrize("changes", [{}, {"heads": 4, "kv_heads": 2, "positions": "rotary"}], ids=str)
    def test_recorded_steps_have_the_bits_of_plain_ones(self, changes):
        recorded, plain = self.half(**changes), self.half(**changes)
        plain.recordings = None
        for _ in range(3):
            for rows, width in ((70, 4), (40, 1), (5, 3)):
                want = self.run(plain, rows=rows, width=width, seed=rows)
                self.assert_same(self.run(recorded, rows=rows, width=width, seed=rows), want)
        assert len(recorded.recordings.graphs) > 4
        assert not recorded.recordings.given_up

    def test_a_larger_session_moves_the_memory_and_everything_is_recorded_anew(self):
        recorded, plain = self.half(), self.half()
        plain.recordings = None
        for rows in (5, 300, 5):
            for _ in range(3):
                self.assert_same(self.run(recorded, rows=rows, width=4), self.run(plain, rows=rows, width=4))

    def test_threads_that_translate_at_once_get_what_they_get_alone(self):
        opener = self.half()
        results = {}
        alone = [self.run(self.half(), rows=20, width=4, seed=seed) for seed in range(2)]

        def work(seed):
            results[seed] = [self.run(opener, rows=20, width=4, seed=seed) for _ in range(5)]

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for seed in range(2):
            for found in results[seed]:
                for one, other in zip(found, alone[seed], strict=True):
                    # Which of them had a plain session, whose kernels round otherwise, is a matter of chance.
                    torch.testing.assert_close(one, other, atol=0.05, rtol=0.05)

    def test_recordings_go_on_with_weights_that_are_changed_in_place(self):
        recorded, plain = self.half(), self.half()
        plain.recordings = None
        for _ in range(3):
            self.run(recorded, rows=9, width=2)
        with torch.no_grad():
            for opener in (recorded, plain):
                opener.model.embedding.weight.mul_(0.5)
        self.assert_same(self.run(recorded, rows=9, width=2), self.run(plain, rows=9, width=2))
