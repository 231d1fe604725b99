import pytest
from PIL import Image

from tests.for_each import for_each
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
    assert len(read_yolo(folder, "val")) == 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("7 0.5 0.5 0.2 0.2", UNKNOWN),
        ("-1 0.5 0.5 0.2 0.2", UNKNOWN),
        ("0 0.5 0.5 0.2", NOT_NUMBERS),
        ("zero 0.5 0.5 0.2 0.2", NOT_NUMBERS),
        ("0 nan 0.5 0.2 0.2", NOT_NUMBERS),
        ("0.5 0.5 0.5 0.2 0.2", NOT_NUMBERS),
        ("inf 0.5 0.5 0.2 0.2", NOT_NUMBERS),
        ("1e300 0.5 0.5 0.2 0.2", UNKNOWN),
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


def test_a_category_without_a_name_has_a_number_of_a_size_that_can_be(folder):
    (folder / "data.yaml").write_text("train: images/train\nval: images/val\n")
    (folder / "labels" / "train" / "b.txt").write_text("2 0.5 0.5 0.2 0.2\n1e12 0.5 0.5 0.2 0.2\n")
    found = read_yolo(folder, "train")
    assert found.names == ("0", "1", "2")
    assert found.faults.counts == {UNKNOWN: 1}


def test_a_byte_order_mark_is_no_part_of_the_first_box(folder):
    (folder / "labels" / "train" / "b.txt").write_bytes(b"\xef\xbb\xbf1 0.5 0.5 0.2 0.2\n")
    assert read_yolo(folder, "train").of(1)[1].tolist() == [1]


@for_each(
    ("told", "said"),
    [
        ("names: [red, red]", "two categories have the same name"),
        ("names: [red, null]", "a category has no name"),
        ("names: [red, ' ']", "a category has no name"),
        ("names: [red]\ntrain: []", "does not exist"),
        (f"names: [red]\ntrain: {'x' * 5000}", "does not exist"),
        ("names: [red]\ntrain: list.txt", "none.png; 1 of 2 images are missing"),
        ("names: [red]\ntrain: long.txt", "1 of 1 images are missing"),
    ],
)
def test_names_and_images_that_cannot_be_are_refused(folder, told, said):
    (folder / "list.txt").write_text("images/train/a.png\nimages/train/none.png\n")
    (folder / "long.txt").write_text("x" * 5000)
    (folder / "data.yaml").write_text(told if "train:" in told else f"train: images/train\n{told}")
    with pytest.raises(InputError) as error:
        read_yolo(folder / "data.yaml", "train")
    assert said in str(error.value)


@for_each("path", ["~nobody_of_this_name/x", "x" * 5000, "a\\0b"])
def test_a_path_that_is_not_there_is_passed_over(folder, path):
    (folder / "data.yaml").write_text(f'path: "{path}"\ntrain: images/train\nnames: [red, blue]\n')
    assert len(read_yolo(folder, "train")) == 2
