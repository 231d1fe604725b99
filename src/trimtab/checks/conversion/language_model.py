"""A recipe that fine-tunes a language model, as Axolotl, LLaMA-Factory and TRL do."""

from trimtab.checks.conversion.adapter import write_adapter
from trimtab.checks.conversion.conversations import write_corpora
from trimtab.checks.conversion.draft import Draft, scalar
from trimtab.checks.conversion.step import write_rest, write_step

MOST_NOISE = 1000
"""Of `step.neftune_alpha`."""
LONGEST = 1024
"""Tokens of a row where no length is written."""


def write_language_model(draft: Draft) -> None:
    """Writes what has a counterpart."""
    if draft.run.setting("task") is None:
        draft.note("what is learned cannot be read there; a language model is assumed")
    draft.account(draft.run.setting("task"))
    draft.say("task: language_model")
    draft.say()
    draft.say("data:")
    write_corpora(draft)
    longest = draft.take("sequence_length")
    number = longest.value if longest is not None and longest.value > 1 else LONGEST
    draft.put("max_tokens", number, level=1, source=longest)
    draft.say()
    name = draft.take("model_name")
    if name is not None:
        draft.say(f"model: {{kind: pretrained, path: {scalar(name.value)}}}", comment=draft.origin(name))
    else:
        draft.note(
            "no model is named there: name the folder of a language model in `model.path`, such as SmolLM2 or Qwen3"
        )
        draft.say("model: {kind: pretrained, path: MODEL}", comment="no model is named there")
    write_adapter(draft)
    _write_loss(draft)
    draft.say()
    write_step(draft, longest=number)
    _write_noise(draft)
    write_rest(draft, metrics="loss", has_validation=bool(draft.run.value("validation")))
    draft.account(draft.run.setting("output_dir"))


def _write_noise(draft: Draft) -> None:
    alpha = draft.take("neftune_alpha")
    if alpha is not None and 0 < alpha.value <= MOST_NOISE:
        draft.put("neftune_alpha", alpha.value, level=1, source=alpha)


def _write_loss(draft: Draft) -> None:
    smoothing = draft.take("label_smoothing")
    value = smoothing.value if smoothing is not None and 0 <= smoothing.value < 1 else 0.0
    draft.say()
    draft.say(f"loss: {{kind: cross_entropy, label_smoothing: {value:g}}}", comment=draft.origin(smoothing))
