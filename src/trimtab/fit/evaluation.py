"""The memory of an evaluation in a run: a copy of the model, the loss of the validation sets, their translations."""

from trimtab.fit import constants
from trimtab.fit.loss_workspace import loss_workspace, narrows_frozen
from trimtab.fit.planned_run import Run
from trimtab.fit.shape import Layer, Stack
from trimtab.fit.weight_memory import weight_bytes
from trimtab.metrics.catalogue import OF_TRANSLATIONS

BATCH_TOKENS, MOST_HYPOTHESES = 32768, 1024
"""Source tokens times the beam, and rows times the beam, of a batch that is translated (`decode/batches`)."""
FEW_LINES = 64
"""Lines that are translated where no metric needs them, at most (`evaluation/repetition`)."""
PER_SOURCE_TOKEN, BESIDES = 2, 10
"""Tokens of the longest translation of a source (`decode/limits`)."""
SCORES = 8
"""Bytes for each piece of the vocabulary and hypothesis: logits in float32, and their logarithms."""
FIRST_SLOTS = 64
"""For which a language model has a cache at first; it is doubled when it is full (`model/decoder_session`)."""


def evaluation_bytes(run: Run, *, base: int, reserved: int) -> int:
    """The driver's bytes in an evaluation: a copy of the model and what scores it, beside what stays between steps;
    recorded steps make room for it where memory is short. Where weights are sharded, the copy is added to all that
    steps have reserved, as in the one measured run (69.6 GiB; 58.8 were planned for the steps, 13.6 for the copy)."""
    if not run.evaluates:
        return 0
    if run.is_sharded:
        return reserved + copy_bytes(run) + constants.CONTEXT_BYTES + constants.NCCL_BYTES
    copied = copy_bytes(run)
    averaged = copied if run.recipe.evaluate.weights == "ema" else 0
    stays = base + (constants.GRAPH_BYTES if run.recorded else 0)
    nccl = constants.NCCL_BYTES if run.ranks > 1 else 0
    passing = max(scoring_bytes(run), translating_bytes(run))
    return stays + copied + averaged + passing + constants.CONTEXT_BYTES + constants.GAP_BYTES + nccl


def copy_bytes(run: Run) -> int:
    """A copy of the model, made in the weights' precision and then narrowed; weights in half precision are shared, and
    in float32 the model itself is evaluated."""
    how, shape = run.how, run.shape
    if run.is_sharded:
        return how.half * shape.parameters + 4 * max(each.each for each in shape.weights)
    if how.is_whole:
        return 0
    packed = sum(weight_bytes(each, 0) for each in shape.weights if each.packed_rows)
    if how.precision == "bf16":
        return packed
    narrow = run.recipe.adapter is not None and narrows_frozen(how)
    return packed + sum(
        weight_bytes(each, how.weight)
        for each in shape.weights
        if not each.packed_rows and (each.trained or not narrow or len(each.shape) == 1)
    )


def scoring_bytes(run: Run) -> int:
    """What the loss of a micro-batch takes without a backward pass."""
    tokens = run.slots.target + run.slots.source
    widest = max(stack.layer.feed_forward * (3 if stack.layer.gated else 2) for stack in run.shape.stacks)
    loss = loss_workspace(run.shape, run.how, targets=run.slots.targets)
    return run.how.half * (widest + 6 * run.shape.dim) * tokens + loss.hidden + loss.pieces


def translating_bytes(run: Run) -> int:
    """The most that the search of a batch takes, for sources of whichever length takes the most; 0 where a run
    translates nothing."""
    recipe = run.recipe
    if not recipe.translates:
        return 0
    lines = (
        recipe.evaluate.lines
        if any(name in OF_TRANSLATIONS for name in recipe.evaluate.metrics)
        else FEW_LINES
    )
    longest, beam = run.slots.longest // (2 if recipe.facts.one_row else 1), recipe.evaluate.beam
    found, source = 0, 8
    while True:
        source = min(source, longest)
        rows = max(1, min(MOST_HYPOTHESES // beam, BATCH_TOKENS // (beam * source), lines or MOST_HYPOTHESES))
        found = max(found, search_bytes(run, rows=rows, beam=beam, source=source, longest=longest))
        if source == longest:
            return found
        source *= 2


def search_bytes(run: Run, *, rows: int, beam: int, source: int, longest: int) -> int:
    """A search of so many rows with sources of a length: its caches when translations are as long as they may become,
    and what its last step takes besides, or what reading the sources takes."""
    (decoder,) = [stack for stack in run.shape.stacks if not stack.reads_source]
    layer, half = decoder.layer, run.how.half
    hypotheses, target = rows * beam, min(longest, PER_SOURCE_TOKEN * source + BESIDES)
    slots = target
    if not layer.cross:  # a language model reads the source as its own text
        slots = FIRST_SLOTS
        while slots < source + target:
            slots *= 2
    of_layer = 2 * half * layer.key_width * slots * hypotheses
    sources = 2 * half * layer.key_width * source * rows * decoder.layers if layer.cross else 0
    scores = SCORES * run.shape.rows * hypotheses
    chosen = 3 * 8 * hypotheses * target  # ids, those that are picked of them, and those of finished texts
    step = max(of_layer, scores) + chosen
    return max(of_layer * decoder.layers + sources + step, sources + _reading(run, layer, rows * source))


def _reading(run: Run, layer: Layer, tokens: int) -> int:
    """What a layer that reads all sources at once takes."""
    encoder: Stack = run.shape.stacks[0]
    wide = encoder.layer.feed_forward * (3 if encoder.layer.gated else 2)
    return run.how.half * (wide + 8 * layer.dim) * tokens
