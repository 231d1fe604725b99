from trimtab.serving.counters import REMEMBERED, Counters, percentile


def test_counts_and_times_are_what_was_counted():
    counters = Counters()
    for seconds in range(10):
        counters.answered(200, seconds=float(seconds))
    counters.answered(413, seconds=99.0)
    counters.batch(lines=3, tokens=30)
    counters.computed(0.5)
    counters.batch(lines=5, tokens=50)
    counters.computed(0.25)
    found = counters.to_dict()
    assert found["requests"]["answered"] == {"200": 10, "413": 1}
    assert found["latency_s"] == {"p50": 5.0, "p95": 9.0}
    assert (found["batches"], found["lines"], found["tokens"], found["model_s"]) == (2, 8, 80, 0.75)
    assert found["lines_per_batch"] == 4.0


def test_old_times_are_forgotten_so_that_memory_stays_flat():
    counters = Counters()
    for _ in range(3 * REMEMBERED):
        counters.answered(200, seconds=7.0)
    assert len(counters._latest) == REMEMBERED


def test_nothing_has_no_percentile():
    assert percentile([], 0.5) == 0.0
    assert percentile([1.0], 0.99) == 1.0
