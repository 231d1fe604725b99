import itertools

from trimtab.tasks.detection.batches import BoxGlobalBatch
from trimtab.tasks.detection.building import mixture_opener, untrained


def test_a_step_has_the_images_of_the_recipe_and_counts_their_boxes(opened):
    recipe, datasets = opened
    windows = mixture_opener(recipe, datasets)(datasets.stages.mixtures[0], 0, 0)
    found = [*itertools.islice(windows, 3)]
    for window in found:
        assert isinstance(window, BoxGlobalBatch)
        assert window.num_tokens == 4
        lines = zip(window.corpus, window.line, strict=True)
        assert window.num_targets == sum(datasets.corpora[corpus].count(int(line)) for corpus, line in lines)
    assert sorted(line for window in found for line in window.line.tolist()) == [*range(12)]


def test_any_finite_loss_is_that_of_an_untrained_model(opened):
    _, datasets = opened
    expected = untrained(datasets).loss
    assert abs(5.0 - expected) <= 0.15 * expected
