import numpy as np

from trimtab.training.run_facts import examples


def test_a_step_in_pieces_has_all_its_examples(parts):
    for cut in parts.examples.cuts():
        assert cut.num_targets == cut.whole.num_targets == sum(each.num_targets for each in cut.pieces)
        widths = [wide for piece in cut.pieces for wide in piece.widths]
        assert sorted(widths) == sorted(cut.whole.widths)


def test_no_batch_of_the_stream_is_larger_than_the_fullest(parts):
    fullest, shape = parts.examples.fullest(), parts.batching.shape
    assert set(fullest.widths) == {shape.widest}
    window = next(iter(parts.stream.host_batches(0)))[0]
    for batch in parts.batching.cut(window):
        assert sum(batch.widths) <= shape.columns
        assert max(batch.widths) <= shape.widest
        assert np.max(batch.lengths) < shape.longest


def test_the_facts_of_a_run_have_the_lengths_of_its_texts(parts):
    (side,) = examples(parts)["sides"]
    assert (side["name"], side["unknown"]) == ("text", 0)
    assert side["tokens"] == parts.datasets.sample.targets
