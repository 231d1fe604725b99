from tests.for_each import for_each
from trimtab.watch.data_wait import FIRST_STEPS, SHORTEST, DataWait


def after(stretches, **each):
    watch = DataWait()
    watch.add(steps=FIRST_STEPS, seconds=500.0, waited=400.0)  # files are opened, kernels compiled
    for _ in range(stretches):
        watch.add(**each)
    return watch


def test_a_loop_that_waits_for_its_data_is_told_how_much():
    found = after(10, steps=100, seconds=10.0, waited=4.0).look()
    assert (found.code, found.severity) == ("P901", "warning")
    assert "40% of the last 100 seconds" in found.message
    assert "data.workers" in found.fix


def test_the_first_steps_do_not_count():
    watch = DataWait()
    watch.add(steps=FIRST_STEPS, seconds=500.0, waited=400.0)
    assert (watch.share, watch.look()) == (0.0, None)


@for_each(
    ("stretches", "waited"),
    [(10, 0.9), (10, 1.0), (10, 0.0), (5, 9.0)],  # little; the bound; nothing; a short stretch
)
def test_little_waiting_and_a_short_stretch_are_not_told(stretches, waited):
    assert after(stretches, steps=100, seconds=10.0, waited=waited).look() is None


def test_a_loop_that_waits_for_data_while_the_gpu_works_loses_nothing():
    # Ten steps of 50 ms on the GPU; data comes every 30 ms, so the loop waits for it, and then for the GPU.
    watch = after(200, steps=10, seconds=0.5, waited=0.2, device=0.2)
    assert (watch.share, watch.look()) == (0.0, None)
    # Data every 80 ms: the GPU is idle, and the loop waits for it only after the last step.
    assert after(200, steps=10, seconds=0.8, waited=0.7, device=0.05).look().code == "P901"


def test_what_was_told_holds_until_a_long_stretch_says_otherwise():
    watch = after(10, steps=100, seconds=10.0, waited=4.0)
    assert watch.look().code == "P901"
    watch.add(steps=10, seconds=SHORTEST / 2, waited=0.0)
    assert watch.look().code == "P901"
    watch.add(steps=10, seconds=SHORTEST / 2, waited=0.0)
    assert watch.look() is None
