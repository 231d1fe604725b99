"""Tags at work: which a run was trained with, and the error where lines come with others, or with none."""

from collections.abc import Iterator, Sequence

from trimtab.config.data import DataConfig
from trimtab.config.reserved import SEPARATOR
from trimtab.data.context import context_of
from trimtab.data.stored_tokenizer import AnyTokenizer
from trimtab.errors import input_error
from trimtab.finding import Finding
from trimtab.run_findings.data import VALIDATION_SET_WITHOUT_TAGS
from trimtab.run_findings.evaluations import TAGS_UNLIKE_TRAINING


def trained_tags(config: DataConfig) -> tuple[str, ...]:
    """Every tag of a training corpus, of both directions, each once."""
    tags = [tag for corpus in config.train for tag in (*corpus.tags, *corpus.reverse_tags)]
    return tuple(dict.fromkeys(tags))


def always_tagged(config: DataConfig) -> bool:
    """Whether no line was trained on without a tag."""
    return all(corpus.tags and (corpus.reverse_tags or not corpus.both_directions) for corpus in config.train)


def meant_tags(tags: Sequence[str], tokenizer: AnyTokenizer, *, config: DataConfig) -> tuple[str, ...]:
    """The tags as the vocabulary spells them: `ui` is `<ui>` where there is no tag `ui`."""
    known = vocabulary_tags(tokenizer, config)
    return tuple(f"<{tag}>" if tag not in known and f"<{tag}>" in known else tag for tag in tags)


def check_tags(tags: Sequence[str], tokenizer: AnyTokenizer, *, config: DataConfig) -> tuple[str, ...]:
    """The tags that are meant, see `meant_tags`. Raises InputError for a tag that the vocabulary does not have, or has
    as a piece of ordinary text or as the separator, which is put between texts and before none."""
    known, tags = vocabulary_tags(tokenizer, config), meant_tags(tags, tokenizer, config=config)
    for tag in tags:
        tokenizer.id(tag, tags=known)
        if tag not in known:
            what = "the separator" if tag in tokenizer.symbols else "a piece of ordinary text"
            raise input_error(
                f"{tag!r} is {what}, not a tag",
                got=tag,
                allowed=" or ".join(known) or "none, because the vocabulary has no tags",
                fix="take a tag of the vocabulary, or leave it out" if known else "leave it out",
            )
    return tags


def vocabulary_tags(tokenizer: AnyTokenizer, config: DataConfig) -> tuple[str, ...]:
    """The symbols of the vocabulary that may come before a line: all but separators, of pairs and of context."""
    context = context_of(config)
    separators = {SEPARATOR, SEPARATOR if context is None else context.separator}.difference(
        trained_tags(config)
    )
    return tuple(symbol for symbol in tokenizer.symbols if symbol not in separators)


def unlike_training(tags: Sequence[str], config: DataConfig) -> Iterator[Finding]:
    """A warning where lines to translate are tagged as no line of the training was."""
    known = trained_tags(config)
    strange = [tag for tag in tags if tag not in known]
    if not tags and always_tagged(config):
        message = f"lines come without a tag, and every line of the training had one of {', '.join(known)}"
    elif strange:
        message = (
            f"no line of the training had {' or '.join(strange)}; its tags are {', '.join(known) or 'none'}"
        )
    else:
        return
    yield TAGS_UNLIKE_TRAINING.found(
        message,
        fix=f"give one with --tag, or `tags` in Python: {' or '.join(known)}"
        if known
        else "leave the tag out",
    )


def untagged_sets(config: DataConfig) -> Iterator[Finding]:
    """A warning for each validation set without tags, where every line that is trained on has one."""
    if not always_tagged(config):
        return
    for name, files in config.valid.items():
        if not files.tags:
            yield VALIDATION_SET_WITHOUT_TAGS.found(
                f"the validation set {name} has no tags, but every training corpus has: "
                f"{', '.join(trained_tags(config))}"
            )
