"""Language models: documents in rows of one vocabulary, and pairs as source, separator and target in one row."""

from trimtab.config.reserved import SEPARATOR
from trimtab.config.run import Recipe
from trimtab.data.chat_rows import ChatRows
from trimtab.data.corpus import Corpus
from trimtab.data.exact_text import ExactText
from trimtab.data.stages import Stages
from trimtab.data.text_rows import TextFeed, passage_bytes
from trimtab.data.text_tokenizers import prepare_text_tokenizers
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.transforms.apply import Pipeline
from trimtab.data.valid_set import ValidSet, read_texts
from trimtab.metrics.metric import BleuTokenizer
from trimtab.tasks.text.datasets import Reader, Side, TextDatasets, TextKind
from trimtab.tasks.text.text_task import text_task


def plan_feed(
    recipe: Recipe, corpora: list[Corpus], pipeline: Pipeline, tokenizers: Tokenizers, stages: Stages
) -> TextFeed:
    """What turns positions of the stream into rows, by the mixture of the first stage."""
    exact, pairs = ExactText(tokenizers.target), any(not corpus.has_documents for corpus in corpora)
    separator = tokenizers.target.id(SEPARATOR) if pairs else None
    sets = (*recipe.data.train, *recipe.data.valid.values())
    chats = None
    if any(each.learn == "answers" for each in sets):
        chats = ChatRows.of(tokenizers.target, max_tokens=recipe.data.max_tokens)
    return TextFeed(corpora, pipeline, exact, stages.mixtures[0], recipe.data.max_tokens, separator, chats)


def read_set(name: str, corpus: Corpus, reader: Reader, *, max_tokens: int, bleu: BleuTokenizer) -> ValidSet:
    """A validation set of documents or of pairs, whole; its rows are as long as those that are trained on."""
    assert isinstance(reader.feed, TextFeed), "the feed is this task's own"
    return read_texts(name, corpus, reader.feed, bleu=bleu)


def sides(datasets: TextDatasets) -> list[Side]:
    """One vocabulary, since rows hold both sides of a pair and documents have but one."""
    return [Side("text", datasets.tokenizers.target, datasets.sample.target, "data.tokenizer", 1)]


KIND = TextKind(
    one_row=True,
    rows_end=False,
    passage_bytes=passage_bytes,
    prepare_tokenizers=prepare_text_tokenizers,
    plan_feed=plan_feed,
    read_valid=read_set,
    sides=sides,
)
LANGUAGE_MODEL = text_task("language_model", KIND)
