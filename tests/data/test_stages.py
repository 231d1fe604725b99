import dataclasses
import hashlib
import itertools

import numpy as np
import pytest

from tests.data.fake_feed import LONGEST, fake_feed
from tests.small_run import small_parts, small_recipe, write_pairs
from trimtab.build import build
from trimtab.checkpoint.journal import read_journal
from trimtab.config.data import DataConfig
from trimtab.data.global_batches import windows
from trimtab.data.loader import chunks
from trimtab.data.stages import Stages, across_stages, plan_stages
from trimtab.launch import train
from trimtab.training.record import Recorder

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

PAIR = {"source": "a", "target": "b"}
STAGED = {
    "data.train": [
        {"name": "ship", "source": "train.en", "target": "train.de"},
        {"name": "boat", "source": "other.en", "target": "other.de"},
    ],
    "data.stages": [
        {"until": "5 steps", "weights": {"boat": 0}},
        {"until": "9 steps", "weights": {"ship": 1, "boat": 3}},
        {"weights": {"ship": 0}},
    ],
}


@dataclasses.dataclass
class Weighed:
    length: int
    weight: float = 1.0
    is_reversed: bool = False

    def __len__(self):
        return self.length


def planned(*stages, corpora=None, temperature=1.0):
    train = [{**PAIR, "name": name} for name in ("ship", "boat")]
    config = DataConfig.model_validate({"train": train, "stages": stages, "temperature": temperature})
    return plan_stages(config, corpora or [Weighed(300), Weighed(100)], seed=1)


def staged_parts(folder, **changes):
    folder.mkdir(parents=True, exist_ok=True)
    write_pairs(folder, "other", [(f"the boat {word}", f"das boot {word}") for word in "abcdefghij"] * 6)
    return small_parts(folder, **STAGED, **changes)


def digest(made):
    """What a window holds, as one short text."""
    content = (made.source.values, made.target.values, made.corpus, made.line, np.array([made.position]))
    return hashlib.sha256(b" ".join(part.tobytes() for part in content)).hexdigest()


def test_without_stages_there_is_one_mixture_which_temperature_evens_out():
    assert planned().mixtures[0].draws == (300, 100)
    assert planned().steps_left(10**9) is None
    assert planned(temperature=2.0).mixtures[0].shares == pytest.approx((0.634, 0.366), abs=2e-3)


def test_a_stage_is_a_function_of_the_step():
    stages = planned({"until": "2 steps", "weights": {"boat": 0}}, {"weights": {"boat": 3.0}})
    assert [stages.at(step).draws for step in (0, 1, 2, 10**6)] == [
        (400, 0),
        (400, 0),
        (200, 200),
        (200, 200),
    ]
    assert [stages.steps_left(step) for step in (0, 1, 2)] == [2, 1, None]


def test_both_directions_of_a_corpus_have_its_weight():
    corpora = [Weighed(100), Weighed(100, is_reversed=True), Weighed(50)]
    stages = planned({"weights": {"ship": 0.5, "boat": 2.0}}, corpora=corpora)
    assert stages.mixtures[0].shares == pytest.approx((0.25, 0.25, 0.5), abs=0.005)


@pytest.mark.parametrize("start", [0, 1, 3, 4, 6])
def test_windows_from_any_step_are_those_of_a_stream_that_was_never_interrupted(start):
    feed = fake_feed()
    mixtures = [feed.mixture.reweighted(weights, temperature=1.0, stage=number)
                for number, weights in enumerate([(1.0, 0.0), (1.0, 4.0), (0.0, 1.0)])]  # fmt: skip
    stages = Stages(tuple(mixtures), (3, 4))
    opened = []

    def open_stream(mixture, position):
        opened.append(mixture)
        return windows(
            chunks(dataclasses.replace(feed, mixture=mixture), from_position=position, workers=0),
            from_position=position,
            tokens_per_step=300,
            max_tokens=LONGEST,
            examples_per_epoch=mixture.examples_per_epoch,
        )

    def made(step, position, count):
        return list(itertools.islice(across_stages(open_stream, stages, step=step, position=position), count))

    whole = made(0, 0, 8)
    assert opened == mixtures
    assert [sorted(set(each.corpus.tolist())) for each in whole] == [[0]] * 3 + [[0, 1]] + [[1]] * 4
    again = made(start, whole[start - 1].position if start else 0, 8 - start)
    assert [digest(each) for each in again] == [digest(each) for each in whole[start:]]


def test_a_stream_that_ends_is_not_begun_again():
    stages = planned({"until": "9 steps", "weights": {"boat": 0}}, {"weights": {"boat": 1}})

    def nothing(mixture, position):
        yield from ()

    assert list(across_stages(nothing, stages, step=0, position=0)) == []


@pytest.mark.quick("2")
@pytest.mark.parametrize("workers", [0, 2])
def test_workers_and_a_run_across_the_boundaries_see_the_windows_of_one_process(tmp_path, workers):
    parts = staged_parts(tmp_path, **{"data.workers": 0})
    whole = [window for window, _ in itertools.islice(parts.stream.host_batches(0), 12)]
    data = parts.recipe.data.model_copy(update={"workers": workers})
    parts = build(parts.recipe.model_copy(update={"data": data}), parts.datasets)
    for start in (0, 4, 5, 7):
        position = whole[start - 1].position if start else 0
        made = itertools.islice(parts.stream.host_batches(position, step=start), 12 - start)
        assert [digest(window) for window, _ in made] == [digest(window) for window in whole[start:]]
    shares = [np.mean(window.corpus == 1) for window in whole]
    assert shares[:5] == [0] * 5
    # 200 lines of weight 1 beside 60 of weight 3.
    assert np.mean(shares[5:9]) == pytest.approx(180 / 380, abs=0.1)
    assert shares[9:] == [1] * 3


@pytest.mark.slow
def test_a_run_that_is_killed_and_goes_on_across_a_boundary_sees_what_an_unbroken_one_sees(
    tmp_path, monkeypatch
):
    staged_parts(tmp_path)
    recipe = small_recipe(
        tmp_path,
        **STAGED,
        **{"length": "12 steps", "evaluate.every": "50 steps", "checkpoint.every": "4 steps"},
    )
    seen = []
    after = Recorder.after

    def watched(self, state, window, packs, report):
        if state.step == dies_at:
            raise KeyboardInterrupt
        seen.append(digest(window))
        return after(self, state, window, packs, report)

    monkeypatch.setattr(Recorder, "after", watched)
    dies_at = None
    train(recipe, out=tmp_path / "whole")
    unbroken = seen.copy()
    dies_at = 6
    with pytest.raises(KeyboardInterrupt):
        train(recipe, out=tmp_path / "run")
    seen.clear()
    dies_at = None
    train(recipe, out=tmp_path / "run", resume=True)
    assert len(unbroken) == 12
    assert seen == unbroken[4:]
    logs = [list(read_journal(tmp_path / name / "metrics.jsonl")) for name in ("whole", "run")]
    assert [line["loss"] for line in logs[0]] == [line["loss"] for line in logs[1]]
