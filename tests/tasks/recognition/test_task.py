import random
import string

import pytest

from tests.image_run import image_recipe, write_images
from tests.short_run import model_sha
from trimtab.build import build
from trimtab.checkpoint.journal import read_journal
from trimtab.launch import train
from trimtab.replaying.replay import replay
from trimtab.tasks.recognition.task import RECOGNITION
from trimtab.tasks.task import Batching, ComputesLoss, Datasets
from trimtab.training.preflight import preflight

pytestmark = pytest.mark.usefixtures("checks_of_data_only")
SMALL = {
    "kind": "vision",
    "dim": 32,
    "heads": 2,
    "layers": 1,
    "feed_forward": 64,
    "patch": [16, 4],
    "dropout": 0.0,
}


def test_what_it_gives_a_run_is_what_every_run_asks_for(parts):
    assert parts.task is RECOGNITION
    assert isinstance(parts.datasets, Datasets)
    assert isinstance(parts.batching, Batching)
    assert isinstance(parts.stepper.loss, ComputesLoss)


@pytest.mark.quick("opened")
@pytest.mark.parametrize("which", ["opened", "opened_both"])
def test_no_check_before_the_first_step_finds_anything(which, request):
    parts = build(*request.getfixturevalue(which))
    assert [f"{each.code} {each.message}" for each in preflight(parts)] == []


@pytest.mark.slow
def test_a_run_that_resumes_and_a_replay_end_with_the_same_bits(image_run, tmp_path):
    folder = tmp_path / "again"
    recipe = image_recipe(folder, **{"model.head": "both"})
    run = folder / "run"
    train(recipe, out=run, overrides=["length=3 steps"])
    train(recipe, out=run, resume=True)
    assert model_sha(run, 6) == model_sha(image_run, 6)
    assert replay(image_run, step=4).fault == "no_spike"


def test_ctc_learns_to_read_lines_that_it_has_not_seen(tmp_path, own_cache):
    """In five seconds of one core: after 40 steps it still writes nothing, as CTC begins."""
    recipe = image_recipe(
        tmp_path,
        **{"model": SMALL, "step.tokens_per_step": 256, "step.optimizer.learning_rate": 0.006, "length": "160 steps",
           "evaluate.every": "40 steps", "checkpoint.every": "160 steps"},
    )  # fmt: skip
    result = train(recipe, out=tmp_path / "run")
    rates = [each["cer"] for each in read_journal(result.run / "evaluations.jsonl")]
    assert rates[0] > 0.9
    assert rates[-1] < 0.1


@pytest.mark.slow
def test_ctc_reads_lines_of_words_after_a_minute_on_two_cores(tmp_path, own_cache):
    """2,000 lines of up to four words of 65 characters; of 40 others three characters of four are right in the end."""
    for part, count in (("train", 2000), ("dev", 40)):
        write_images(tmp_path / part, lines_of_words(count, seed=count))
    changes = {
        "model": SMALL | {"dim": 64, "heads": 4, "layers": 2, "feed_forward": 192},
        "data.images.max_width": 384,
        "data.max_tokens": 40,
        "step.tokens_per_step": 512,
        "step.optimizer.learning_rate": 0.004,
        "step.schedule": {"kind": "cosine", "warmup": "40 steps"},
    }
    long = [f"{key}=500 steps" for key in ("length", "checkpoint.every", "evaluate.every")]
    recipe = image_recipe(tmp_path / "other", **changes)
    places = [f"data.train=[{{images: {tmp_path / 'train'}}}]", f"data.valid={{images: {tmp_path / 'dev'}}}"]
    result = train(recipe, out=tmp_path / "run", overrides=[*long, *places])
    assert [*read_journal(result.run / "evaluations.jsonl")][-1]["cer"] < 0.35


def lines_of_words(count, *, seed):
    """Two to four words of up to seven characters each."""
    draw, letters = random.Random(seed), string.ascii_letters + string.digits + ".,-"
    return [
        " ".join("".join(draw.choices(letters, k=draw.randint(1, 7))) for _ in range(draw.randint(2, 4)))
        for _ in range(count)
    ]
