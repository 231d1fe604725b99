"""Translation: pairs of lines, each side with its own stream and perhaps its own vocabulary."""

from collections.abc import Sequence
from typing import Any

from trimtab.config.data import DataConfig
from trimtab.config.run import Recipe
from trimtab.data.chunk import Feed
from trimtab.data.context import plan_contexts
from trimtab.data.corpus import Corpus
from trimtab.data.factored_pieces import FactoredPieces, pieces_alone
from trimtab.data.noises import plan_noises
from trimtab.data.stages import Stages
from trimtab.data.subword_sampling import plan_sampling
from trimtab.data.tokenizers import Tokenizers, prepare_tokenizers
from trimtab.data.transforms.apply import Pipeline
from trimtab.data.valid_set import ValidSet, read_valid
from trimtab.data.word_alignments import plan_links
from trimtab.metrics.metric import BleuTokenizer
from trimtab.tasks.text.datasets import Reader, Side, TextDatasets, TextKind
from trimtab.tasks.text.text_task import text_task


def whole_lines(config: DataConfig) -> None:
    """Documents are not read in passages: each line is an example."""
    return


def plan_feed(
    recipe: Recipe, corpora: list[Corpus], pipeline: Pipeline, tokenizers: Tokenizers, stages: Stages
) -> Feed:
    """What turns positions of the stream into ids, by the mixture of the first stage."""
    config = recipe.data
    return Feed(
        corpora,
        pipeline,
        tokenizers.target,
        stages.mixtures[0],
        config.max_tokens,
        source_tokenizer=None if tokenizers.source is tokenizers.target else tokenizers.source,
        contexts=plan_contexts(config, corpora, pipeline, tokenizers),
        links=None
        if recipe.loss.guided_alignment is None
        else plan_links(tokenizers.source, tokenizers.target),
        **plan_chance(recipe, corpora, tokenizers),
    )


def plan_chance(recipe: Recipe, corpora: Sequence[Corpus], tokenizers: Tokenizers) -> dict[str, Any]:
    """What of a feed depends on chance: how lines are split, and what corrupts sources."""
    config, seed = recipe.data, recipe.data_seed
    own, sampling = config.source_tokenizer, config.tokenizer.sampling
    key = "data.tokenizer" if own is None else "data.source_tokenizer"
    return {
        "source_sampling": plan_sampling(
            sampling if own is None else own.sampling, tokenizers.source, side="source", seed=seed, key=key
        ),
        "target_sampling": plan_sampling(sampling, tokenizers.target, side="target", seed=seed),
        "noises": plan_noises(config, corpora, tokenizers.source),
    }


def read_set(name: str, corpus: Corpus, reader: Reader, *, max_tokens: int, bleu: BleuTokenizer) -> ValidSet:
    """A validation set of pairs, whole."""
    return read_valid(name, corpus, reader.pipeline, reader.tokenizers, max_tokens=max_tokens, bleu=bleu)


def sides(datasets: TextDatasets) -> list[Side]:
    """Source and target."""
    sample, tokenizers, key = datasets.sample, datasets.tokenizers, "data.tokenizer"
    source = sample.source
    if isinstance(tokenizers.source, FactoredPieces):
        source = pieces_alone(source, tokenizers.source.num_ids)
    source_key = key if tokenizers.shared else "data.source_tokenizer"
    return [
        Side("source", tokenizers.source, source, source_key, 0),
        Side("target", tokenizers.target, sample.target, key, 1),
    ]


KIND = TextKind(
    one_row=False,
    rows_end=True,
    passage_bytes=whole_lines,
    prepare_tokenizers=prepare_tokenizers,
    plan_feed=plan_feed,
    read_valid=read_set,
    sides=sides,
)
TRANSLATION = text_task("translation", KIND)
