"""Progress of a run as plain lines, a step every few seconds: what the benchmarks that train print."""

import time

STEP_KEYS = ("step", "loss", "grad_norm", "tokens_per_second", "fill", "micro_batches", "seconds")
SCORE_KEYS = ("step", "set", "loss", "bleu", "chrf", "seconds")


class PlainProgress:
    """See `trimtab.progress.Progress`."""

    def __init__(self, seconds=20.0):
        self.seconds, self.last = seconds, time.perf_counter()

    def message(self, text):
        print(text, flush=True)

    def step(self, metrics, *, share, seconds_left):
        if time.perf_counter() - self.last > self.seconds:
            self.last = time.perf_counter()
            print({key: metrics[key] for key in STEP_KEYS}, flush=True)

    def evaluation(self, scores):
        print({key: scores.get(key) for key in SCORE_KEYS}, flush=True)

    def finding(self, finding):
        print(finding, flush=True)
