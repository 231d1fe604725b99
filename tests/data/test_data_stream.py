import itertools
from types import SimpleNamespace

import pytest
import torch

from tests.small_run import small_parts
from trimtab.data.data_stream import DataStream
from trimtab.data.mixture import Mixture
from trimtab.data.stages import Stages
from trimtab.types import IGNORE


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Built from the small recipe, not trained; nothing may be changed in them."""
    return small_parts(tmp_path_factory.mktemp("stream"))


def test_the_packs_of_a_window_hold_its_pairs_and_nothing_else(parts):
    for window, packs in itertools.islice(parts.stream.batches(0), 3):
        assert len(packs) == parts.batching.shape.num_packs == 2
        assert sum(pack.num_targets for pack in packs) == window.num_targets <= 256
        assert sum(int((pack.labels != IGNORE).sum()) for pack in packs) == window.num_targets
        held = [pair for pack in packs for pair in pairs_of(pack)]
        wanted = [
            (window.source.row(i).tolist(), window.target.row(i).tolist()) for i in range(len(window.target))
        ]
        assert sorted(held) == sorted(wanted)


def pairs_of(pack):
    source, target = pack.source.cu_seqlens.tolist(), pack.target.cu_seqlens.tolist()
    return [
        (
            pack.source.ids[source[i] : source[i + 1]].tolist(),
            pack.labels[target[i] : target[i + 1]].tolist(),
        )
        for i in range(pack.num_segments)
    ]


def test_windows_go_on_from_a_position_as_if_they_had_never_stopped(parts):
    first = [window for window, _ in itertools.islice(parts.stream.host_batches(0), 4)]
    resumed = [window for window, _ in itertools.islice(parts.stream.host_batches(first[1].position), 2)]
    for one, other in zip(first[2:], resumed, strict=True):
        assert one.position == other.position
        assert one.target.values.tolist() == other.target.values.tolist()


def test_a_stream_is_opened_at_its_position_and_step_and_cut_step_by_step():
    opened, cut = [], []

    def open_mixture(mixture, position, step):
        opened.append((position, step))
        yield from (SimpleNamespace(position=place) for place in (43, 47, 52))

    def cut_at(window, step):
        cut.append((window.position, step))
        return ["pack", "pack"]

    mixture = Mixture.of(lengths=[3], weights=[1.0], seed=1, temperature=1.0)
    stream = DataStream(open_mixture, Stages((mixture,)), cut_at, torch.device("cpu"))
    found = list(itertools.islice(stream.batches(40, step=7), 2))
    assert [(window.position, packs) for window, packs in found] == [
        (43, ["pack", "pack"]),
        (47, ["pack", "pack"]),
    ]
    assert (opened, cut) == ([(40, 7)], [(43, 7), (47, 8)])
