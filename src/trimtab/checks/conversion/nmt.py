"""Files and vocabularies of Marian, Sockeye and fairseq as the branch `data` of a recipe, and what else is theirs."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trimtab.checks.conversion.corpora import (
    LARGEST_VOCABULARY,
    MOST_TOKENS,
    PLACEHOLDER,
    SMALLEST_VOCABULARY,
    VOCABULARY,
)
from trimtab.checks.conversion.draft import Draft, number, scalar
from trimtab.checks.conversion.source_factors import (
    named_files,
    note_without_vocabulary,
    source_factors,
    write_factors,
)
from trimtab.checks.document import Call
from trimtab.checks.kinds.concept_map import text_list
from trimtab.checks.kinds.nmt.programs import program_of
from trimtab.checks.listed import numbers
from trimtab.checks.setting import Setting

TOOLS = frozenset({"marian", "sockeye", "fairseq"})
SEGMENTED = re.compile(
    r"(?:^|[._/-])(?:bpe|spm|sp|tok|tokenized|tc|sub|subword)\d*k?(?:[._/-]|$)", re.IGNORECASE
)
"""In the path of a file: its lines are cut into pieces or tokens already."""
SAYING_THE_SAME = {
    "": ("embed_dropout", "dropout_src", "dropout_trg", "layerdrop"),
    "hidden_size": ("num_embed", "encoder_embed_dim", "decoder_embed_dim", "embed_dim"),
    "heads": ("encoder_attention_heads", "attention_heads"),
    "feed_forward": ("encoder_ffn_embed_dim", "ffn_embed_dim"),
}
"""Options that say what a concept says already, or nothing where they are 0."""
MOST_WEIGHT = 10
"""Of guided alignment; a recipe allows no more."""
IMPLIED = {
    "marian": frozenset(
        {
            "type", "task", "devices", "workspace", "log", "valid-log", "log-level", "log-time-zone", "disp-freq",
            "disp-first", "disp-label-counts", "quiet", "quiet-translation", "quiet-validation", "sync-sgd",
            "mini-batch-fit", "maxi-batch", "maxi-batch-sort", "overwrite", "keep-best", "tempdir", "shuffle",
            "shuffle-in-ram", "valid-mini-batch", "valid-metrics", "valid-script-path", "valid-script-args",
            "valid-translation-output", "lr-report", "mini-batch", "no-nccl", "num-devices", "relative-paths", "config",
            "tied-embeddings", "tied-embeddings-all", "tied-embeddings-src", "cost-type", "sigterm", "cpu-threads",
            "no-restore-corpus", "transformer-postprocess-emb", "transformer-postprocess-top", "transformer-preprocess",
            "transformer-postprocess", "data-threads", "version", "sqlite", "fp16", "precision", "cost-scaling",
        }
    ),
    "sockeye": frozenset(
        {
            "device_id", "env", "quiet", "quiet_secondary_workers", "no_logfile", "loglevel", "use_cpu", "dist",
            "overwrite_output", "bucket_width", "bucket_scaling", "no_bucketing", "decode_and_evaluate",
            "batch_sentences_multiple_of", "shared_vocab", "weight_tying_type", "encoder", "decoder", "tf32",
            "pad_vocab_to_multiple_of", "transformer_preprocess", "transformer_postprocess", "config",
            "num_words", "gradient_clipping_type", "transformer_feed_forward_use_glu", "max_checkpoints",
        }
    ),
    "fairseq": frozenset(
        {
            "arch", "task", "criterion", "log_format", "log_interval", "no_progress_bar", "ddp_backend", "eval_bleu",
            "eval_bleu_args", "eval_bleu_detok", "eval_bleu_detok_args", "eval_bleu_remove_bpe",
            "eval_bleu_print_samples", "best_checkpoint_metric", "maximize_best_checkpoint_metric",
            "no_epoch_checkpoints", "no_last_checkpoints", "tensorboard_logdir", "wandb_project", "source_lang",
            "target_lang", "share_all_embeddings", "share_decoder_input_output_embed", "left_pad_source", "cpu",
            "fp16_init_scale", "fp16_scale_window", "min_loss_scale", "distributed_world_size", "distributed_port",
            "distributed_no_spawn", "data", "find_unused_parameters", "validate_interval", "save_interval",
            "skip_invalid_size_inputs_valid_test", "memory_efficient_fp16", "memory_efficient_bf16", "update_freq",
            "_name",
        }
    ),
}  # fmt: skip
"""What follows from the machine, from the model that is written, or from how a recipe is run, by its last part."""


def write_files(draft: Draft) -> int:
    """Writes the branch `data`; gives the longest side in tokens."""
    draft.say("data:")
    draft.say(
        "# Paths start from this file's folder; there they start from where the command was run.", level=1
    )
    trained, held = _training_files(draft), _validation_files(draft)
    _write_train(draft, trained)
    _write_valid(draft, held)
    _write_tokenizer(draft, [*trained, *held])
    write_factors(draft)
    length = draft.take("sequence_length")
    is_written = length is not None and length.is_written
    longest = 256 if length is None or not 1 <= length.value < MOST_TOKENS else length.value + 1
    if draft.run.tool == "fairseq" and not is_written:
        longest = 256
        length = None
    draft.put("max_tokens", longest, level=1, source=length, why="end symbol included" if length else "")
    return longest


def has_validation(draft: Draft) -> bool:
    """Whether there are validation files to write."""
    return len(_validation_files(draft)) == 2


def _training_files(draft: Draft) -> list[str]:
    """Source and target; those that were binarized or prepared are looked for in the command that did it."""
    setting = draft.take("corpora")
    files: list[str] = list(setting.value) if setting is not None else []
    if draft.run.tool == "marian":
        return files
    if draft.run.tool == "sockeye" and draft.run.keys.keys() & {"source"}:
        draft.key("target")
        return files[:2]
    return _prepared(draft, files[0] if files else None, "train")


def _validation_files(draft: Draft) -> list[str]:
    setting = draft.take("validation_files")
    if setting is not None:
        draft.key("validation-target", "validation_target")
        return list(setting.value)
    if draft.run.tool != "fairseq":
        return []
    corpora = draft.run.value("corpora")
    return _prepared(draft, corpora[0] if corpora else None, "valid")


def _prepared(draft: Draft, folder: str | None, split: str) -> list[str]:
    """The texts that `sockeye-prepare-data` or `fairseq-preprocess` of the same script reads to make a folder."""
    for call in draft.run.document.calls:
        match program_of(call):
            case "sockeye-prepare" if _text(call, "output", "o") in (folder, None):
                files = [_text(call, "source", "s"), _text(call, "target", "t")]
                return [file for file in files if file]
            case "fairseq-preprocess" if _is_folder(_text(call, "destdir"), folder):
                prefix = (_text(call, f"{split}pref") or "").split(",")[0]
                sides = [_text(call, name, name[0]) for name in ("source_lang", "target_lang")]
                if prefix and all(sides):
                    return [f"{prefix}.{side}" for side in sides]
            case _:
                pass
    return []


def _is_folder(made: str | None, folder: str | None) -> bool:
    return made is None or folder is None or made.rstrip("/") == folder.rstrip("/")


def _text(call: Call, *names: str) -> str | None:
    found = next((call.arguments[name].value for name in names if name in call.arguments), None)
    return found if isinstance(found, str) else None


def _write_train(draft: Draft, files: list[str]) -> None:
    draft.say("train:", level=1)
    path = alignment_file(draft)
    links = f", alignments: {scalar(path)}" if path else ""
    links += named_files(draft, source_factors(draft).train)
    if pairs := _in_one_file(draft, files):
        draft.say(f"- {pairs[:-1]}{links}}}", level=2, comment="columns 1 and 2")
        return
    if len(files) == 2:
        sides = f"source: {scalar(files[0])}, target: {scalar(files[1])}{links}"
        draft.say(f"- {{{sides}}}", level=2, comment=_origin(draft))
        return
    draft.say(
        f"- {{source: {scalar(PLACEHOLDER['source'])}, target: {scalar(PLACEHOLDER['target'])}}}",
        level=2,
        comment="MISSING: put your files here",
    )
    if len(files) > 2:
        draft.note(f"{len(files)} files are read side by side there; a recipe has one source and one target")
    else:
        what = {
            "fairseq": "the folder of binarized data holds no text",
            "sockeye": "prepared data hold no text",
        }
        draft.note(
            f"no pair of training files is written there"
            f"{' (' + what[draft.run.tool] + ')' if draft.run.tool in what else ''}: put yours under data.train"
        )


def alignment_file(draft: Draft) -> str:
    """The word alignments of Marian's training files, where both tools count the words between white space.

    With a sentencepiece model Marian counts pieces, and files that are cut into pieces are none to train on here."""
    setting = draft.run.keys.get("guided-alignment")
    if draft.run.tool != "marian" or setting is None or not _says_alignments(setting):
        return ""
    vocabularies = draft.run.keys.get("vocabs")
    names = (text_list(vocabularies.value) or []) if vocabularies is not None else []
    corpora: list[str] = draft.run.value("corpora") or list[str]()
    reads_words = bool(names) and not any(name.endswith(".spm") for name in names)
    if not reads_words or len(corpora) not in (1, 2) or any(map(SEGMENTED.search, corpora)):
        return ""
    return str(setting.value)


def guided_alignment_loss(draft: Draft) -> str:
    """The loss of guided alignment as a part of `loss`, accounted for; empty where there is no file for it."""
    if not alignment_file(draft):
        return ""
    draft.note(
        "guided alignment: the links count the words of these files as they are; if you name other files, align those"
    )
    draft.key("guided-alignment")
    draft.key("guided-alignment-weight")
    cost = draft.run.keys.get("guided-alignment-cost")
    if cost is not None and cost.value == "ce":
        draft.account(cost)
    return f", guided_alignment: {{weight: {number(_alignment_weight(draft))}}}"


def _says_alignments(setting: Setting | None) -> bool:
    return setting is not None and isinstance(setting.value, str) and setting.value not in ("none", "")


def _alignment_weight(draft: Draft) -> float:
    """Marian's default is 0.1, as it is here, also in place of what a recipe does not allow."""
    setting = draft.run.keys.get("guided-alignment-weight")
    value = setting.value if setting is not None else None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MOST_WEIGHT:
        return float(value)
    return 0.1


def _origin(draft: Draft) -> str:
    setting = draft.run.setting("corpora")
    return draft.origin(setting)


def _in_one_file(draft: Draft, files: list[str]) -> str:
    tabs = draft.key("tsv")
    if tabs is None or tabs.value is not True or len(files) != 1 or files[0] in ("stdin", "-"):
        return ""
    return f"{{pairs: {scalar(files[0])}, source: 1, target: 2}}"


def _write_valid(draft: Draft, files: list[str]) -> None:
    if pairs := _in_one_file(draft, files):
        draft.say(f"valid: {pairs}", level=1)
    elif len(files) == 2:
        beside = named_files(draft, source_factors(draft).valid)
        draft.say(f"valid: {{source: {scalar(files[0])}, target: {scalar(files[1])}{beside}}}", level=1)
    else:
        draft.say("valid: {}", level=1, comment="MISSING: such as {source: dev.source, target: dev.target}")
        draft.note(
            "no validation files are written there: put yours under data.valid, or nothing chooses a checkpoint"
        )


def _write_tokenizer(draft: Draft, files: list[str]) -> None:
    """A sentencepiece model as it is; for a list of pieces a tokenizer that is trained again."""
    if cut := [file for file in files if SEGMENTED.search(file)]:
        draft.note(
            f"{', '.join(dict.fromkeys(cut))} look cut into pieces already: name the files from before that step"
        )
    vocabularies = draft.key("vocabs") if draft.run.tool == "marian" else None
    names = (text_list(vocabularies.value) or []) if vocabularies is not None else []
    sampled = _sampling(draft)
    if names and all(name.endswith(".spm") for name in names):
        source, target = names[0], names[-1]
        draft.say(
            f"tokenizer: {{kind: sentencepiece, path: {scalar(target)}{sampled}}}", level=1, comment="vocabs"
        )
        if source != target:
            draft.say(f"source_tokenizer: {{kind: sentencepiece, path: {scalar(source)}{sampled}}}", level=1)
        _note_missing(draft, names)
        draft.key("dim-vocabs")
        return
    size = draft.key("dim-vocabs", "num-words", "num_words")
    pieces = _pieces(size)
    model = "bpe" if any("bpe" in file.lower() for file in [*files, *names]) else "unigram"
    sampled = sampled if model == "unigram" else ""
    draft.say(
        f"tokenizer: {{kind: sentencepiece, model: {model}, vocabulary_size: {pieces}{sampled}}}",
        level=1,
        comment=draft.origin(size) if size is not None else "a guess",
    )
    for name in ("source-vocab", "target-vocab", "source_vocab", "target_vocab", "joined-dictionary"):
        draft.key(name)
    listed = f" ({', '.join(dict.fromkeys(names))})" if names else ""
    draft.note(
        f"a recipe cannot use the list of words or pieces there{listed}; trimtab trains a new tokenizer on plain text"
    )


def _pieces(size: Setting | None) -> int:
    counts = [int(each) for each in numbers(size.value) if each > 0] if size is not None else []
    return min(max(counts[-1] if counts else VOCABULARY, SMALLEST_VOCABULARY), LARGEST_VOCABULARY)


def _note_missing(draft: Draft, names: list[str]) -> None:
    """Marian trains a sentencepiece model that is not there; a recipe does so where no path is given."""
    folder = Path(draft.run.document.path).parent
    missing = [name for name in dict.fromkeys(names) if not (folder / name).is_file()]
    if missing:
        pieces = _pieces(draft.key("dim-vocabs"))
        draft.note(
            f"{' and '.join(missing)}: not beside this file; if Marian was to train it, write "
            f"{{kind: sentencepiece, model: unigram, vocabulary_size: {pieces}}}"
        )


def _sampling(draft: Draft) -> str:
    """The sampling of pieces, where source and target have the same."""
    setting = draft.run.keys.get("sentencepiece-alphas")
    values = numbers(setting.value) if setting is not None else []
    if setting is None or not values or len(set(values)) > 1 or not 0 < values[0] <= 100:
        return ""
    draft.account(setting)
    return f", sampling: {{kind: subword_regularization, alpha: {number(values[0])}}}"


def ties(draft: Draft) -> tuple[str, Setting | None]:
    """`all`, `decoder` or `none`, and the option that says it; empty where nothing does."""
    tied, shared = draft.take("tied_embeddings"), draft.run.value("shared_vocabulary")
    if tied is None or tied.value is False:
        return "" if tied is None else "none", tied
    kind: Any = tied.value
    option = tied.key.rpartition(".")[2].replace("_", "-")
    if option == "weight-tying-type":
        setting = draft.run.keys.get(tied.key)
        kind = setting.value if setting is not None else "src_trg_softmax"
        return ("all" if kind == "src_trg_softmax" else "decoder"), tied
    is_all = option in ("tied-embeddings-all", "share-all-embeddings")
    return ("all" if is_all and shared is not False else "decoder"), tied


def account_implied(draft: Draft) -> None:
    """Counts as taken over what says the same once more, or belongs to the machine."""
    names = IMPLIED.get(draft.run.tool, frozenset())
    same = {
        name: draft.run.value(concept) if concept else 0
        for concept, each in SAYING_THE_SAME.items()
        for name in each
    }
    for setting in _written(draft):
        last = setting.key.rpartition(".")[2].replace("-", "_")
        is_same = last in same and set(numbers(setting.value)) == {same[last]}
        if is_same or last in names or last.replace("_", "-") in names:
            draft.account(setting)


def note_kept_out(draft: Draft) -> None:
    """Names what this family has and a recipe has not, or has elsewhere."""
    written = {setting.key.rpartition(".")[2].replace("_", "-"): setting for setting in _written(draft)}
    if not alignment_file(draft) and _says_alignments(
        written.get("guided-alignment") or written.get("load-alignments")
    ):
        value = _alignment_weight(draft)
        draft.note(
            "guided alignment: the file counts pieces there and words here; align the words of the files, name the new "
            f"file as `alignments` in data.train, and set `loss.guided_alignment: {{weight: {number(value)}}}`"
        )
    cost = written.get("guided-alignment-cost")
    if draft.run.tool == "marian" and cost is not None and cost.value != "ce":
        draft.note(
            f"the cost {cost.value} of guided alignment has no counterpart: cross-entropy is used, `ce` there"
        )
    if any(name.startswith("target-factor") and setting.value for name, setting in written.items()):
        draft.note("target factors have no counterpart")
    if draft.run.tool == "marian" and any(re.match(r"factors?-|lemma-", name) for name in written):
        note_without_vocabulary(draft)
    for name, usual in (("transformer-decoder-autoreg", "self-attention"), ("decoder", "transformer")):
        chosen = written.get(name)
        if chosen is not None and chosen.value != usual and draft.account(chosen):
            draft.note(f"a decoder of the kind {chosen.value} has no counterpart; it has self-attention here")
    task = written.get("task")
    if draft.run.tool == "marian" and task is not None and "type" not in written:
        draft.note(f"what is not written is as `task: {', '.join(text_list(task.value) or [])}` sets it")


def _written(draft: Draft) -> Iterator[Setting]:
    yield from draft.run.keys.values()
