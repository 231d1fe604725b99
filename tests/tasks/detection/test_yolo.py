import pytest
from PIL import Image

from trimtab.errors import InputError
from trimtab.tasks.detection.annotations import CUT_OFF, EMPTY, NO_IMAGE, NOT_NUMBERS, OUTSIDE, UNKNOWN
from trimtab.tasks.detection.yolo import label_of, read_yolo


@pytest.fixture
def folder(tmp_path):
    for split in ("train", "val"):
        (tmp_path / "images" / split).mkdir(parents=True)
        (tmp_path / "labels" / split).mkdir(parents=True)
        for name in "ab":
            Image.new("RGB", (40, 20)).save(tmp_path / "images" / split / f"{name}.png")
    (tmp_path / "labels" / "train" / "a.txt").write_text("1 0.5 0.5 0.5 0.4\n0 0.25 0.5 0.1 0.1\n")
    (tmp_path / "data.yaml").write_text(
        "path: .\ntrain: images/train\nval: images/val\nnames: {0: red, 1: blue}\n"
    )
    return tmp_path


def test_data_yaml_names_images_and_categories(folder):
    found = read_yolo(folder / "data.yaml", "train")
    assert found.names == ("red", "blue")
    boxes, kinds = found.of(0)
    assert boxes[0].tolist() == pytest.approx([0.25, 0.3, 0.75, 0.7])
    assert kinds.tolist() == [1, 0]
    assert found.without_boxes == 1
    assert len(read_yolo(folder, "val")) == 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("7 0.5 0.5 0.2 0.2", UNKNOWN),
        ("-1 0.5 0.5 0.2 0.2", UNKNOWN),
        ("0 0.5 0.5 0.2", NOT_NUMBERS),
        ("zero 0.5 0.5 0.2 0.2", NOT_NUMBERS),
        ("0 nan 0.5 0.2 0.2", NOT_NUMBERS),
        ("0 0.5 0.5 0 0.2", EMPTY),
        ("0 20 10 0.5 0.5", OUTSIDE),
    ],
)
def test_a_line_that_cannot_be_used_is_counted_with_its_place(folder, line, reason):
    (folder / "labels" / "train" / "b.txt").write_text(f"0 0.5 0.5 0.2 0.2\n{line}\n")
    found = read_yolo(folder, "train")
    assert found.faults.counts == {reason: 1}
    assert "b.txt:2" in found.faults.places[reason][0]
    assert len(found.of(1)[0]) == 1


def test_polygons_count_as_the_box_around_them_and_boxes_over_the_edge_are_cut(folder):
    (folder / "labels" / "train" / "b.txt").write_text("0 0.1 0.2 0.5 0.2 0.3 0.9\n1 0.9 0.5 0.4 0.2\n")
    found = read_yolo(folder, "train")
    assert found.of(1)[0][0].tolist() == pytest.approx([0.1, 0.2, 0.5, 0.9])
    assert found.of(1)[0][1].tolist() == pytest.approx([0.7, 0.4, 1.0, 0.6])
    assert found.faults.counts == {CUT_OFF: 1}


def test_labels_without_an_image_are_counted(folder):
    (folder / "labels" / "train" / "lost.txt").write_text("0 0.5 0.5 0.2 0.2\n")
    assert read_yolo(folder, "train").faults.counts == {NO_IMAGE: 1}


def test_a_folder_without_data_yaml_has_images_and_classes_txt(folder):
    (folder / "data.yaml").unlink()
    (folder / "classes.txt").write_text("red\nblue\n")
    assert read_yolo(folder, "train").names == ("red", "blue")
    assert len(read_yolo(folder, "train")) == 4


@pytest.mark.parametrize(
    "text",
    ["", "names: 3\ntrain: images/train\n", "train: nowhere\n", "val: images/val\n", "- a\n", "a: [\n"],
)
def test_a_data_yaml_that_cannot_be_right_is_refused(folder, text):
    (folder / "data.yaml").write_text(text)
    with pytest.raises(InputError):
        read_yolo(folder / "data.yaml", "train")


def test_the_last_folder_of_the_path_called_images_has_the_labels_beside_it(tmp_path):
    assert (
        label_of(tmp_path / "images" / "x" / "images" / "a.png")
        == tmp_path / "images" / "x" / "labels" / "a.txt"
    )
    assert label_of(tmp_path / "a.png") == tmp_path / "a.txt"
