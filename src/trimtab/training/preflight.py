"""Checks on the built parts before step 1, in seconds: what is wrong now is told now, as findings."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch

from trimtab.build import Parts
from trimtab.data.corpus_findings import ListedPairs, corpus_findings
from trimtab.data.tags import untagged_sets
from trimtab.errors import TrimtabError
from trimtab.finding import Finding
from trimtab.flow import Pack, Ragged, Window
from trimtab.step.accumulate import accumulate
from trimtab.training.rates import peak_out_of_range
from trimtab.translator import Translator

UNKNOWN_WARNING, UNKNOWN_ERROR = 0.005, 0.05
DROPPED_WARNING, DROPPED_ERROR = 0.05, 0.5
BLANK_WARNING, BLANK_ERROR = 0.02, 0.5
FIRST_LOSS_TOLERANCE = 0.15
PROBE_TARGETS = 1024
"""Target tokens of the window that is cut in two ways."""
CUT_TOLERANCE = {"fp32": 1e-4, "bf16_mixed": 3e-2, "fp16_mixed": 1e-2}
"""Relative difference of two gradients that rounding may cause; means of means gave 0.3 on a small model, sums of
means 3."""


def preflight(parts: Parts) -> Iterator[Finding]:
    """All checks, cheapest first; leaves weights, moments and gradients as they were."""
    yield from unknown_pieces(parts)
    yield from dropped_examples(parts)
    yield from blank_references(parts)
    valid = [ListedPairs(v.name, v.tags, v.sources, v.references) for v in parts.sources.valid.values()]
    yield from corpus_findings(parts.sources.corpora, valid)
    yield from untagged_sets(parts.recipe.data)
    yield from peak_out_of_range(parts)
    checks: tuple[Callable[[Parts], Iterator[Finding]], ...] = (
        first_loss,
        cut_two_ways,
        longest_batch,
        five_lines,
    )
    for check in checks:
        try:
            yield from check(parts)
        finally:
            parts.model.train()
            for parameter in parts.optimizer.parameters:
                parameter.grad = None


def unknown_pieces(parts: Parts) -> Iterator[Finding]:
    """The share of tokens for which the vocabulary has no piece."""
    sample, tokenizers = parts.sources.sample, parts.sources.tokenizers
    sides = (("source", sample.source, tokenizers.source), ("target", sample.target, tokenizers.target))
    for side, rows, tokenizer in sides:
        share = float((rows.values == tokenizer.unknown).mean())
        key = "data.source_tokenizer" if side == "source" and not tokenizers.shared else "data.tokenizer"
        if share > UNKNOWN_WARNING:
            yield Finding(
                code="D201",
                name="unknown-pieces",
                severity="error" if share > UNKNOWN_ERROR else "warning",
                message=f"{share:.1%} of the {side} tokens are unknown to the vocabulary (bound {UNKNOWN_WARNING:.1%})",
                why="Unknown tokens carry no meaning, and the model learns to write them.",
                fix=f"set {key}.byte_fallback: true, or train the tokenizer on this text",
            )


def dropped_examples(parts: Parts) -> Iterator[Finding]:
    """The share of examples that are not trained on."""
    sample = parts.sources.sample
    reasons = [example.reason for example in sample.dropped]
    share = len(reasons) / max(1, sample.seen)
    if share > DROPPED_WARNING:
        counted = ", ".join(
            f"{reason} {reasons.count(reason) / sample.seen:.1%}" for reason in sorted(set(reasons))
        )
        yield Finding(
            code="D202",
            name="examples-dropped",
            severity="error" if share > DROPPED_ERROR else "warning",
            message=f"{share:.1%} of the first {sample.seen} examples are dropped: {counted}",
            why="What is dropped is not learned; a filter or limit does not fit this text.",
            fix="loosen data.transforms or raise data.max_tokens; `trimtab data inspect` shows examples",
        )


def blank_references(parts: Parts) -> Iterator[Finding]:
    """The share of validation pairs of which one side has no text."""
    for valid in parts.sources.valid.values():
        pairs = zip(valid.sources, valid.references, strict=True)
        blank = sum(not source.strip() or not reference.strip() for source, reference in pairs)
        share = blank / max(1, len(valid.sources))
        if share > BLANK_WARNING:
            yield Finding(
                code="D203",
                name="blank-validation-lines",
                severity="error" if share > BLANK_ERROR else "warning",
                message=f"{blank:,} of the {len(valid.sources):,} pairs of the validation set {valid.name} are blank "
                f"on a side (bound {BLANK_WARNING:.0%})",
                why="Scores against blank references say nothing, and they choose the best checkpoint.",
                fix="take the blank lines out of both files, or name others under data.valid",
            )


def first_loss(parts: Parts) -> Iterator[Finding]:
    """The loss of the untrained model against the logarithm of the vocabulary."""
    parts.model.eval()
    window = probe_window(parts)
    with torch.no_grad():
        loss = (
            sum(float(parts.objective(pack).loss) for pack in on_device(parts, window)) / window.num_targets
        )
    parts.model.train()
    expected = math.log(parts.sources.tokenizer.num_ids)
    if parts.recipe.model.warm_start is not None and math.isfinite(loss):
        return  # its weights know something already
    if not abs(loss - expected) <= FIRST_LOSS_TOLERANCE * expected:
        yield Finding(
            code="L201",
            name="first-loss-off",
            severity="error" if not math.isfinite(loss) else "warning",
            message=f"the untrained model's loss is {loss:.3f}, ln(vocabulary) is {expected:.3f}",
            why="An untrained model knows nothing, so each token should cost the logarithm of the vocabulary.",
            fix="look for a changed initialisation, a wrong vocabulary size, or labels that are not shifted",
        )


def cut_two_ways(parts: Parts) -> Iterator[Finding]:
    """One window in one pack and in four: the gradient must be the same."""
    parts.model.eval()  # dropout would differ between the two
    window = in_one_pack(probe_window(parts), parts)
    whole = gradient(parts, window)
    pieces = [piece for piece in in_four(window) if len(piece.target)]
    packs = [pack for piece in pieces for pack in on_device(parts, piece)]
    accumulate(parts.objective, packs)
    cut = gathered(parts)
    parts.model.train()
    difference = float((whole - cut).norm() / whole.norm())
    if not difference <= CUT_TOLERANCE[parts.precision]:
        yield Finding(
            code="S201",
            name="gradient-depends-on-cut",
            severity="error",
            message=f"cut in {len(packs)} packs a window's gradient differs by {difference:.2g} of its norm "
            f"(bound {CUT_TOLERANCE[parts.precision]:g})",
            why="The arithmetic of training must not depend on how much runs at once.",
            fix="report it; until then set step.tokens_per_micro_batch to step.tokens_per_step",
        )


def longest_batch(parts: Parts) -> Iterator[Finding]:
    """The largest batch that can come, forward and backward: if it fits, every other does."""
    try:
        accumulate(parts.objective, [fullest_pack(parts).to(parts.device)])
        if parts.device.type == "cuda":
            torch.cuda.synchronize(parts.device)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        tokens, longest = parts.recipe.step.micro_batch_tokens, parts.recipe.data.max_tokens
        smaller = f"set step.tokens_per_micro_batch to {max(longest, tokens // 2)}; it changes speed and memory only"
        yield Finding(
            code="P201",
            name="longest-batch-does-not-fit",
            severity="error",
            message=f"a micro-batch of {tokens} target tokens does not fit into memory: "
            + (str(error).splitlines() or [type(error).__name__])[0],
            why="The run would end at the first such batch, perhaps after hours.",
            fix=smaller if tokens > longest else "lower data.max_tokens, or take a smaller model",
        )


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory ran out; on a CPU torch raises a plain RuntimeError for it."""
    kinds = (torch.OutOfMemoryError, MemoryError)
    return isinstance(error, kinds) or "DefaultCPUAllocator: can't allocate memory" in str(error)


def five_lines(parts: Parts) -> Iterator[Finding]:
    """Five lines through the whole of decoding, with the untrained model."""
    valid = next(iter(parts.valid().values()), None)
    lines = valid.sources[:5] if valid else [parts.sources.corpora[0].pair(0)[0]]
    parts.model.eval()
    try:
        Translator.of(parts, parts.fast_copy().eval(), beam=2, tags=valid.tags if valid else ()).translate(
            [line[:200] for line in lines]
        )
    except TrimtabError as error:
        yield Finding(
            code="E201",
            name="decoding-fails",
            severity="error",
            message=f"five lines could not be translated: {error}",
            why="The first evaluation would fail in the same way.",
        )
    finally:
        parts.model.train()


def probe_window(parts: Parts) -> Window:
    """The first examples of the stream, about PROBE_TARGETS target tokens of them."""
    sample = parts.sources.sample
    count = max(1, int((sample.target.offsets[1:] <= PROBE_TARGETS).sum()))
    return between(window_of(sample.source, sample.target, sample.prompt), 0, count)


def window_of(source: Ragged, target: Ragged, prompt: np.ndarray | None = None) -> Window:
    """Rows as a window of corpus 0."""
    zeros = torch.zeros(len(target), dtype=torch.int64).numpy()
    return Window(source, target, zeros.astype("int32"), zeros, 0, prompt=prompt)


def between(window: Window, start: int, stop: int) -> Window:
    """Some of a window's examples."""
    prompt = None if window.prompt is None else window.prompt[start:stop]
    return window_of(window.source.between(start, stop), window.target.between(start, stop), prompt)


def in_one_pack(window: Window, parts: Parts) -> Window:
    """As many of the window's first examples as one pack holds, at least one."""
    shape = parts.shape
    fits = (window.source.offsets <= shape.source_room) & (window.target.offsets <= shape.target_room)
    count = max(1, min(int(fits.sum()) - 1, shape.segment_room))
    return between(window, 0, count)


def in_four(window: Window) -> list[Window]:
    """Four windows of one, three, five and seven sixteenths of the examples: alike they would hide a wrong divisor."""
    count = len(window.target)
    bounds = [i * i * count // 16 for i in range(5)]
    return [between(window, a, b) for a, b in pairwise(bounds)]


def on_device(parts: Parts, window: Window) -> list[Pack]:
    """A window in one pack (or as few as it takes), on the device."""
    return [pack.to(parts.device) for pack in parts.cut(window, replace(parts.shape, num_packs=1))]


def gradient(parts: Parts, window: Window) -> torch.Tensor:
    """All gradients of one window, as one vector."""
    accumulate(parts.objective, on_device(parts, window))
    return gathered(parts)


def gathered(parts: Parts) -> torch.Tensor:
    """The gradients on the parameters, as one vector, taken off them."""
    vector = torch.cat([p.grad.flatten() for p in parts.optimizer.parameters if p.grad is not None])
    for parameter in parts.optimizer.parameters:
        parameter.grad = None
    return vector


def fullest_pack(parts: Parts) -> Pack:
    """A pack as large as any can be: rows of the greatest length, as many as its budgets hold."""
    shape, longest = parts.shape, parts.recipe.data.max_tokens
    rows = max(1, min(shape.source_room // longest, shape.target_room // longest, shape.segment_room))
    tokenizers = parts.sources.tokenizers
    source, target = (
        Ragged.of([[each.unknown] * longest] * rows) for each in (tokenizers.source, tokenizers.target)
    )
    return parts.cut(window_of(source, target), replace(shape, num_packs=1))[0]
