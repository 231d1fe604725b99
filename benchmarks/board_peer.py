"""What a copy of autoresearch's train.py calls in place of what it cannot have here; `board.py` puts it beside it.

`flash_attn_func` is PyTorch's attention in place of a kernel that is downloaded from a hub. `bits_per_byte` scores the
whole held-out text once.
"""

import lzma
import math
import os

import torch
import torch.nn.functional as F

SECONDS = float(os.environ.get("BOARD_SECONDS", "60"))
SEED = int(os.environ.get("BOARD_SEED", "1"))
LENGTH = 2048
"""Tokens of a row, as in training."""


def flash_attn_func(q, k, v, causal=True, window_size=None):
    """From `rows length heads size`; causal over the whole row whatever the window, since PyTorch has a fast kernel for
    that alone. A window of half a row would hide tokens and save a sixteenth of the attention's products or so."""
    assert causal, "a causal model"
    mixed = F.scaled_dot_product_attention(*(each.transpose(1, 2) for each in (q, k, v)), is_causal=True)
    return mixed.transpose(1, 2)


def documents(path):
    """The blocks between blank lines."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [each for each in file.read().split("\n\n") if each.strip()]


def rows_of(ids, *, start, length=LENGTH):
    """A document as inputs and labels: rows of at most `length` tokens, each of which begins with `start`."""
    for begin in range(0, len(ids), length):
        part = ids[begin : begin + length]
        yield [start, *part[:-1]], part


@torch.no_grad()
def bits_per_byte(model, encode, *, start, path=None, rows_at_once=32, device="cuda"):
    """Of all documents of a file: the bits of their tokens over their bytes. The model knows nothing of what comes
    before a row, and the end of a document costs nothing."""
    texts = documents(path or os.environ["BOARD_DEV"])
    rows = [row for text in texts for row in rows_of(encode(text), start=start)]
    nats = 0.0
    for begin in range(0, len(rows), rows_at_once):
        inputs = torch.full((rows_at_once, LENGTH), start, device=device)
        labels = torch.full((rows_at_once, LENGTH), -1, device=device)
        for number, (given, asked) in enumerate(rows[begin : begin + rows_at_once]):
            inputs[number, : len(given)] = torch.tensor(given, device=device)
            labels[number, : len(asked)] = torch.tensor(asked, device=device)
        nats += float(model(inputs, labels, reduction="sum"))
    return nats / math.log(2) / sum(len(text.encode()) for text in texts)
