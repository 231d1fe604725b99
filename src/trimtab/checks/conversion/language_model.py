"""A draft of a recipe that fine-tunes a language model: what it lacks, the model's folder above all, the text says."""

from trimtab.checks.conversion.draft import Draft, scalar
from trimtab.checks.conversion.step import write_rest, write_step
from trimtab.checks.conversion.tasks import note_adapter
from trimtab.checks.setting import Setting

UNFINISHED = (
    "this is a draft and no recipe: name the folder of a Llama, Mistral or Qwen model and your own files of texts or "
    "conversations (docs/how_to/fine_tune_pretrained.md). The other values have their counterparts"
)


def write_language_model(draft: Draft) -> None:
    """Writes what has a counterpart."""
    draft.note(UNFINISHED)
    note_adapter(draft)
    if draft.run.setting("task") is None:
        draft.note("what is learned cannot be read there; a language model is assumed")
    draft.account(draft.run.setting("task"))
    draft.say("task: language_model")
    draft.say()
    draft.say("data:")
    corpora = draft.run.setting("corpora")
    _account_paths(draft, corpora)
    draft.say("train:", level=1, comment=draft.origin(corpora))
    for name in corpora.value if corpora is not None else ["train.jsonl"]:
        draft.say(f"- {{text: {scalar(name)}}}", level=2)
    if corpora is not None:
        draft.note("the data sets are named as they are there; here they are files of text")
    longest = draft.take("sequence_length")
    number = longest.value if longest is not None and longest.value > 1 else 1024
    draft.put("max_tokens", number, level=1, source=longest)
    draft.say()
    name = draft.take("model_name")
    if name is not None:
        draft.say(f"model: {{kind: pretrained, path: {scalar(name.value)}}}", comment=draft.origin(name))
    else:
        draft.say("model: {kind: decoder, preset: small}", comment="no model is named there")
    _write_loss(draft)
    draft.say()
    write_step(draft, longest=number)
    write_rest(draft, metrics="loss", has_validation=bool(draft.run.value("validation")))
    draft.account(draft.run.setting("output_dir"))


def _account_paths(draft: Draft, corpora: Setting | None) -> None:
    """Counts the names of data sets as taken over, not what else is said of them."""
    start = corpora.key if corpora is not None else ""
    for key, setting in draft.run.keys.items():
        if start and (key == start or (key.startswith(f"{start}.") and key.endswith(".path"))):
            is_group = isinstance(setting.value, list) and key == start
            draft.account(None if is_group else setting)


def _write_loss(draft: Draft) -> None:
    smoothing = draft.take("label_smoothing")
    value = smoothing.value if smoothing is not None and 0 <= smoothing.value < 1 else 0.0
    draft.say()
    draft.say(f"loss: {{kind: cross_entropy, label_smoothing: {value:g}}}", comment=draft.origin(smoothing))
