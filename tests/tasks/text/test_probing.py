from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from tests.small_run import small_parts
from tests.streams import stream_of
from trimtab.choices import shape_for
from trimtab.data.cut import cut
from trimtab.data.shape import PackShape, plan_shape
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.tasks.text.probing import (
    between,
    exchanged,
    few_examples,
    in_four,
    in_one_pack,
    lengths_at,
    narrowed,
    on_device,
    one_pack,
    probe_window,
    size,
    windows_to_cut,
)
from trimtab.types import Ragged


def test_the_probe_is_cut_into_four_pieces_of_unequal_size_that_lose_nothing(parts):
    window = probe_window(parts)
    assert 512 < window.num_targets <= 1024
    pieces = in_four(window)
    assert sum(each.num_targets for each in pieces) == window.num_targets
    assert sum(each.num_tokens for each in pieces) == window.num_tokens
    assert pieces[3].num_targets > 4 * pieces[0].num_targets  # alike they would let means of means pass


@pytest.mark.parametrize("tokens", [32, 64, 256])
def test_what_is_cut_in_two_ways_is_one_pack_at_first(tmp_path, tokens):
    parts = small_parts(tmp_path, **{"step.tokens_per_micro_batch": tokens})
    whole = in_one_pack(probe_window(parts), parts)
    (pack,) = on_device(parts, whole)
    assert pack.num_targets == whole.num_targets <= parts.batching.shape.target_capacity
    assert pack.num_targets > parts.batching.shape.target_capacity / 2


@pytest.mark.parametrize("smaller", [{"source_slots": 64}, {"max_segments": 9}])
def test_whatever_fills_a_pack_first_it_is_one_pack(parts, smaller):
    roomy = len(in_one_pack(probe_window(parts), parts).target)
    parts.batching.shape = replace(parts.batching.shape, **smaller)
    whole = in_one_pack(probe_window(parts), parts)
    assert len(on_device(parts, whole)) == 1
    assert 4 < len(whole.target) < roomy


@pytest.mark.parametrize(("tokens", "short"), [(64, False), (256, False), (1024, True)])
def test_three_windows_are_cut_and_share_no_example_where_there_are_enough(tmp_path, tokens, short):
    parts = small_parts(tmp_path, **{"step.tokens_per_step": 1024, "step.tokens_per_micro_batch": tokens})
    places = parts.datasets.sample.target.values
    places[:] = range(len(places))  # so that each token is told from every other
    first, second, third = (set(each.target.values.tolist()) for each in windows_to_cut(parts))
    assert second.isdisjoint(third)
    assert (second | third == first) is short  # halves of the first
    assert first.isdisjoint(second | third) is not short


@pytest.mark.parametrize(("most", "sizes"), [(1, [1, 1, 1]), (6, [6, 6, 6])])
def test_later_windows_are_as_large_as_the_first(parts, most, sizes):
    parts.batching.shape = replace(parts.batching.shape, max_segments=most)
    assert [len(each.target) for each in windows_to_cut(parts)] == sizes


def test_halves_too_small_to_be_cut_are_left_out(parts):
    sample = parts.datasets.sample
    few = replace(sample, source=sample.source.between(0, 5), target=sample.target.between(0, 5), prompt=None)
    parts.datasets = replace(parts.datasets, sample=few)
    assert [len(each.target) for each in windows_to_cut(parts)] == [5]


def test_a_few_examples_are_some_even_where_each_is_long(parts):
    window = few_examples(parts)
    assert len(window.target) >= 4
    assert window.num_targets <= 256
    long = probe_window(parts, targets=1, least=4)
    assert len(long.target) == 4


def test_one_pack_keeps_the_order_of_its_examples(parts):
    window = few_examples(parts)
    pack = one_pack(parts, window)
    assert pack.target.cu_seqlens.diff().tolist() == window.target.lengths.tolist()
    assert pack.source.ids.tolist() == window.source.values.tolist()


@pytest.mark.parametrize("count", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("tokens", [32, 64, 4096])
def test_a_narrowed_shape_has_room_for_the_window_and_a_tail_and_is_never_wider(parts, tokens, count):
    recipe = parts.recipe
    shape = plan_shape(
        tokens_per_step=tokens,
        tokens_per_micro_batch=tokens,
        lengths=parts.datasets.lengths,
        max_tokens=recipe.data.max_tokens,
        fixed=True,
        sort=False,
    )
    parts.batching.shape = shape
    window = in_one_pack(between(probe_window(parts), 0, count), parts)
    narrow = narrowed(shape, window)
    (pack,) = on_device(parts, window, narrow)
    assert pack.num_segments == len(window.target)
    assert len(pack.target.ids) == narrow.target_slots <= shape.target_slots
    assert len(pack.source.ids) == narrow.source_slots <= shape.source_slots
    room = window.num_targets + narrow.target_max_seqlen
    assert narrow.target_slots <= room + 63
    assert narrow.target_slots > window.num_targets or narrow.target_slots == shape.target_slots
    assert len(pack.target.cu_seqlens) == len(one_pack(parts, window).target.cu_seqlens)


def test_checks_find_examples_of_one_pack_in_their_order_whatever_their_lengths(parts):
    target = Ragged.of([[5] * length for length in (10, 64, 30, 64)])
    window = TextGlobalBatch.of_rows(Ragged.of([[]] * 4), target)

    def cut_by(window, shape):
        return cut(window, shape, start_symbol=1, pad_symbol=0)

    shape = PackShape(1, 0, 256, 16, 0, 64, fixed=True, sort=False)
    batching = SimpleNamespace(cut=cut_by, shape=shape)
    text = SimpleNamespace(
        recipe=parts.recipe, datasets=parts.datasets, batching=batching, device=parts.device
    )
    lengths = one_pack(text, window).target.cu_seqlens.diff()
    assert lengths[:4].tolist() == [10, 64, 30, 64]


def test_packs_that_are_as_long_as_what_is_in_them_stay_so(parts):
    assert narrowed(parts.batching.shape, probe_window(parts)) is parts.batching.shape
    parts.batching.shape = shape_for(parts.recipe, parts.datasets.lengths, packed=True)
    assert narrowed(parts.batching.shape, few_examples(parts)) is not parts.batching.shape


def test_tokens_are_exchanged_where_they_should_be_and_nowhere_else():
    stream = stream_of([[5, 6, 7], [8, 9]])
    where = torch.tensor([False, True, False, False, True])
    other = exchanged(stream, where=where, num_ids=10)
    assert other.ids.tolist() == [5, 1, 7, 8, 4]
    assert lengths_at(stream).tolist() == [3, 3, 3, 2, 2]


def test_a_size_is_a_root_mean_square_and_nothing_has_none():
    vectors = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    assert size(vectors, torch.tensor([True, False])) == pytest.approx(12.5**0.5)
    assert size(vectors, torch.tensor([False, False])) == 0


def test_no_pack_of_the_run_is_larger_than_the_fullest(parts):
    fullest = parts.examples.fullest()
    longest = parts.recipe.data.max_tokens
    assert fullest.num_tokens == 2 * fullest.num_segments * longest
    assert fullest.num_targets > parts.batching.shape.target_capacity - longest
    _, packs = next(iter(parts.stream.batches(0)))
    assert all(pack.num_targets < fullest.num_targets + longest for pack in packs)
