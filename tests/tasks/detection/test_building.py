import itertools

from trimtab.tasks.detection.batches import BoxGlobalBatch
from trimtab.tasks.detection.building import open_mixtures


def test_a_step_has_the_images_of_the_recipe_and_counts_their_boxes(opened):
    recipe, datasets = opened
    windows = open_mixtures(recipe, datasets)(datasets.stages.mixtures[0], 0, 0)
    found = [*itertools.islice(windows, 3)]
    for window in found:
        assert isinstance(window, BoxGlobalBatch)
        assert window.num_tokens == 4
        lines = zip(window.corpus, window.line, strict=True)
        assert window.num_targets == sum(datasets.corpora[corpus].count(int(line)) for corpus, line in lines)
    assert sorted(line for window in found for line in window.line.tolist()) == [*range(12)]
