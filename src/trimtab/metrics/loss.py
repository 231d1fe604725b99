"""The loss itself, which is always measured."""

from trimtab.metrics.metric import LossMetric

LOSS = LossMetric(
    name="loss",
    label="loss",
    about="nats per token",
    compute=lambda nats: nats.per_token,
    digits=3,
    fine_digits=4,
    of_texts=False,
)
