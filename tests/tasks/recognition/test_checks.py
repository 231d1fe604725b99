from tests.image_run import image_recipe, sources_of, write_images
from trimtab.build import build
from trimtab.tasks.recognition.checks import data_checks, image_is_the_same_alone, images_are_apart


def test_the_checks_see_images_that_leak_into_others(parts):
    def leaking(patches):
        memory = parts.model.vision(patches, padded=True)
        return memory + memory.mean(0)

    parts.model.read = leaking
    assert [each.code for each in images_are_apart(parts)] != []
    assert [each.code for each in image_is_the_same_alone(parts)] != []


def test_characters_of_a_validation_set_that_cannot_be_written_are_reported(tmp_path, own_cache):
    image_recipe(tmp_path)
    write_images(tmp_path / "dev", ["abc", "xé1"])
    recipe, datasets = sources_of(tmp_path)
    (found,) = data_checks(build(recipe, datasets))
    assert found.code == "D201"
    assert "2 of the 6 characters" in found.message
    assert "LATIN SMALL LETTER E WITH ACUTE" in found.message
