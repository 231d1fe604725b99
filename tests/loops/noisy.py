"""A Trainer of transformers in which the loss of one rank is far off in one step, though no gradient is."""

import tempfile

import torch
from torch import nn


class NoisyTagger(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Embedding(12, 8), nn.Linear(8, 12))

    def forward(self, words, noise, labels=None):
        logits = self.layers(words).flatten(0, 1)
        return {"loss": nn.functional.cross_entropy(logits, words.flatten() + 1) + noise.mean()}


def noisy_trainer(transformers, *, rank, noise_at, steps=24, world_size=2, **options):
    """One micro-batch a step; in step `noise_at` the last rank's loss is 50 nats higher."""
    size = 4
    arguments = transformers.TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        max_steps=steps,
        per_device_train_batch_size=size,
        learning_rate=1e-2,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        logging_strategy="no",
        remove_unused_columns=False,
        **options,
    )
    draw = torch.Generator().manual_seed(2)
    rows = torch.randint(0, 11, (steps * size * world_size, 6), generator=draw)
    last = world_size - 1
    examples = [
        # Accelerate deals batches in turn: of each step the first to rank 0, the next to rank 1.
        {"words": row, "noise": torch.tensor(50.0 if number // size == noise_at * world_size + last else 0.0)}
        for number, row in enumerate(rows)
    ]

    class InOrder(transformers.Trainer):
        def _get_train_sampler(self, *args, **kwargs):
            return torch.utils.data.SequentialSampler(self.train_dataset)

    return InOrder(model=NoisyTagger(), args=arguments, train_dataset=examples)
