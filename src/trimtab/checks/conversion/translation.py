"""A translation recipe from the description of a run."""

from trimtab.checks.conversion import corpora, nmt
from trimtab.checks.conversion.draft import Draft
from trimtab.checks.conversion.freezing import note_freezing
from trimtab.checks.conversion.model import write_model
from trimtab.checks.conversion.step import write_rest, write_step

WIDTHS = frozenset(
    {"word_vec_size", "src_word_vec_size", "tgt_word_vec_size", "enc_hid_size", "dec_hid_size"}
)
IMPLIED = frozenset(
    {
        "architecture", "gpu_backend", "gpu_ranks", "n_nodes", "node_gpu", "node_rank", "position_encoding",
        "report_every", "world_size",
    }
)  # fmt: skip
"""What follows from the machine, from the model written above, or from how a recipe is run."""
EMPTY = (
    ("encoder_type", "transformer"),
    ("decoder_type", "transformer"),
    ("accum_steps", [0]),
    ("dropout_steps", [0]),
    ("tgt_prefix", ""),
    ("introduce_at_training_step", 0),
)
"""Values that say nothing that would not be so anyway."""


def write_translation(draft: Draft) -> None:
    """Writes the whole recipe; it loads, with names of files to fill in where none are written."""
    draft.account(draft.run.setting("task"))
    draft.say("task: translation")
    draft.say()
    files = nmt if draft.run.tool in nmt.TOOLS else None
    longest = files.write_files(draft) if files else corpora.write_data(draft)
    draft.say()
    write_model(draft)
    draft.say()
    _write_loss(draft)
    draft.say()
    write_step(draft, longest=longest)
    is_validated = (files or corpora).has_validation(draft)
    write_rest(draft, metrics="bleu, chrf", has_validation=is_validated)
    _tell_differences(draft)


def _write_loss(draft: Draft) -> None:
    smoothing = draft.take("label_smoothing")
    value = smoothing.value if smoothing is not None and 0 <= smoothing.value < 1 else None
    inside = "" if value is None else f", label_smoothing: {value:g}"
    guided = nmt.guided_alignment_loss(draft)
    draft.say(f"loss: {{kind: cross_entropy{inside}{guided}}}", comment=draft.origin(smoothing))


def _tell_differences(draft: Draft) -> None:
    begun = draft.run.setting("from_scratch")
    if begun is not None and begun.value is False:
        draft.note(
            "it continues from other weights there, which are not read: this recipe begins with random ones, and "
            "`model.warm_start: RUN` begins with those of a run of trimtab"
        )
    note_freezing(draft)
    adapter = draft.take("adapter")
    if adapter is not None and adapter.value != "none":
        draft.note(f"the adapter ({adapter.value}) has no counterpart yet: the whole model is trained")
    unit = draft.take("loss_normalization")
    if unit is not None and unit.value == "examples":
        draft.note(
            "there the loss is divided by the number of sentences, so that long ones count more; here every target "
            "token counts the same"
        )
    draft.account(draft.run.setting("output_dir"))
    _account_implied(draft)
    if draft.run.tool in nmt.TOOLS:
        nmt.account_implied(draft)
        nmt.note_kept_out(draft)


def _account_implied(draft: Draft) -> None:
    """Counts as taken over what says the same once more, or says nothing."""
    width = draft.run.value("hidden_size")
    for key, setting in draft.run.keys.items():
        name, value = key.rpartition(".")[2], setting.value
        is_same = name in WIDTHS and value == width
        is_nothing = any(name == empty and value == nothing for empty, nothing in EMPTY)
        if name in IMPLIED or is_same or is_nothing:
            draft.account(setting)
