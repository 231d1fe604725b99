from types import SimpleNamespace

import pytest

from trimtab.config.corpora import TrainCorpus, ValidFiles
from trimtab.config.load import parse_recipe
from trimtab.config.task_facts import init_recipe
from trimtab.errors import InputError, input_error
from trimtab.tasks.recipe_files import fingerprints_of, keyed_files, of_training, of_validation, open_each


def recipe_with(train, **valid):
    """A recipe with pairs of these names."""
    recipe = parse_recipe(init_recipe()).recipe
    files = {"train": tuple(TrainCorpus(pairs=f"{each}.tsv", source=1, target=2) for each in train)}
    files |= {
        "valid": {name: ValidFiles(pairs=f"{each}.tsv", source=1, target=2) for name, each in valid.items()}
    }
    return recipe.model_copy(update={"data": recipe.data.model_copy(update=files)})


def test_a_single_validation_set_is_called_as_the_recipe_writes_it():
    (train, _), (alone, _) = keyed_files(recipe_with(["a", "b"], valid="c"))
    assert (train, alone) == (["data.train.0", "data.train.1"], ["data.valid"])
    assert keyed_files(recipe_with([], news="c"))[1][0] == ["data.valid.news"]


def test_what_is_opened_is_found_by_its_key():
    recipe = recipe_with(["a", "b"], news="c")
    opened = open_each(recipe, lambda files, key: files.pairs[0].upper() + key[5])
    assert of_training(opened) == ["At", "Bt"]
    assert of_validation(recipe, opened) == {"news": ("data.valid.news", "Cv")}


def test_the_errors_of_all_files_are_reported_together():
    def refused(files, key):
        raise input_error(f"{key}: {files.pairs}")

    with pytest.raises(InputError) as caught:
        open_each(recipe_with(["a", "b"], news="c"), refused)
    assert [each.what for each in caught.value.problems] == [
        "data.train.0: a.tsv",
        "data.train.1: b.tsv",
        "data.valid.news: c.tsv",
    ]


def test_fingerprints_have_the_size_and_the_digest_of_each_corpus():
    class Corpus(list):
        fingerprint = 64 * "f"

    found = fingerprints_of([Corpus(range(2000))], {"x": SimpleNamespace(fingerprint="y")}, what="images")
    assert found == {"data.train.0": f"2,000 images, sha256 {32 * 'f'}", "data.valid.x": "y"}
