"""Files, tokenizer and filters of OpenNMT-py, Eole and Mammoth as the branch `data` of a recipe."""

import re
from typing import Any

from trimtab.checks.conversion.draft import Draft, scalar
from trimtab.checks.conversion.modular import modules_of
from trimtab.checks.conversion.source_factors import opennmt_separator, write_features
from trimtab.checks.kinds.concept_map import text_list
from trimtab.checks.kinds.signs import mapping
from trimtab.checks.kinds.translation.corpora import VALID
from trimtab.checks.record import record
from trimtab.checks.setting import Setting

PLACEHOLDER = {"source": "train.source", "target": "train.target"}
MOST_TOKENS = 65536
VOCABULARY = 32_000
SMALLEST_VOCABULARY, LARGEST_VOCABULARY = 300, 1_000_000
SUBWORD_MODELS = ("src_subword_model", "tgt_subword_model")


@record
class Corpus:
    """One pair of files, with the key under which it stands."""

    name: str
    key: str
    sides: dict[str, Any]

    def files(self, source: str, target: str) -> dict[str, str]:
        """The two files, where both are there."""
        found = {"source": self.sides.get(source), "target": self.sides.get(target)}
        return {side: path for side, path in found.items() if isinstance(path, str) and path}


def write_data(draft: Draft) -> int:
    """Writes the branch `data`; gives the longest side in tokens."""
    corpora = list(_corpora(draft))
    draft.say("data:")
    draft.say(
        "# Paths start from this file's folder; there they start from where the command was run.", level=1
    )
    _write_train(draft, corpora)
    _write_valid(draft, corpora)
    _write_tokenizer(draft)
    write_features(draft)
    longest = _longest(draft)
    source = draft.take("sequence_length")
    draft.put("max_tokens", longest, level=1, source=source, why="end symbol included" if source else "")
    workers = draft.take("dataloader_workers")
    if workers is not None and workers.is_written and 0 <= workers.value <= 256:
        draft.put("workers", workers.value, level=1, source=workers)
    return longest


def has_validation(draft: Draft) -> bool:
    """Whether there are validation files to write."""
    return any(_valid_sets(list(_corpora(draft))))


def _corpora(draft: Draft) -> list[Corpus]:
    tree = mapping(draft.run.document.tree)
    found: list[Corpus] = []
    for key in ("data", "tasks"):
        for name, value in mapping(tree.get(key)).items():
            if isinstance(value, dict):
                found.append(Corpus(name, f"{key}.{name}", mapping(value)))
    return found


def _write_train(draft: Draft, corpora: list[Corpus]) -> None:
    draft.say("train:", level=1)
    training = [corpus for corpus in corpora if corpus.name != VALID]
    written = [corpus for corpus in training if len(corpus.files("path_src", "path_tgt")) == 2]
    seen: set[tuple[str, ...]] = set()
    modules = modules_of(draft)
    tags = {} if modules else _target_tags(training)
    for corpus in written:
        files = tuple(corpus.files("path_src", "path_tgt").values())
        if files in seen:
            draft.note(f"{corpus.key} has the files of another corpus, and is left out")
        else:
            direction = modules.of_task.get(corpus.name, "") if modules else ""
            _write_corpus(draft, corpus, tags.get(corpus.name, ""), direction=direction)
        seen.add(files)
    if tags:
        draft.note(
            "tasks that write different languages with decoders of their own share one here: each source line "
            "begins with "
            "a tag of its target"
        )
    for key in ("tasks", "data"):
        # A hub of data sets or a file of another shape is named among what is left.
        draft.account(draft.run.keys.get(f"{key}.{VALID}.transforms"))
    if not written:
        draft.say(f"- {_pair(PLACEHOLDER)}", level=2, comment="MISSING: put your files here")
        draft.note("no pair of training files is written there: put yours under data.train")
    weights = {str(corpus.sides.get("weight", 1)) for corpus in written}
    if len(weights) > 1:
        draft.note(
            "weights are not taken over: there they are shares of what is drawn, whatever the size of a corpus; here a "
            "weight multiplies a corpus's own size, so write share / lines, scaled so that the largest is near 1"
        )
    else:
        for corpus in written:
            draft.account(draft.run.keys.get(f"{corpus.key}.weight"))
    if not modules and any("enc_sharing_group" in corpus.sides for corpus in written):
        draft.note(
            "all tasks share one encoder and one decoder here; groups that share parts have no counterpart"
        )


def _target_tags(corpora: list[Corpus]) -> dict[str, str]:
    """By the name of a task the tag of what it writes, where tasks write several languages and no prefix tells
    which."""
    targets = {corpus.name: target for corpus in corpora if (target := _target(corpus))}
    if len(set(targets.values())) < 2 or any("src_prefix" in corpus.sides for corpus in corpora):
        return {}
    return {name: f"<2{target}>" for name, target in targets.items()}


def _target(corpus: Corpus) -> str:
    """`de` of a task `en-de`, else the last part of its decoder; empty if a corpus says neither."""
    pair, groups = corpus.sides.get("src_tgt"), text_list(corpus.sides.get("dec_sharing_group"))
    name = pair.rpartition("-")[2] if isinstance(pair, str) else groups[-1] if groups else ""
    return name if re.fullmatch(r"\w+", name) else ""


def _write_corpus(draft: Draft, corpus: Corpus, target: str, *, direction: str = "") -> None:
    for side in ("path_src", "path_tgt", "transforms", "src_tgt"):
        draft.account(draft.run.keys.get(f"{corpus.key}.{side}"))
    files = corpus.files("path_src", "path_tgt")
    # A direction has the tags of its corpora.
    more = f", direction: {scalar(direction)}" if direction else ""
    more = more or _more(_tags(draft, corpus) or ([target] if target else []))
    draft.say(f"- {_pair(files, more + opennmt_separator(draft))}", level=2, comment=corpus.key)


def _more(tags: list[str]) -> str:
    return f", tags: {scalar(tags)}" if tags else ""


def _tags(draft: Draft, corpus: Corpus) -> list[str]:
    """Words before each source line: what the transform `prefix` puts there."""
    setting = draft.run.keys.get(f"{corpus.key}.src_prefix")
    if setting is None or not isinstance(setting.value, str):
        return []
    draft.account(setting)
    return setting.value.split()


def _pair(files: dict[str, str], more: str = "") -> str:
    return f"{{source: {scalar(files['source'])}, target: {scalar(files['target'])}{more}}}"


def _valid_sets(corpora: list[Corpus]) -> dict[str, tuple[Corpus, dict[str, str]]]:
    sets: dict[str, tuple[Corpus, dict[str, str]]] = {}
    for corpus in corpora:
        own = corpus.files("path_src", "path_tgt") if corpus.name == VALID else {}
        beside = corpus.files("path_valid_src", "path_valid_tgt")
        files = own if len(own) == 2 else beside
        if len(files) == 2:
            sets[corpus.name] = (corpus, files)
    return sets


def _write_valid(draft: Draft, corpora: list[Corpus]) -> None:
    sets = _valid_sets(corpora)
    if not sets:
        draft.say("valid: {}", level=1, comment="MISSING: such as {source: dev.source, target: dev.target}")
        draft.note(
            "no validation files are written there: put yours under data.valid, or nothing chooses a checkpoint"
        )
        return
    if len(sets) == 1:
        corpus, files = next(iter(sets.values()))
        tag = _target_tags([each for each in corpora if each.name != VALID]).get(corpus.name)
        more = _direction(draft, corpus.name, is_one=True) or _more([tag] if tag else [])
        more += opennmt_separator(draft)
        draft.say(f"valid: {_pair(files, more)}", level=1, comment=corpus.key)
        _account_valid(draft, corpus)
        return
    draft.say("valid:", level=1)
    tags = _target_tags([corpus for corpus in corpora if corpus.name != VALID])
    for name, (corpus, files) in sets.items():
        more = _direction(draft, name) or _more(
            [tags[name]] if name in tags and not modules_of(draft) else []
        )
        more += opennmt_separator(draft)
        draft.say(f"{scalar(name)}: {_pair(files, more)}", level=2, comment=corpus.key)
        _account_valid(draft, corpus)


def _direction(draft: Draft, name: str, *, is_one: bool = False) -> str:
    """The direction of the validation set of a task; nothing where its name says it."""
    modules = modules_of(draft)
    direction = modules.of_task.get(name, "") if modules else ""
    return f", direction: {scalar(direction)}" if direction and (is_one or direction != name) else ""


def _account_valid(draft: Draft, corpus: Corpus) -> None:
    sides = ("path_src", "path_tgt") if corpus.name == VALID else ("path_valid_src", "path_valid_tgt")
    for side in sides:
        draft.account(draft.run.keys.get(f"{corpus.key}.{side}"))


def _write_tokenizer(draft: Draft) -> None:
    """Writes a sentencepiece model that both sides share, or asks for one to be trained of the same size."""
    models = {side: _transform_key(draft, side) for side in SUBWORD_MODELS}
    paths = {setting.value for setting in models.values() if setting and isinstance(setting.value, str)}
    draft.key("transforms")
    used = _transforms(draft)
    path = next(iter(paths)) if len(paths) == 1 else None
    if isinstance(path, str) and "sentencepiece" in used and "{" not in path:
        for setting in models.values():
            draft.account(setting)
        draft.say(
            f"tokenizer: {{kind: sentencepiece, path: {scalar(path)}}}", level=1, comment=SUBWORD_MODELS[0]
        )
        for key in ("src_vocab_size", "tgt_vocab_size"):
            draft.key(key)
        return
    size = draft.key("src_vocab_size", "tgt_vocab_size")
    draft.key("tgt_vocab_size")
    pieces = size.value if size is not None and isinstance(size.value, int) else VOCABULARY
    pieces = min(max(pieces, SMALLEST_VOCABULARY), LARGEST_VOCABULARY)
    model = "bpe" if "bpe" in used or _is_bpe(draft) else "unigram"
    draft.say(
        f"tokenizer: {{kind: sentencepiece, model: {model}, vocabulary_size: {pieces}}}",
        level=1,
        comment=draft.origin(size) or "a guess",
    )
    draft.note(
        "the tokenizer is trained again on the corpora: they must be plain text, not text that is cut into pieces "
        "already, and both languages share one vocabulary"
    )


def _transforms(draft: Draft) -> set[str]:
    """Names of the transforms of all corpora."""
    tree = mapping(draft.run.document.tree)
    whole = text_list(tree.get("transforms")) or []
    own = [text_list(corpus.sides.get("transforms")) or [] for corpus in _corpora(draft)]
    return {name for names in (whole, *own) for name in names}


def _transform_key(draft: Draft, name: str) -> Setting | None:
    keys = draft.run.keys
    found = next((key for key in keys if key == name or key.endswith(f".{name}")), None)
    return keys[found] if found is not None else None


def _is_bpe(draft: Draft) -> bool:
    kind = _transform_key(draft, "src_subword_type")
    return kind is not None and kind.value == "bpe"


def _longest(draft: Draft) -> int:
    length = draft.run.value("sequence_length")
    if length is None or length < 1:
        return 256
    return min(length + 1, MOST_TOKENS)
