import signal
import threading

import pytest

from tests.short_run import log, model_sha, newest_state
from tests.small_run import small_recipe
from tests.training.small_line import Told
from trimtab.errors import Terminated
from trimtab.launch import train
from trimtab.training.stopping import stopped
from trimtab.types import TrainState

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1]


@pytest.mark.quick("SIGTERM")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda each: each.name)
def test_a_signal_stops_the_run_after_the_step_at_hand_and_it_can_go_on(tmp_path, number):
    recipe = small_recipe(
        tmp_path, **{"length": "12 steps", "evaluate.every": "6 steps", "checkpoint.every": "6 steps"}
    )
    undisturbed, run = train(recipe, out=tmp_path / "undisturbed").run, tmp_path / "run"
    before, during = signal.getsignal(number), []

    def watch(step):
        if step == 8:
            signal.raise_signal(number)
            during.append(signal.getsignal(number))

    with pytest.raises(Terminated, match="after step 8; continue with --resume") as caught:
        train(recipe, out=run, progress=Told(watch=watch))
    assert caught.value.exit_code == {signal.SIGINT: 130, signal.SIGUSR1: 99}.get(number, 143)
    assert during == [signal.SIG_DFL]  # a second one ends it at once
    assert signal.getsignal(number) == before
    assert newest_state(run).step == 8
    assert train(recipe, out=run, resume=True).state.step == 12
    assert model_sha(run, 12) == model_sha(undisturbed, 12)
    assert log(run, "metrics") == log(undisturbed, "metrics")
    assert log(run, "evaluations") == log(undisturbed, "evaluations")


def test_a_run_outside_of_the_main_thread_leaves_signals_alone(recipe, tmp_path):
    results = []
    thread = threading.Thread(target=lambda: results.append(train(recipe, out=tmp_path / "run")))
    thread.start()
    thread.join()
    assert results[0].state.step == 4


def test_a_run_that_keeps_nothing_does_not_promise_to_go_on():
    assert "--resume" in str(stopped([], TrainState()))
    assert "keeps nothing to continue from" in str(stopped([], TrainState(), keeps=False))
