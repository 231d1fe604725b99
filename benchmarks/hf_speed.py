"""How fast Seq2SeqTrainer of Hugging Face trains M2M100: real tokens a second, in windows of time after a warm-up."""

import gc
import statistics
import time

import torch
from hf_translation import arguments, collate, network
from transformers import Seq2SeqTrainer, TrainerCallback

SIZES = {
    "tiny": {"dim": 192, "layers": 2, "heads": 3, "feed_forward": 768},
    "small": {"dim": 256, "layers": 3, "heads": 4, "feed_forward": 1024},
    "base": {"dim": 512, "layers": 6, "heads": 8, "feed_forward": 2048},
    "big": {"dim": 1024, "layers": 6, "heads": 16, "feed_forward": 4096},
}
"""As the presets of trimtab."""
REPETITIONS = 3
RATE = 1e-4
WARM_UP_SECONDS = 20.0
"""Before the first window: in its first seconds a Trainer starts its workers and fills its queues, and windows of a few
steps would measure that."""
SECONDS_OF_A_TRY = 12.0
"""After the warm-up, for each size of a batch that is tried."""


class Counting(Seq2SeqTrainer):
    """Adds up the real tokens that it trains on, on the device, so that nothing waits for the sum."""

    real_tokens = 0

    def training_step(self, model, inputs, *rest, **more):
        self.real_tokens = (
            self.real_tokens + inputs["attention_mask"].sum() + (inputs["labels"] != -100).sum()
        )
        return super().training_step(model, inputs, *rest, **more)


class Windows(TrainerCallback):
    """Reads the counter when a window of time is over, with the device at rest; ends the training after the last."""

    def __init__(self, *, count, seconds, warm_steps, warm_seconds):
        self.count, self.seconds = count, seconds
        self.warm_steps, self.warm_seconds = warm_steps, warm_seconds
        self.trainer, self.rates, self.steps = None, [], 0
        self.begun = self.at = self.tokens = None

    def on_train_begin(self, args, state, control, **rest):
        self.begun = time.perf_counter()

    def on_step_end(self, args, state, control, **rest):
        now = time.perf_counter()
        if self.at is None:
            if state.global_step >= self.warm_steps and now - self.begun >= self.warm_seconds:
                self.at, self.tokens = self.read()
            return
        self.steps += 1
        if now - self.at >= self.seconds:
            at, tokens = self.read()
            self.rates.append((tokens - self.tokens) / (at - self.at))
            self.at, self.tokens = at, tokens
        control.should_training_stop = len(self.rates) >= self.count

    def read(self):
        tokens = int(self.trainer.real_tokens)  # waits for the device
        return time.perf_counter(), tokens


def trained(rows, vocabulary, *, preset, batch, grouped, windows, end, workers=8):
    """The rate of each window, with this many sentences in a batch."""
    torch.manual_seed(1)
    cuda = torch.cuda.is_available()
    model = network(vocabulary, dropout=0.1, end=end, **SIZES[preset])
    how = {} if grouped else {"train_sampling_strategy": "random"}
    how |= {} if cuda else {"use_cpu": True, "bf16": False}
    settings = arguments(batch=batch, rate=RATE, dataloader_num_workers=workers, **how)
    if cuda:
        model = model.cuda()
        torch.cuda.reset_peak_memory_stats()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), fused=cuda)
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
    trainer = Counting(
        model=model,
        args=settings,
        train_dataset=rows,
        data_collator=collate,
        optimizers=(optimizer, schedule),
        callbacks=[windows],
    )
    windows.trainer = trainer
    trainer.train()
    found = {
        "batch": batch,
        "each": [round(rate) for rate in windows.rates],
        "steps": windows.steps,
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    if cuda:
        found["peak_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    del trainer, model, optimizer, schedule
    windows.trainer = None
    gc.collect()
    if cuda:
        torch.cuda.empty_cache()
    return found


def best_batch(rows, vocabulary, *, preset, grouped, batches, seconds, end, workers=8, warm_steps=3):
    """A window for each size of a batch, then three with the best of them, each after a warm-up of its own.

    A size for which the memory is too small is recorded as that.
    """
    tried = []

    def once(batch, count, length):
        windows = Windows(
            count=count, seconds=length, warm_steps=warm_steps, warm_seconds=min(WARM_UP_SECONDS, seconds)
        )
        return trained(
            rows,
            vocabulary,
            preset=preset,
            batch=batch,
            grouped=grouped,
            windows=windows,
            end=end,
            workers=workers,
        )

    for batch in batches if len(batches) > 1 else ():
        try:
            tried.append(once(batch, 1, min(SECONDS_OF_A_TRY, seconds / REPETITIONS)))
        except torch.cuda.OutOfMemoryError:
            tried.append({"batch": batch, "each": [0], "error": "out of memory"})
        print("HF", preset, "grouped" if grouped else "as it comes", tried[-1], flush=True)
    best = max(tried, key=lambda each: each["each"][0])["batch"] if tried else batches[0]
    found = once(best, REPETITIONS, seconds / REPETITIONS)
    return {"tokens_per_second": round(statistics.median(found["each"])), **found, "tried": tried}
