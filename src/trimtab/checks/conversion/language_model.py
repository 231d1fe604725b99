"""A recipe that fine-tunes a language model, as Axolotl, LLaMA-Factory and TRL do."""

from functools import partial
from pathlib import Path
from typing import get_args

from trimtab.checks.conversion.adapter import write_adapter
from trimtab.checks.conversion.conversations import write_corpora
from trimtab.checks.conversion.draft import Draft, scalar
from trimtab.checks.conversion.freezing import in_module, write_freezing
from trimtab.checks.conversion.step import write_rest, write_step
from trimtab.checks.listed import text_list
from trimtab.config.pretrained.map_names import own_patterns
from trimtab.config.pretrained.shapes import Found
from trimtab.config.trackers import TrackerName
from trimtab.errors import InputError

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
    name = draft.take("model_name")
    found = _read_model(draft, str(name.value)) if name is not None else None
    number = _write_longest(draft, found)
    draft.say()
    if name is not None:
        draft.say(f"model: {{kind: pretrained, path: {scalar(name.value)}}}", comment=draft.origin(name))
    else:
        draft.note(
            "no model is named there: name the folder of a language model in `model.path`, such as SmolLM2 or Qwen3"
        )
        draft.say("model: {kind: pretrained, path: MODEL}", comment="no model is named there")
    write_adapter(draft)
    if draft.run.value("adapter") in (None, "none"):
        write_freezing(draft, partial(_names_of_weights, found))
    if (chosen := draft.key("unfrozen_parameters")) is not None and chosen.value:
        draft.note(
            "unfrozen_parameters: all weights are trained here; name those that stay as they are in `freeze`, by "
            "patterns such as decoder.blocks.[0-9].*"
        )
    _write_loss(draft)
    draft.say()
    write_step(draft, longest=number)
    _write_noise(draft)
    write_rest(draft, metrics="loss", has_validation=draft.has_validation)
    _write_trackers(draft)
    _note_launch(draft)
    for concept in ("output_dir", "epochs", "validation", "fused_loss"):
        draft.account(draft.run.setting(concept))
    draft.key("num_epochs", "num_train_epochs")


def _write_longest(draft: Draft, found: tuple[Found, str] | None) -> int:
    """Writes `max_tokens`, which no longer text than the model has learned to read may have."""
    longest = draft.take("sequence_length")
    number = longest.value if longest is not None and longest.value > 1 else LONGEST
    window = found[0].window if found is not None else None
    if window is not None and number > window:
        draft.note(
            f"max_tokens is {window} rather than {number}: the model has not learned to read longer texts"
        )
        number = window
    draft.put("max_tokens", number, level=1, source=longest)
    return number


def _read_model(draft: Draft, name: str) -> tuple[Found, str] | None:
    """What the files of a model that is on this machine say, and its kind."""
    from trimtab.config.pretrained.fill import read_pretrained_model
    from trimtab.config.pretrained.place import find_pretrained

    for folder in (Path.cwd(), Path(draft.run.document.path).parent):
        try:
            place = find_pretrained(name, folder=folder)
            return read_pretrained_model(place, task="language_model")
        except InputError:
            continue  # what is wrong with it is said when the recipe is read
    return None


def _names_of_weights(found: tuple[Found, str] | None, pattern: str) -> tuple[str, ...]:
    """Patterns of a recipe for one over names in transformers. Where the model is not on this machine, names as Llama
    has them leave open what computes it, since Gemma has the same."""
    if found is None:
        return () if pattern.partition(".")[0] in ("model", "lm_head", "*") else in_module(pattern)
    shape, kind = found
    if kind == "transformers":
        return in_module(pattern)
    return own_patterns(pattern, tied=shape.shape["tie_embeddings"])


def _write_trackers(draft: Draft) -> None:
    """Writes `log`: trackers that get the metrics of the run."""
    if draft.run.tool == "axolotl":
        named = {
            "wandb": _said(draft, "wandb_project"),
            "mlflow": _said(draft, "mlflow_experiment_name"),
            "tensorboard": _said(draft, "use_tensorboard"),
            "trackio": _said(draft, "trackio_project_name"),
        }
        chosen, source = [name for name, value in named.items() if value], None
    else:
        source = draft.key("report_to")
        value = source.value if source is not None else None
        given = [value] if isinstance(value, str) else (text_list(value) or [])
        known = get_args(TrackerName)
        chosen = [each for each in given if each in known]
    if chosen:
        draft.put("log", chosen, source=source)


def _said(draft: Draft, key: str) -> object:
    setting = draft.key(key)
    return setting.value if setting is not None else None


def _note_launch(draft: Draft) -> None:
    """Says how several processes are started, where the file has them share the model."""
    sharded = [
        draft.take(concept) for concept in ("deepspeed", "fsdp", "zero_stage", "offload", "wrapped_layers")
    ]
    for key, setting in draft.run.keys.items():
        if key.partition(".")[0] in ("deepspeed", "fsdp", "fsdp_config", "fsdp_version"):
            draft.account(setting)
    if not any(setting is not None and setting.is_written for setting in sharded):
        return
    stage = draft.run.value("zero_stage")
    whole = draft.run.value("adapter") not in (None, "none") or (stage is not None and stage < 3)
    shards = "" if whole else "; `parallel: {kind: fsdp}` divides a model over them that one GPU cannot hold"
    draft.note(
        "several GPUs: `torchrun --nproc-per-node 4 -m trimtab train RECIPE`, with the same recipe and the same steps"
        f"{shards}"
    )


def _write_noise(draft: Draft) -> None:
    alpha = draft.take("neftune_alpha")
    if alpha is not None and 0 < alpha.value <= MOST_NOISE:
        draft.put("neftune_alpha", alpha.value, level=1, source=alpha)


def _write_loss(draft: Draft) -> None:
    smoothing = draft.take("label_smoothing")
    value = smoothing.value if smoothing is not None and 0 <= smoothing.value < 1 else 0.0
    draft.say()
    draft.say(f"loss: {{kind: cross_entropy, label_smoothing: {value:g}}}", comment=draft.origin(smoothing))
