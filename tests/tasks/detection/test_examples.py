from trimtab.tasks.detection.examples import blanked


def test_images_with_boxes_come_first_and_cuts_hold_the_same_boxes(parts):
    examples = parts.examples
    assert min(examples.few().counts) > 0
    for cut in examples.cuts():
        assert sum(piece.num_targets for piece in cut.pieces) == cut.whole.num_targets == cut.num_targets
    fullest = examples.fullest()
    assert fullest.num_segments == parts.batching.shape.images
    assert max(fullest.counts) == max(parts.datasets.sample.target.values)


def test_every_other_image_is_blanked(parts):
    before = parts.examples.few()
    after = blanked(before)
    same = [bool((one == other).all()) for one, other in zip(before.pixels, after.pixels, strict=True)]
    assert same == [number % 2 == 1 for number in range(len(same))]
