import json
import shutil

import pytest

from tests.image_run import draw_line, small_lines, write_images
from trimtab.config.corpora import TrainCorpus
from trimtab.errors import InputError
from trimtab.tasks.images.sources import image_files, open_images

LINES = small_lines(4)


def opened(path):
    files = TrainCorpus.model_validate({"images": str(path)})
    return open_images(files, key="data.train.0", seed=1, normalization="nfc")


def as_tsv(folder):
    return write_images(folder, LINES)


def as_folder(folder):
    return write_images(folder, LINES).parent


def as_paddle(folder):
    write_images(folder / "images", LINES)
    shutil.move(folder / "images" / "labels.tsv", folder / "rec_gt_train.txt")
    return folder


def as_jsonl(folder):
    write_images(folder, LINES)
    rows = [json.dumps({"image": f"{number}.png", "text": text}) for number, text in enumerate(LINES)]
    (folder / "lines.jsonl").write_text("\n".join(rows) + "\n")
    return folder / "lines.jsonl"


def as_doctr(folder):
    write_images(folder / "images", LINES)
    (folder / "labels.json").write_text(
        json.dumps({f"{number}.png": text for number, text in enumerate(LINES)})
    )
    return folder


def beside(folder):
    folder.mkdir()
    for number, text in enumerate(LINES):
        draw_line(text).save(folder / f"{number}.png")
        (folder / f"{number}.gt.txt").write_text(text + "\n")
    return folder


@pytest.mark.parametrize("form", [as_tsv, as_folder, as_paddle, as_jsonl, as_doctr, beside])
def test_five_forms_hold_the_same(form, tmp_path, own_cache):
    corpus = opened(form(tmp_path / "set"))
    assert [corpus.pair(line)[1] for line in range(len(corpus))] == LINES
    assert all(corpus.path_of(corpus.corpus.pair(line)[0]).exists() for line in range(len(corpus)))
    assert [text for text, _ in corpus.texts()] == LINES


def test_a_label_without_image_is_named_and_counted(tmp_path, own_cache):
    labels = as_tsv(tmp_path / "set")
    labels.write_text(labels.read_text() + "gone.png\tabc\nalso_gone.png\tabc\n")
    with pytest.raises(InputError) as error:
        opened(labels)
    assert "labels.tsv:5: 'gone.png' cannot be found" in str(error.value)
    assert "2 of 6 images are missing" in str(error.value)


def test_images_and_texts_that_stand_alone_are_named(tmp_path):
    folder = beside(tmp_path / "set")
    (folder / "0.gt.txt").unlink()
    (folder / "1.png").unlink()
    with pytest.raises(InputError) as error:
        opened(folder)
    assert "0.png: an image without a text" in str(error.value)
    assert "1.gt.txt: a text without an image" in str(error.value)


def test_two_images_of_one_text_are_refused_and_none_is_dropped(tmp_path):
    folder = beside(tmp_path / "set")
    shutil.copy(folder / "0.png", folder / "0.jpg")
    with pytest.raises(InputError, match=r"two images share a text(.|\n)*0\.jpg and 0\.png"):
        opened(folder)


@pytest.mark.parametrize(
    "content", ['{"a.png": "\\ud800"}', "[]", "{}", '{"a.png": 3}', "no json", "[" * 100000]
)
def test_labels_that_are_none_are_refused(tmp_path, content):
    (tmp_path / "labels.json").write_text(content)
    with pytest.raises(InputError, match="no labels of images"):
        opened(tmp_path)


def test_a_folder_without_a_list_and_a_path_that_is_none_are_refused(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match=r"data\.train\.0: "):
            opened(path)
        with pytest.raises(InputError):
            image_files([path])


def test_a_folder_as_data_render_writes_it_gives_its_images(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "labels.tsv").write_text("images/a.png\ta\n")
    (tmp_path / "images" / "a.png").write_bytes(b"")
    assert image_files([tmp_path]) == [tmp_path / "images" / "a.png"]


def test_other_images_or_texts_are_another_corpus(tmp_path, own_cache):
    labels = as_tsv(tmp_path / "set")
    before = opened(labels).fingerprint
    assert opened(labels).fingerprint == before
    draw_line("a much longer line").save(labels.parent / "0.png")
    assert opened(labels).fingerprint != before
