"""A module of Lightning in which the loss of one rank is far off in one step, though no gradient is."""

import warnings

import lightning
import torch
from torch import nn

from trimtab.adapters.lightning_guard import GuardCallback
from trimtab.guard import Guard


class NoisyModule(lightning.LightningModule):
    def __init__(self, rank, noise_at):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Embedding(12, 8), nn.Linear(8, 12))
        self.rank, self.noise_at, self.after = rank, noise_at, []

    def training_step(self, words, batch_idx):
        noise = 50.0 if batch_idx == self.noise_at and self.rank else 0.0
        return nn.functional.cross_entropy(self.layers(words).flatten(0, 1), words.flatten() + 1) + noise

    def on_train_batch_end(self, outputs, batch, batch_idx):
        self.after.append(self.layers[1].weight.detach().clone())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def fitted(*, rank, noise_at, rule, devices=2, steps=24, callbacks=(), **options):
    """The module after its run, the guard, and what it found."""
    told, guard = [], Guard(rule)
    rows = torch.randint(0, 11, (steps * devices * 4, 6), generator=torch.Generator().manual_seed(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = lightning.Trainer(
            accelerator="cpu",
            devices=devices,
            strategy="ddp" if devices > 1 else "auto",
            max_epochs=1,
            gradient_clip_val=1.0,
            callbacks=[GuardCallback(guard, tell=told.append), *callbacks],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            **options,
        )
        module = NoisyModule(rank, noise_at)
        trainer.fit(module, torch.utils.data.DataLoader(rows, batch_size=4, shuffle=False))
    return module, guard, told
