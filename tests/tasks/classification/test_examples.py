from trimtab.tasks.examples import Examples


def test_they_are_what_checks_ask_for(parts):
    examples = parts.examples
    assert isinstance(examples, Examples)
    assert examples.few().num_targets == 8
    assert sum(batch.num_targets for batch in examples.first()) == 180


def test_a_step_is_cut_in_two_ways_with_the_same_examples(parts):
    cuts = [*parts.examples.cuts()]
    assert len(cuts) == 3
    for each in cuts:
        assert each.num_targets == each.whole.num_targets == sum(piece.num_targets for piece in each.pieces)
        assert each.whole.num_tokens == sum(piece.num_tokens for piece in each.pieces)
        assert len(each.pieces) > 1


def test_the_fullest_batch_is_as_large_as_any_can_be(parts):
    fullest, shape = parts.examples.fullest(), parts.batching.shape
    assert fullest.max_seqlen == 32
    assert fullest.num_targets == min(shape.examples, shape.slots // 32)


def test_the_vocabulary_is_that_of_the_texts(parts):
    (side,) = parts.examples.sides()
    assert (side.name, side.tokenizer) == ("text", parts.datasets.tokenizer)
