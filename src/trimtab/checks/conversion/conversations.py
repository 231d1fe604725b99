"""Data sets of Axolotl, LLaMA-Factory and TRL as files of the branch `data`."""

from shlex import quote
from statistics import fmean

from trimtab.checks.conversion.data_sets import DATA_SETS, DataSet, training_sets, validation_sets
from trimtab.checks.conversion.draft import Draft, RowTokens, scalar
from trimtab.checks.conversion.rewriting import commands, file_of
from trimtab.checks.conversion.row_sizes import row_sizes


def write_corpora(draft: Draft) -> None:
    """Writes the corpora, and notes what has to be done to their files."""
    corpora = draft.run.setting("corpora")
    found = training_sets(draft)
    on_prompts = draft.take("loss_on_prompt")
    learns_all = bool(on_prompts is not None and on_prompts.value) or draft.run.value("task") == "pretrain"
    draft.say("train:", level=1, comment=draft.origin(corpora))
    for each in found or [DataSet(key="", name="train.jsonl")]:
        _write(draft, each, learn="all" if learns_all or each.form == "texts" else "answers", level=2)
    held = validation_sets(draft)
    if len(held) == 1:
        _write(draft, held[0], learn="all" if held[0].form == "texts" else "answers", level=1, name="valid: ")
    elif held:
        draft.say("valid:", level=1)
        for number, each in enumerate(held, 1):
            learn = "all" if each.form == "texts" else "answers"
            _write(draft, each, learn=learn, level=2, name=f"valid_{number}: ")
    draft.has_validation = bool(held)
    if any(each.form in ("chats", "instructions") for each in found) and learns_all:
        draft.note(
            "prompts are learned too, as there: with `learn: all` a conversation is written out in ChatML rather than "
            "by the model's chat template; `learn: answers` is usual"
        )
    _note_rest(draft, found, has_corpora=corpora is not None)
    _estimate(draft, found, learns_all=learns_all)


def _write(draft: Draft, each: DataSet, *, learn: str, level: int, name: str = "- ") -> None:
    draft.say(f"{name}{{text: {scalar(file_of(each, learn=learn))}, learn: {learn}}}", level=level)
    if each.is_missing:
        draft.note(
            f"no {DATA_SETS} beside this file or in its `dataset_dir` explains the data set {each.name}: name its file"
            " in `data.train`"
        )
        return
    if each.key and each.form != "unread" and (lines := commands(each, learn=learn)):
        draft.note(f"make the file of {each.name}: `{' && '.join(lines)}`")
    if each.said == "own fields" or (each.form == "instructions" and draft.run.tool == "axolotl"):
        frame = "the format of its own" if each.said == "own fields" else "`### Instruction:`"
        draft.note(
            f"{each.key}: Axolotl writes {frame} around the text of a row; here the model's own chat template is used"
        )
    if each.form == "unread":
        draft.note(
            f"rows of the form `{each.said}` are not read here ({each.key}): write each as `prompt` and `completion`, "
            "or as `messages`"
        )


def _note_rest(draft: Draft, found: list[DataSet], *, has_corpora: bool) -> None:
    for concept in ("packing_isolated", "gradient_checkpointing"):
        draft.take(concept)
    template = draft.take("chat_template")
    if template is not None and template.is_written and template.value not in ("tokenizer_default", None):
        draft.note(
            f"{template.key} ({str(template.value)[:40]}) is left out: the template of the model's tokenizer is used"
        )
    if not has_corpora:
        draft.note("no data set is named there: name your files in `data.train`")
    share = draft.run.setting("validation")
    if share is not None and share.value and not draft.has_validation:
        _note_share(draft, found)


def _note_share(draft: Draft, found: list[DataSet]) -> None:
    """Says how the share of the rows is held out that is split off there."""
    setting = draft.key("val_set_size", "val_size")
    file = file_of(found[0], learn="answers") if found else "train.jsonl"
    share = setting.value if setting is not None and isinstance(setting.value, int | float) else 0.05
    # Never the file that is read: the shell empties it before the command begins.
    stem = file.removesuffix(".jsonl").removesuffix(".json")
    dev, train, read = f"{stem}.dev.jsonl", f"{stem}.train.jsonl", quote(file)
    if share >= 1:
        count = int(min(share, 10**9))
        held, kept = f"head -n {count} {read}", f"tail -n +{count + 1} {read}"
    else:
        every = max(2, round(1 / share)) if share > 0 else 20
        held, kept = f"awk 'NR % {every} == 0' {read}", f"awk 'NR % {every}' {read}"
    draft.note(
        f"a share is not split off here: hold rows out by `{held} > {quote(dev)} && {kept} > {quote(train)}`, put "
        f"{train} in the place of {file}, and set `data.valid: {{text: {dev}, learn: answers}}`, both from the "
        "folder of the recipe"
    )


def _estimate(draft: Draft, found: list[DataSet], *, learns_all: bool) -> None:
    """Remembers how many tokens a row has, where the files can be read."""
    sizes = [
        size
        for each in found
        if (size := row_sizes(each, learn="all" if learns_all or each.form == "texts" else "answers"))
    ]
    if sizes:
        whole, counted = fmean(each.tokens for each in sizes), fmean(each.counted for each in sizes)
        draft.row_tokens = RowTokens(max(1, round(whole)), max(1, round(counted)))
