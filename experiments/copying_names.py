"""Does a translator take the spelling of a name from the sentences before it?

    pip install ".[train]"
    python experiments/copying_names.py

A text of two sentences is translated word by word. Each word has one translation; the name has one of eight spellings,
drawn for each text. The first sentence and its translation show which: they stand before the second sentence in the
source, after the manner of document translation. One translator reads the second sentence alone, one reads the context
too, and one was trained with the context of another text. Then the one with context reads that of another text: where
it copies, the spelling follows the context that it is given.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from experiment import Claim, Experiment, Numbers, main

from trimtab.config.model import EncoderDecoderModel
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.types import PackedBatch, Stream

WORDS, SPELLINGS, LENGTH = 20, 8, 5
PAD, START, SEPARATOR, NAME, SOURCE_WORD = 0, 1, 2, 3, 4
TARGET_WORD = SOURCE_WORD + WORDS
SPELLING = TARGET_WORD + WORDS
NUM_IDS = SPELLING + SPELLINGS
TEXTS, HELD_OUT, STEPS, QUICK_STEPS, RATE, WARM_UP = 32, 256, 400, 5, 3e-3, 40
ARMS = ("sentence alone", "with context", "with another text's context")
KNOWN, GUESSED = 0.9, 2 / SPELLINGS


def measure(seed: int, quick: bool) -> Numbers:
    """By arm, the share of names that are spelled as in their text; and the share that follows a context which was
    exchanged, in the arm with context."""
    found: Numbers = {}
    for arm in ARMS:
        model = trained(arm, seed=seed, steps=QUICK_STEPS if quick else STEPS)
        draw = torch.Generator().manual_seed(seed + 5000)
        texts = drawn(HELD_OUT, draw)
        found[arm] = share_spelled(model, texts, arm, wanted=texts["spelling"])
        if arm == "with context":
            lent = {**texts, "context": texts["context"].roll(1, 0)}
            found["context exchanged, as in the text"] = share_spelled(
                model, lent, arm, wanted=texts["spelling"]
            )
            found["context exchanged, as in the context"] = share_spelled(
                model, lent, arm, wanted=texts["spelling"].roll(1)
            )
    return found


def drawn(count: int, draw: torch.Generator) -> dict[str, torch.Tensor]:
    """Texts: two sentences of words with a name at a random place, the translation of both, and how it is spelled."""
    spelling = torch.randint(SPELLINGS, (count,), generator=draw)
    words = torch.randint(WORDS, (2, count, LENGTH), generator=draw)
    at = torch.randint(LENGTH, (2, count, 1), generator=draw)
    source = (words + SOURCE_WORD).scatter(2, at, NAME)
    target = (words + TARGET_WORD).scatter(2, at, (spelling + SPELLING)[None, :, None].expand(2, -1, -1))
    context = torch.cat([source[0], target[0], torch.full((count, 1), SEPARATOR)], 1)
    return {"spelling": spelling, "context": context, "source": source[1], "target": target[1]}


def batch(texts: Mapping[str, torch.Tensor], arm: str) -> PackedBatch:
    """What a translator reads and writes of them."""
    context = texts["context"].roll(1, 0) if arm == ARMS[2] else texts["context"]
    read = texts["source"] if arm == ARMS[0] else torch.cat([context, texts["source"]], 1)
    target = texts["target"]
    given = torch.cat([torch.full((len(target), 1), START), target[:, :-1]], 1)
    labels = target.flatten()
    return PackedBatch(
        stream(read), stream(given), labels, len(target), len(labels), read.numel() + len(labels)
    )


def stream(rows: torch.Tensor) -> Stream:
    """Rows of equal length, one after another."""
    count, length = rows.shape
    ends = torch.arange(count + 1, dtype=torch.int32) * length
    return Stream(
        rows.flatten(),
        torch.arange(length).repeat(count),
        torch.arange(count).repeat_interleave(length),
        ends,
        length,
    )


def trained(arm: str, *, seed: int, steps: int) -> EncoderDecoder:
    """A translator that saw its texts as the arm says; all arms see the same texts."""
    config = EncoderDecoderModel(dim=48, heads=4, layers=2, feed_forward=96, dropout=0.0)
    model = EncoderDecoder(config, num_ids=NUM_IDS, max_positions=64, seed=seed).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.0)
    draw = torch.Generator().manual_seed(seed)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = RATE * min((step + 1) / WARM_UP, (steps - step) / (steps - WARM_UP))
        pack = batch(drawn(TEXTS, draw), arm)
        optimizer.zero_grad()
        F.cross_entropy(model(pack) @ model.output_matrix.T, pack.labels).backward()
        optimizer.step()
    return model.eval()


@torch.no_grad()
def share_spelled(
    model: EncoderDecoder, texts: Mapping[str, torch.Tensor], arm: str, *, wanted: torch.Tensor
) -> float:
    """Of the names, whose place in the target is given."""
    pack = batch(texts, arm)
    named = pack.labels >= SPELLING
    logits = (model(pack) @ model.output_matrix.T)[named]
    return float((logits[:, SPELLING:NUM_IDS].argmax(-1) == wanted).float().mean())


def decide(result: Mapping[str, Any]) -> Sequence[Claim]:
    """By the share of every seed."""
    shares = {
        key: [seed[key] for seed in result["seeds"].values()] for key in next(iter(result["seeds"].values()))
    }
    alone, context, other = (shares[arm] for arm in ARMS)
    kept, followed = (shares[f"context exchanged, as in the {place}"] for place in ("text", "context"))
    return [
        Claim(
            f"with context, {min(context):.0%} to {max(context):.0%} of the names are spelled as in their text; "
            f"predicted at least {KNOWN:.0%}",
            min(context) >= KNOWN,
        ),
        Claim(
            f"alone, {min(alone):.0%} to {max(alone):.0%}, and trained with another text's context {min(other):.0%} to "
            f"{max(other):.0%}; predicted at most {GUESSED:.0%}, a guess being {1 / SPELLINGS:.1%}",
            min(*alone, *other) >= 0 and max(*alone, *other) <= GUESSED,
        ),
        Claim(
            f"given another text's context, {min(followed):.0%} to {max(followed):.0%} follow that context and "
            f"{min(kept):.0%} to {max(kept):.0%} their own text; predicted at least {KNOWN:.0%} and at most "
            f"{GUESSED:.0%}",
            min(followed) >= KNOWN and max(kept) <= GUESSED,
        ),
    ]


EXPERIMENT = Experiment(
    name="copying_names",
    question="Does a translator take the spelling of a name from the sentences before it?",
    arms=ARMS,
    measure=measure,
    measures="share of the names of held-out texts that are spelled as wanted, the words around them being given",
    expect="with context nearly all names are right, and follow a context that is exchanged; without, one in eight",
    rule="the share of every seed",
    decide=decide,
    budget="three minutes on one core",
    supports=("S0-39",),
    seeds=(1, 2, 3, 4, 5),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
