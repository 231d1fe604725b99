"""Step, length, evaluation, checkpoints and seed of a recipe, from the concepts alone."""

from trimtab.checks.conversion.draft import Draft, number
from trimtab.checks.conversion.rates import write_optimizer, write_schedule
from trimtab.checks.setting import Setting

TOKENS_PER_SENTENCE = 30
"""An estimate for tools that count sentences; the line says so."""
PRECISIONS = {"bf16": "bf16_mixed", "fp16": "fp16_mixed"}
LENGTH = 10_000
MOST_WARMUP = 1_000_000
LONGEST = 1e15
"""Lengths beyond it are slips."""
WIDEST_BEAM = 64
"""Of `evaluate.beam`."""
STRONGEST_PENALTY = 10
"""Of `--length-penalty`."""
EVERY = 500
MOST_PER_EPOCH = 10_000
"""Evaluations or checkpoints."""


def write_step(draft: Draft, *, longest: int) -> None:
    """Writes the branch `step`; neither budget may be smaller than the longest example."""
    draft.say("step:")
    per_micro_batch, per_step, why = budgets(draft)
    if per_step < longest:
        lower = "; where no row is as long, lower both to the longest" if draft.row_tokens is not None else ""
        draft.note(
            f"tokens_per_step is raised from {per_step} to {longest}, which is data.max_tokens, so that the longest "
            f"example fits in a step{lower}"
        )
    draft.put("tokens_per_step", max(per_step, longest), level=1, why=why)
    draft.put("tokens_per_micro_batch", min(max(per_micro_batch, longest), max(per_step, longest)), level=1)
    _write_precision(draft)
    write_optimizer(draft)
    write_schedule(draft)
    _write_clip(draft)
    _write_moving_average(draft)


def budgets(draft: Draft) -> tuple[int, int, str]:
    """Tokens that run at once on one device, tokens of a step, and how the second is reckoned."""
    size, unit, times, devices = (
        draft.take(name) for name in ("micro_batch", "batch_unit", "accumulation", "devices")
    )
    if draft.counts_examples and (size is None or size.value < 1):
        count, why = 256, "no batch size is written: the default"
    elif size is None or size.value < 1:
        if times is None or not times.is_written or unit is None:
            return 8192, 32768, "no batch size is written: the default"
        # Marian's `mini-batch-fit`, and files whose batch is on the command line.
        count, why = 8192, "8192 of a micro-batch, whose size is not written there"
    else:
        count, why = size.value, f"{size.key} {size.value}"
    factor = 1
    if draft.counts_examples:
        why += " examples"
    elif unit is None or unit.value == "examples":
        factor, name = _tokens_of_example(draft)
        why += f" examples of about {factor} {name} (an estimate)"
    for setting, word in ((times, "accumulated"), (devices, "devices")):
        if setting is not None and setting.value > 1:
            why += f" * {setting.value} {word}"
    number = count * factor
    several = (max(1, setting.value) if setting is not None else 1 for setting in (times, devices))
    for setting in several:
        number *= setting
    if unit is not None and unit.value == "tokens":
        why += "; there padding counts, here only target tokens"
    return count * factor, number, why


def write_rest(draft: Draft, *, metrics: str, has_validation: bool) -> None:
    """Writes length, evaluation by some metrics, checkpoints and seed."""
    draft.say()
    write_length(draft)
    draft.say()
    draft.say("evaluate:")
    _write_every(draft, "eval_steps", "eval_strategy", "evals_per_epoch")
    draft.say(
        f"metrics: [{metrics}]",
        level=1,
        comment="" if has_validation else "of nothing, until data.valid is filled",
    )
    beam = draft.run.keys.get("beam-size") if draft.run.tool == "marian" else None
    if beam is not None and isinstance(beam.value, int) and 1 <= beam.value <= WIDEST_BEAM:
        draft.put("beam", beam.value, level=1, source=draft.account(beam))
    _note_length_penalty(draft)
    if draft.run.tool == "marian" and draft.run.value("moving_average"):
        draft.say("weights: ema", level=1, comment="the average is what is validated there")
    _write_patience(draft)
    draft.say()
    draft.say("checkpoint:")
    _write_every(draft, "save_steps", "save_strategy", "saves_per_epoch")
    kept = draft.take("keep_checkpoints")
    draft.put("keep", kept.value if kept is not None else 3, level=1, source=kept)
    draft.say()
    seed = draft.take("seed")
    is_usable = seed is not None and 0 <= seed.value < 2**63
    draft.put("seed", seed.value if seed is not None and is_usable else 1, source=seed if is_usable else None)


def _note_length_penalty(draft: Draft) -> None:
    """Says where Marian's `normalize` is set, which is no key of a recipe: its search, too, divides a score by the
    length to this power."""
    power = draft.run.keys.get("normalize") if draft.run.tool == "marian" else None
    if power is None or not power.is_written:
        return
    if isinstance(power.value, int | float) and 0 <= power.value <= STRONGEST_PENALTY:
        draft.account(power)
        penalty = number(float(power.value))  # the option alone, without a number, means 1
        draft.note(
            f"normalize {penalty}: no key of a recipe; give `trimtab translate` and `trimtab evaluate` "
            f"`--length-penalty {penalty}`"
        )


def write_length(draft: Draft) -> None:
    """Writes `length`: steps, epochs, or a guess that says so."""
    steps, epochs, tokens = draft.take("steps"), draft.take("epochs"), draft.take("tokens")
    if steps is not None and steps.value >= 1:
        draft.say(
            f"length: {steps.value} {'step' if steps.value == 1 else 'steps'}", comment=draft.origin(steps)
        )
    elif epochs is not None and 0 < epochs.value < LONGEST:
        unit = "epoch" if epochs.value == 1 else "epochs"
        draft.say(f"length: {_count(epochs.value)} {unit}", comment=draft.origin(epochs))
    elif tokens is not None and 0 < tokens.value < LONGEST:
        draft.say(f"length: {tokens.value} tokens", comment=draft.origin(tokens))
    else:
        # The warm-up must fit in it.
        guess = max(LENGTH, 10 * min(draft.run.value("warmup_steps") or 0, MOST_WARMUP))
        draft.say(f"length: {guess} steps", comment="no length is written: a guess")


def _count(value: float) -> str:
    """A number of epochs without an exponent."""
    return str(int(value)) if value == int(value) else f"{value:.4f}".rstrip("0")


def _tokens_of_example(draft: Draft) -> tuple[int, str]:
    """How many tokens of an example count, and what they are; those of rows as far as their files can be read."""
    longest = draft.run.value("sequence_length")
    if draft.run.value("task") == "translation" or longest is None:
        return TOKENS_PER_SENTENCE, "tokens"
    rows = draft.row_tokens
    packing = draft.take("packing")
    if rows is None:
        return longest, "tokens"
    if packing is not None and packing.value:  # an example is then a full row of several documents
        return max(1, round(longest * rows.counted / rows.whole)), "counted tokens"
    return min(longest, rows.counted), "counted tokens"


def _write_precision(draft: Draft) -> None:
    cast, weights = draft.take("autocast"), draft.take("weights_dtype")
    word = cast.value if cast is not None else None
    if word == "none" and weights is not None and weights.value in PRECISIONS:
        draft.put(
            "precision", PRECISIONS[weights.value], level=1, source=weights, why="weights stay fp32 here"
        )
    elif word == "none":
        draft.put("precision", "fp32", level=1, source=cast)
    else:
        draft.put(
            "precision", PRECISIONS.get(str(word), "auto"), level=1, source=cast or draft.key("bf16", "fp16")
        )


def _write_clip(draft: Draft) -> None:
    clip = draft.take("clip")
    if clip is not None and clip.value == 0:
        draft.say("clip: {kind: off}", level=1, comment=draft.origin(clip))
        return
    at = clip.value if clip is not None and clip.value > 0 else 1.0
    why = ""
    if draft.run.tool == "mammoth":
        why = "there it is multiplied by the number of parameters, so that nothing is ever clipped"
    comment = "; ".join(part for part in (draft.origin(clip), why) if part)
    draft.say(f"clip: {{kind: global_norm, at: {at:g}}}", level=1, comment=comment)


def _write_moving_average(draft: Draft) -> None:
    """A moving average of the weights: what counts there is the share of the new ones, here that of the old."""
    if (setting := draft.take("moving_average")) is not None:
        if 0 < setting.value < 1:
            draft.say(f"ema: {{decay: {1 - setting.value:.6g}}}", level=1, comment=draft.origin(setting))
        return
    share = draft.key("average_decay", "training.average_decay")
    if share is not None and isinstance(share.value, int | float) and 0 < share.value < 1:
        comment = f"{draft.origin(share)} {number(share.value)}, the share of the new weights"
        every = draft.key("average_every", "training.average_every")
        often = f", every: {every.value}" if every is not None and every.value in range(2, 10**6) else ""
        draft.say(f"ema: {{decay: {1 - share.value:.6g}{often}}}", level=1, comment=comment)


def _write_patience(draft: Draft) -> None:
    """Evaluations without a new best, after which the run ends."""
    if (setting := draft.take("patience")) is not None:
        draft.put("patience", setting.value, level=1, source=setting)
        if (watched := draft.take("stop_on")) is not None:
            draft.say(f"stop_on: {watched.value}", level=1, comment=draft.origin(watched))
        return
    names = ("early_stopping", "early_stopping_patience", "patience")
    patience = draft.key(*names, *(f"training.{name}" for name in names))
    if patience is not None and isinstance(patience.value, int) and patience.value > 0:
        draft.put("patience", int(patience.value), level=1, source=patience)


def _write_every(draft: Draft, concept: str, strategy: str, per_epoch: str) -> None:
    setting, kind, times = draft.take(concept), draft.take(strategy), draft.key(per_epoch)
    if kind is not None and kind.value == "epoch":
        draft.say("every: 1 epoch", level=1, comment=draft.origin(kind))
        return
    if times is not None and isinstance(times.value, int) and 1 <= times.value <= MOST_PER_EPOCH:
        draft.say(f"every: {_epochs(1 / times.value)}", level=1, comment=draft.origin(times))
        return
    if setting is not None and 0 < setting.value < 1 and (share := _share_of_length(draft, setting.value)):
        draft.say(f"every: {share}", level=1, comment=f"{draft.origin(setting)}, a share of the length")
        return
    steps = _whole_steps(setting)
    if steps is None:
        draft.say(f"every: {EVERY} steps", level=1)
    else:
        draft.say(f"every: {steps} steps", level=1, comment=draft.origin(setting))


def _share_of_length(draft: Draft, share: float) -> str:
    """A share of the run in its own unit; empty where its length is not known."""
    steps, epochs = draft.run.value("steps"), draft.run.value("epochs")
    if steps is not None and 1 <= steps < LONGEST:
        return f"{max(1, round(share * steps))} steps"
    return _epochs(share * epochs) if epochs is not None and 0 < epochs < LONGEST else ""


def _epochs(number: float) -> str:
    return "1 epoch" if number == 1 else f"{_count(max(number, 0.0001))} epochs"


def _whole_steps(setting: Setting | None) -> int | None:
    """Steps between two events; a share of the run, which some tools take, is none."""
    return int(setting.value) if setting is not None and 1 <= setting.value < LONGEST else None
