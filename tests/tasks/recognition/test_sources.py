import json
import shutil
import unicodedata

import pytest

from tests.image_run import draw_line, image_recipe, small_lines, write_images
from trimtab.config.corpora import TrainCorpus
from trimtab.config.images import CharsetConfig
from trimtab.errors import InputError
from trimtab.tasks.recognition.charset import Charset, described, load_charset, prepare_charset
from trimtab.tasks.recognition.sources import image_files, open_images

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


@pytest.mark.parametrize("content", ["[]", "{}", '{"a.png": 3}', "no json", "[" * 100000])
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


def test_other_images_or_texts_are_another_corpus(tmp_path, own_cache):
    labels = as_tsv(tmp_path / "set")
    before = opened(labels).fingerprint
    assert opened(labels).fingerprint == before
    draw_line("a much longer line").save(labels.parent / "0.png")
    assert opened(labels).fingerprint != before


def test_characters_are_those_of_the_texts_in_one_form(tmp_path):
    texts = [("cafe\u0301", "a:1"), ("na\u00efve", "a:2")]
    charset = prepare_charset(CharsetConfig(), texts, folder=tmp_path)
    assert charset == load_charset(tmp_path)
    assert "\u00e9" in charset.characters
    assert "\u0301" not in charset.characters
    (row,) = charset.encode(["cafe\u0301"])
    assert charset.decode([row]) == ["caf\u00e9"]
    assert charset.encode(["?"]) == [[charset.unknown, charset.end]]
    assert charset.unknown_in("a?") == {"?"}


def test_a_character_that_a_file_lacks_is_named_with_count_and_place(tmp_path):
    (tmp_path / "set.txt").write_text("a\nb\n", encoding="utf-8")
    config = CharsetConfig(file=str(tmp_path / "set.txt"))
    with pytest.raises(InputError) as error:
        prepare_charset(config, [("ab", "x:1"), ("aé éb", "x:2")], folder=tmp_path / "run")
    assert "x:2" in str(error.value)
    assert described("é") in str(error.value)
    assert "2 times" in str(error.value)
    kept = prepare_charset(config, [("ab", "x:1")], folder=tmp_path / "run")
    assert kept.characters == (" ", "a", "b")
    with pytest.raises(InputError, match="not in this run"):
        prepare_charset(CharsetConfig(), [("abc", "x:1")], folder=tmp_path / "run")


@pytest.mark.parametrize("content", [b"", b"ab\n", b"\xff\n"])
def test_a_file_that_lists_no_characters_is_refused(tmp_path, content):
    (tmp_path / "set.txt").write_bytes(content)
    with pytest.raises(InputError, match=r"set\.txt"):
        prepare_charset(
            CharsetConfig(file=str(tmp_path / "set.txt")), [("a", "x:1")], folder=tmp_path / "run"
        )


@pytest.mark.parametrize("content", ["", "[]", '{"characters": ["ab"], "normalization": "nfc"}', "{}"])
def test_damaged_characters_of_a_run_are_refused(tmp_path, content):
    (tmp_path / "charset.json").write_text(content)
    with pytest.raises(InputError, match="no list of characters"):
        load_charset(tmp_path)


def test_every_letter_comes_back(tmp_path):
    letters = "".join(chr(code) for code in range(0x20, 0x250) if unicodedata.category(chr(code)) != "Cc")
    charset = Charset(tuple(sorted(set(unicodedata.normalize("NFC", letters)))), "nfc")
    assert charset.decode(charset.encode([letters])) == [unicodedata.normalize("NFC", letters)]


def test_a_recipe_names_what_contradicts_the_task(tmp_path):
    from trimtab.config.load import load_recipe

    wrong = {
        "data.tokenizer": {"kind": "bytes"},
        "loss": {"label_smoothing": 0.1},
        "model.patch": [32, 4],
        "step.cuda_graph": "on",
        "export": ["onnx"],
        "data.transforms": [{"kind": "normalize"}],
    }
    with pytest.raises(InputError) as error:
        load_recipe(image_recipe(tmp_path, **wrong))
    for key in (
        "data.tokenizer",
        "loss.label_smoothing",
        "model.patch",
        "step.cuda_graph",
        "export",
        "data.transforms.0",
    ):
        assert f"{key}: " in str(error.value)
    with pytest.raises(InputError, match="reads no images"):
        load_recipe(
            image_recipe(tmp_path, task="translation", model={"kind": "encoder_decoder", "preset": "tiny"})
        )
