"""D103 option-of-a-transform-not-applied"""

from collections.abc import Iterator

from trimtab.checks.corpora import Corpus, corpora_of, setting_of
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import own_value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de{transforms}}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\nsrc_subword_model: en-de.model\n"
    "tgt_subword_model: en-de.model\nsave_model: out/model\nencoder_type: transformer\n"
    "decoder_type: transformer\nhidden_size: 512\nword_vec_size: 512\nposition_encoding: true\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\n"
)

RULE = Rule(
    code="D103",
    name="option-of-a-transform-not-applied",
    severity="warning",
    message="`{key}` is read by {transforms} only, which no corpus applies",
    why="These tools transform only what a corpus, or the file as a whole, lists under `transforms`; the "
    "options of other transforms are accepted and left unread. {effect}",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/utils/parse.py",
            "A corpus without `transforms` gets the file's default list, which is empty unless written.",
        ),
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/issues/2127",
            "Running out of memory on long lines: the length filter has to be listed by hand.",
            opened=False,
        ),
    ),
    fix=Fix("list {transforms} under `transforms`, or remove `{key}`"),
    bad=Example("opennmt.yaml", _YAML.format(transforms="")),
    good=Example("opennmt.yaml", _YAML.format(transforms=", transforms: [sentencepiece]")),
    tips=("S1-12",),
    symptoms=(
        "everything is <unk>",
        "out of memory at a random step",
        "a setting has no effect",
        "BLEU is zero",
    ),
)
_UNSEGMENTED = "Here the text is never cut into subwords, so that most words are unknown."
_UNTAGGED = "Here the tag never reaches the model."
_UNFILTERED = "Here no sentence is too long: one very long line can end the run for lack of memory."
_SUBWORD = ("sentencepiece", "bpe", "onmt_tokenize")
_READERS: dict[str, tuple[tuple[str, ...], str]] = {
    "src_subword_model": (_SUBWORD, _UNSEGMENTED),
    "tgt_subword_model": (_SUBWORD, _UNSEGMENTED),
    "src_subword_nbest": (_SUBWORD, ""),
    "tgt_subword_nbest": (_SUBWORD, ""),
    "src_subword_alpha": (_SUBWORD, ""),
    "tgt_subword_alpha": (_SUBWORD, ""),
    "src_seq_length": (("filtertoolong",), _UNFILTERED),
    "tgt_seq_length": (("filtertoolong",), _UNFILTERED),
    "switchout_temperature": (("switchout",), ""),
    "tokendrop_temperature": (("tokendrop",), ""),
    "tokenmask_temperature": (("tokenmask",), ""),
    "mask_ratio": (("bart", "denoising"), ""),
    "denoising_objective": (("denoising",), ""),
}
"""Options at the root of OpenNMT-py's and Mammoth's files; Eole keeps them under the transform's name."""
_OF_A_CORPUS = {"prefix": ("src_prefix", "tgt_prefix"), "suffix": ("src_suffix", "tgt_suffix")}


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the file lists its corpora with their transforms, so that nothing else can apply them: Eole merges in
    those of the checkpoint that `train_from` names."""
    corpora = [corpus for corpus in corpora_of(run) if not corpus.is_validation]
    goes_on = run.tool == "eole" and own_value(run, "training.train_from")
    if not corpora or goes_on or not run.is_written("output_dir"):
        return
    applied = {name for corpus in corpora_of(run) for name in corpus.transforms}
    for key, (readers, effect) in _READERS.items() if run.tool != "eole" else ():
        setting = run.written(key)
        if setting is not None and setting.value not in ("", None) and not applied.intersection(readers):
            yield _at(setting, _known(run, readers), effect)
    for setting in _configured(run) if run.tool == "eole" else ():
        name = setting.key.split(".")[1]
        if name not in applied:
            yield _at(setting, (name,), _UNSEGMENTED if name in _SUBWORD else "")
    for corpus in corpora:
        yield from _tags(run, corpus)


def _at(setting: Setting, readers: tuple[str, ...], effect: str) -> Diagnosis:
    severity = "error" if effect in (_UNSEGMENTED, _UNTAGGED) else None
    names = " or ".join(f"`{name}`" for name in readers)
    return RULE.at(setting, severity=severity, transforms=names, effect=effect)


def _known(run: Description, readers: tuple[str, ...]) -> tuple[str, ...]:
    """Of two names of one transform the one that the tool has."""
    other = "bart" if run.tool == "mammoth" else "denoising"
    return tuple(name for name in readers if name != other or len(readers) == 1)


def _configured(run: Description) -> Iterator[Setting]:
    """The first option of each transform that an Eole file sets, but prefixes, which inference uses too."""
    seen = {"prefix", "suffix"}
    for setting in run.below("transforms_configs"):
        parts = setting.key.split(".")
        if len(parts) > 2 and parts[1] not in seen:
            seen.add(parts[1])
            yield setting


def _tags(run: Description, corpus: Corpus) -> Iterator[Diagnosis]:
    for transform, options in _OF_A_CORPUS.items():
        for option in options if transform not in corpus.transforms else ():
            setting = setting_of(run, corpus, option)
            if setting is not None and setting.value:
                yield _at(setting, (transform,), _UNTAGGED)
                break
