import io

import numpy as np
import pytest

from tests.diffusion_run import draw_shape
from trimtab.errors import InputError
from trimtab.tasks.image_classification.classifier import load_image_classifier


def test_images_in_every_form_have_the_same_class(image_classifier_run, tmp_path):
    image = draw_shape("disk", seed=5)
    image.save(tmp_path / "disk.png")
    content = io.BytesIO()
    image.save(content, format="PNG")
    forms = [tmp_path / "disk.png", content.getvalue(), image, np.asarray(image), str(tmp_path / "disk.png")]
    found = [*load_image_classifier(image_classifier_run).classify(forms)]
    assert len({each.label for each in found}) == 1
    assert found[0].image == str(tmp_path / "disk.png")
    assert sum(found[0].probabilities.values()) == pytest.approx(1)
    assert found[0].probability == max(found[0].probabilities.values())
    assert found[2].probabilities == pytest.approx(found[0].probabilities)


def test_an_image_that_cannot_be_read_has_an_error_and_others_their_class(image_classifier_run):
    good, bad = draw_shape("disk", seed=5), b"damaged"
    found = [*load_image_classifier(image_classifier_run).classify([bad, good, bad])]
    assert [bool(each.error) for each in found] == [True, False, True]
    assert found[1].label in ("disk", "square")
    assert found[0].probability == 0


def test_one_image_in_place_of_a_list_and_another_run_are_refused(image_classifier_run, tmp_path):
    with pytest.raises(InputError, match="one image in place of a list"):
        load_image_classifier(image_classifier_run).classify("a.png")
    with pytest.raises(InputError):
        load_image_classifier(tmp_path)
