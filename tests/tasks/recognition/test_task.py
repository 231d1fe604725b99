import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from tests.image_run import draw_line, image_recipe, image_sources, small_lines, write_images
from tests.short_run import model_sha
from trimtab.build import build
from trimtab.checkpoint.journal import read_journal
from trimtab.errors import InputError
from trimtab.launch import train
from trimtab.replaying.replay import replay
from trimtab.tasks.recognition.checks import data_checks, image_is_the_same_alone, images_are_apart
from trimtab.tasks.recognition.recognizer import load_recognizer
from trimtab.tasks.recognition.scoring import confusions, found_in, score_list
from trimtab.tasks.recognition.task import RECOGNITION, take_weights
from trimtab.tasks.task import Batching, ComputesLoss, Datasets
from trimtab.training.preflight import preflight


def test_what_it_gives_a_run_is_what_every_run_asks_for(parts):
    assert parts.task is RECOGNITION
    assert isinstance(parts.datasets, Datasets)
    assert isinstance(parts.batching, Batching)
    assert isinstance(parts.stepper.loss, ComputesLoss)


@pytest.mark.parametrize("which", ["opened", "opened_both"])
def test_no_check_before_the_first_step_finds_anything(which, request):
    parts = build(*request.getfixturevalue(which))
    assert [f"{each.code} {each.message}" for each in preflight(parts)] == []


def test_the_checks_see_images_that_leak_into_others(parts):
    def leaking(patches):
        memory = parts.model.vision(patches, padded=True)
        return memory + memory.mean(0)

    parts.model.read = leaking
    assert [each.code for each in images_are_apart(parts)] != []
    assert [each.code for each in image_is_the_same_alone(parts)] != []


def test_a_run_that_resumes_and_a_replay_end_with_the_same_bits(image_run, tmp_path):
    folder = tmp_path / "again"
    recipe = image_recipe(folder, **{"model.head": "both"})
    run = folder / "run"
    train(recipe, out=run, overrides=["length=3 steps"])
    train(recipe, out=run, resume=True)
    assert model_sha(run, 6) == model_sha(image_run, 6)
    assert replay(image_run, step=4).fault == "no_spike"


def test_what_cannot_be_read_is_counted_with_its_line_and_in_a_validation_set_an_error(tmp_path, own_cache):
    recipe = image_recipe(tmp_path, length="2 steps")
    (tmp_path / "train" / "3.png").write_bytes(b"damaged")
    Image.new("L", (1, 1)).save(tmp_path / "train" / "5.png")
    Image.new("L", (4, 40)).save(tmp_path / "train" / "7.png")  # too narrow for its characters
    run = train(recipe, out=tmp_path / "run", overrides=["length=2 epochs"]).run
    (ledger,) = json.loads((run / "data_ledger.json").read_text())["corpora"]
    lines = {reason: each["lines"] for reason, each in ledger["dropped"].items()}
    assert lines == {
        "more characters than CTC has columns for": [8],
        "too small": [6],
        "unreadable image": [4],
    }
    (tmp_path / "dev" / "2.png").write_bytes(b"damaged")
    with pytest.raises(InputError) as error:
        train(recipe, out=tmp_path / "other")
    assert "data.valid: " in str(error.value)
    assert "labels.tsv:3: unreadable image" in str(error.value)


def test_characters_of_a_validation_set_that_cannot_be_written_are_reported(tmp_path, own_cache):
    image_recipe(tmp_path)
    write_images(tmp_path / "dev", ["abc", "xé1"])
    recipe, datasets = image_sources_of(tmp_path)
    (found,) = data_checks(build(recipe, datasets))
    assert found.code == "D201"
    assert "2 of the 6 characters" in found.message
    assert "LATIN SMALL LETTER E WITH ACUTE" in found.message


def image_sources_of(folder):
    """The recipe and the data of a folder that `image_recipe` wrote, as it is."""
    from trimtab.config.load import load_recipe
    from trimtab.config.paths import resolve_paths
    from trimtab.progress import Silent
    from trimtab.tasks.task_of import open_datasets

    recipe = resolve_paths(load_recipe(folder / "recipe.yaml"))
    return recipe, open_datasets(recipe, tokenizer_folder=folder / "tokenizer", progress=Silent())


def test_rendered_lines_are_trained_on_and_every_chunk_is_a_function_of_its_place(tmp_path, own_cache):
    from PIL import ImageFont

    (tmp_path / "font.ttf").write_bytes(ImageFont.load_default(20).font_bytes)
    (tmp_path / "lines.txt").write_text("\n".join(small_lines(40)) + "\n")
    drawn = {"text": "lines.txt", "render": {"fonts": ["font.ttf"]}}
    _, datasets = image_sources(tmp_path, **{"data.train": [drawn], "data.valid": drawn})
    one, other = (datasets.feed.chunk(start=128, count=9) for _ in range(2))
    assert np.array_equal(one.source.values, other.source.values)
    assert not np.array_equal(datasets.feed.chunk(start=256, count=9).source.values, one.source.values)
    assert image_sources_of(tmp_path)[1].fingerprints == datasets.fingerprints


def test_a_recognizer_reads_files_arrays_and_images_alike(image_run, tmp_path):
    recognizer = load_recognizer(image_run)
    image = draw_line("123")
    path = tmp_path / "a.png"
    image.save(path)
    given = [path, str(path), path.read_bytes(), image, np.asarray(image)]
    found = list(recognizer.recognize(given))
    assert len({(each.text, round(each.confidence, 5)) for each in found}) == 1
    assert [each.image for each in found] == [str(path), str(path), "", "", ""]
    bad = list(recognizer.recognize([path, b"none", np.zeros((3, 3, 7), np.uint8), tmp_path / "gone.png"]))
    assert [bool(each.error) for each in bad] == [False, True, True, True]
    with pytest.raises(InputError, match="one image in place of a list"):
        recognizer.recognize(path)
    for head in ("ctc", "attention"):
        assert load_recognizer(image_run, head=head).head == head


def test_a_recognizer_of_another_task_or_with_other_characters_is_refused(image_run, tmp_path):
    run = shutil.copytree(image_run, tmp_path / "run")
    charset = run / "tokenizer" / "charset.json"
    charset.write_text(charset.read_text().replace('"a"', '"z"'))
    with pytest.raises(InputError, match="not the characters"):
        load_recognizer(run)
    charset.unlink()
    with pytest.raises(InputError):
        load_recognizer(run)
    with pytest.raises(InputError, match="cannot start from"):
        take_weights(None, None, None, name="runs/x")


def test_a_run_writes_readings_with_their_references(image_run):
    evaluations = read_journal(image_run / "evaluations.jsonl")
    assert {"cer", "wer", "exact", "loops", "loss"} <= evaluations[-1].keys()
    (first, *_) = read_journal(image_run / "samples.jsonl")
    assert first["reference"] == small_lines(12, seed=2)[0]
    assert "output" in first


def test_scores_of_a_list_name_what_is_mistaken_for_what(image_run, tmp_path):
    labels = write_images(tmp_path / "set", ["12", "ab"])
    (tmp_path / "set" / "1.png").write_bytes(b"damaged")
    found = score_list(load_recognizer(image_run), [labels])
    assert found.images == 2
    assert len(found.unreadable) == 1
    assert found.scores.keys() == {"cer", "wer", "exact", "loops"}
    assert "could not be opened" in found.render()
    with pytest.raises(InputError, match="one list"):
        score_list(load_recognizer(image_run), [labels, labels])


def test_confusions_are_those_of_a_shortest_alignment():
    assert dict(found_in("lllo", "11lo")) == {("l", "1"): 2}
    assert dict(found_in("abc", "ac")) == {("b", ""): 1}
    assert dict(found_in("ac", "abc")) == {("", "b"): 1}
    (first, *_) = confusions(["l1", "ll", "same"], ["11", "11", "same"])
    assert (first.written, first.read, first.count) == ("l", "1", 3)


@pytest.mark.slow
def test_ctc_reads_a_small_set_without_an_error(tmp_path, own_cache):
    recipe = image_recipe(
        tmp_path,
        **{"model": {"kind": "vision", "dim": 32, "heads": 2, "layers": 1, "feed_forward": 64, "patch": [16, 4],
                     "dropout": 0.0},
           "step.tokens_per_step": 256, "length": "400 steps", "evaluate.every": "100 steps",
           "checkpoint.every": "400 steps", "data.valid": {"images": "train"}},
    )  # fmt: skip
    result = train(recipe, out=tmp_path / "run")
    assert read_journal(result.run / "evaluations.jsonl")[-1]["cer"] == 0


def test_a_loss_that_is_not_finite_ends_in_no_text(opened):
    parts = build(*opened)
    with torch.no_grad():
        parts.model.ctc.output.weight.fill_(torch.nan)
    assert np.isnan(RECOGNITION.validation.loss_of(parts, parts.model, parts.datasets.valid["valid"]))
