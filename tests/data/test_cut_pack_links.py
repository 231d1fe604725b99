import numpy as np
import torch

from trimtab.data.cut import cut, pack_links
from trimtab.data.shape import PackShape
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.types import Ragged

SOURCE = Ragged.of([[10, 11, 3], [12, 3], [13, 14, 15, 3]])
TARGET = Ragged.of([[20, 3], [21, 22, 3], [23, 24, 3]])
LINKS = Ragged.of([[0, 0, 0, 1], [], [0, 2, 1, 0, 1, 1]])
"""Target and source token in turn."""


def shape(**changes) -> PackShape:
    given = {"num_packs": 2, "source_slots": 24, "target_slots": 16, "max_segments": 12, **changes}
    return PackShape(**given, source_max_seqlen=8, target_max_seqlen=8)


def test_links_become_slots_and_those_of_a_target_share_a_weight_of_one():
    links = pack_links(LINKS, SOURCE, TARGET, shape(fixed=False, sort=False))
    assert links.targets.tolist() == [0, 0, 5, 6, 6]
    assert links.sources.tolist() == [0, 1, 7, 5, 6]
    assert links.weights.tolist() == [0.5, 0.5, 1.0, 0.5, 0.5]


def test_fixed_shapes_have_few_numbers_of_links():
    links = pack_links(LINKS, SOURCE, TARGET, shape(fixed=True, sort=False))
    assert len(links.targets) == 32
    assert links.weights.sum() == 3
    none = pack_links(Ragged.of([[], [], []]), SOURCE, TARGET, shape(fixed=True, sort=False))
    assert len(none.targets) == 32
    assert none.weights.sum() == 0


def test_rows_keep_their_links_in_whatever_packs_they_come():
    window = TextGlobalBatch(SOURCE, TARGET, np.zeros(3, np.int32), np.arange(3), 0, links=LINKS)
    symbols = {"start_symbol": 2, "pad_symbol": 0}
    for fixed, sort in ((False, False), (True, False), (False, True)):
        packs = cut(window, shape(fixed=fixed, sort=sort), **symbols)
        assert len(packs) == 2
        linked = set()
        for pack in packs:
            assert pack.links is not None
            for target, source, weight in zip(*(each.tolist() for each in pack.links), strict=True):
                if weight:
                    assert pack.target.segments[target] == pack.source.segments[source]
                    linked.add((int(pack.labels[target]), int(pack.source.ids[source]), weight))
        assert linked == {(20, 10, 0.5), (20, 11, 0.5), (23, 15, 1.0), (24, 13, 0.5), (24, 14, 0.5)}


def test_links_travel_with_the_pack():
    window = TextGlobalBatch(SOURCE, TARGET, np.zeros(3, np.int32), np.arange(3), 0, links=LINKS)
    (pack,) = cut(window, shape(num_packs=1, fixed=False, sort=False), start_symbol=2, pad_symbol=0)
    copy = pack.clone()
    assert len(pack.tensors()) == 12
    assert copy.static_key == pack.static_key
    assert copy.links is not None
    assert pack.links is not None
    assert torch.equal(copy.links.weights, pack.links.weights)
    assert copy.links.weights.data_ptr() != pack.links.weights.data_ptr()
