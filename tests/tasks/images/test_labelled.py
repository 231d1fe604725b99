import json

import numpy as np
import pytest
from PIL import Image

from tests.diffusion_run import write_shapes
from trimtab.config.corpora import TrainCorpus
from trimtab.config.images import ImageConfig
from trimtab.errors import InputError
from trimtab.tasks.images.labelled import labels_in, open_pictures, squared
from trimtab.tasks.images.pixels import BadImage


def opened(path):
    files = TrainCorpus.model_validate({"images": str(path)})
    return open_pictures(files, key="data.train.0", seed=1)


def test_subfolders_are_classes_and_a_folder_alone_has_none(tmp_path):
    write_shapes(tmp_path / "by_class", 2)
    corpus = opened(tmp_path / "by_class")
    assert [*labels_in(corpus)] == ["disk", "disk", "square", "square"]
    assert corpus.name == "by_class"
    assert corpus.place(0).endswith("disk/000.png")
    assert [*labels_in(opened(tmp_path / "by_class" / "disk"))] == ["", ""]


def test_images_deeper_in_the_folder_of_a_class_are_of_it(tmp_path):
    write_shapes(tmp_path / "all", 1)
    (tmp_path / "all" / "disk" / "more").mkdir()
    Image.new("L", (16, 16)).save(tmp_path / "all" / "disk" / "more" / "x.PNG")
    assert [*labels_in(opened(tmp_path / "all"))] == ["disk", "disk", "square"]


def test_a_class_may_be_called_like_an_image(tmp_path):
    write_shapes(tmp_path, 1)
    (tmp_path / "disk").rename(tmp_path / "disk.png")
    assert [*labels_in(opened(tmp_path))] == ["disk.png", "square"]


@pytest.mark.parametrize("name", ["labels.tsv", "labels.jsonl", "text.jsonl"])
def test_a_list_names_images_and_their_labels(tmp_path, name):
    write_shapes(tmp_path, 1)
    pairs = [("disk/000.png", "round one"), ("square/000.png", "édge")]
    lines = (
        [f"{image}\t{label}" for image, label in pairs]
        if name.endswith("tsv")
        else [json.dumps({"image": i, "text" if name == "text.jsonl" else "label": t}) for i, t in pairs]
    )
    (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert [*labels_in(opened(tmp_path / name))] == ["round one", "édge"]
    if name.startswith("labels"):
        assert [*labels_in(opened(tmp_path))] == ["round one", "édge"]


def test_what_leaves_open_the_class_of_an_image_is_refused(tmp_path):
    write_shapes(tmp_path / "mixed", 1)
    Image.new("L", (16, 16)).save(tmp_path / "mixed" / "loose.png")
    with pytest.raises(InputError, match=r"data.train.0: .*images beside folders"):
        opened(tmp_path / "mixed")
    write_shapes(tmp_path / "empty", 1)
    (tmp_path / "empty" / "triangle").mkdir()
    with pytest.raises(InputError, match="triangle: the folder of a class without images"):
        opened(tmp_path / "empty")
    (tmp_path / "nothing").mkdir()
    with pytest.raises(InputError, match="no images"):
        opened(tmp_path / "nothing")
    with pytest.raises(InputError, match="missing"):
        opened(tmp_path / "missing")


@pytest.mark.parametrize(
    "image",
    [
        Image.new("L", (40, 20), 90),
        Image.new("RGBA", (20, 40), (255, 0, 0, 128)),
        Image.new("P", (33, 33), 3),
        Image.new("CMYK", (8, 9), (10, 20, 30, 40)),
        Image.fromarray(np.full((30, 20), 40_000, np.uint16)),
        Image.new("1", (20, 20), 1),
        Image.new("LA", (5, 7), (100, 50)),
    ],
    ids=lambda image: image.mode,
)
@pytest.mark.parametrize("channels", ["grey", "rgb"])
@pytest.mark.parametrize("fit", ["crop", "longest"])
def test_any_kind_of_image_becomes_a_square(tmp_path, image, channels, fit):
    suffix = "tif" if image.mode in ("CMYK", "I;16") else "png"
    image.save(tmp_path / f"x.{suffix}")
    config = ImageConfig(fit=fit, size=16, channels=channels, augment=None)
    found, label = opened(tmp_path).image(0, config, np.random.default_rng(1))
    pixels = squared(found, config)
    assert pixels.shape == (16, 16, config.num_channels)
    assert pixels.dtype == np.uint8
    assert label == ""


def test_the_square_is_the_middle_of_a_wide_image_or_has_margins_like_its_edge():
    wide = np.full((16, 48), 50, np.uint8)
    wide[:, 16:32] = 200
    image = Image.fromarray(wide)
    given = {"size": 16, "channels": "grey", "augment": None}
    assert (squared(image, ImageConfig(fit="crop", **given)) == 200).mean() > 0.9
    whole = squared(image, ImageConfig(fit="longest", **given))[..., 0]
    assert (whole[:4] == 50).all()
    assert (whole[-4:] == 50).all()
    assert whole[8, 8] == 200


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (lambda path: path.write_bytes(b"no image"), "unreadable image"),
        (lambda path: Image.new("L", (1, 1)).save(path), "too small"),
        (lambda path: Image.new("1", (9000, 9000)).save(path), "too many pixels"),
    ],
    ids=["damaged", "one pixel", "bomb"],
)
def test_what_cannot_be_learned_from_is_told(tmp_path, write, reason):
    write(tmp_path / "x.png")
    with pytest.raises(BadImage, match=reason):
        opened(tmp_path).image(0, ImageConfig(fit="crop", augment=None), np.random.default_rng(1))


def test_an_image_is_turned_upright_as_its_exif_data_say(tmp_path):
    pixels = np.zeros((16, 16), np.uint8)
    pixels[:4] = 255
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    Image.fromarray(pixels).save(tmp_path / "x.jpg", exif=exif, quality=95)
    config = ImageConfig(fit="crop", size=16, channels="grey", augment=None)
    found, _ = opened(tmp_path).image(0, config, np.random.default_rng(1))
    upright = squared(found, config)[..., 0]
    assert upright[:4].mean() < 20
    assert upright[-4:].mean() > 235
