from dataclasses import replace

import pytest

from tests.document_run import CONTEXT, document_recipe
from tests.small_run import small_parts
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.decode.document_context import ALONE, DocumentContext
from trimtab.decode.search import Search
from trimtab.inference.setup import CPU_BATCH_TOKENS, document_context, translation_setup
from trimtab.inference.tagged import Tagged
from trimtab.progress import Silent
from trimtab.tasks.task_of import open_datasets


def test_a_wider_beam_has_larger_batches_on_a_cpu_and_lines_are_limited_as_in_training(tmp_path):
    parts = small_parts(tmp_path)
    tagged = Tagged(parts.datasets.tokenizers, ())
    for beam in (1, 3):
        setup = translation_setup(
            parts.model, tagged, str.upper, recipe=parts.recipe, search=Search(beam=beam)
        )
        assert setup.batch_tokens == CPU_BATCH_TOKENS * beam
        assert (setup.max_tokens, setup.normalise("x"), setup.search.beam) == (32, "X", beam)


def test_a_model_that_never_saw_documents_reads_each_sentence_alone(tmp_path):
    parts = small_parts(tmp_path)
    assert document_context(parts.recipe, parts.datasets.tokenizers, num_tags=2) == replace(ALONE, num_tags=2)


@pytest.mark.parametrize(
    ("sides", "loss", "both", "whole"),
    [("source", "current", False, False), ("both", "current", True, False), ("both", "all", True, True)],
)
def test_a_context_is_read_as_it_was_in_training(tmp_path, sides, loss, both, whole):
    transform = {**CONTEXT, "sides": sides, "loss": loss}
    recipe = resolve_paths(load_recipe(document_recipe(tmp_path, **{"data.transforms": [transform]})))
    tokenizers = open_datasets(recipe, tokenizer_folder=tmp_path / "tokenizer", progress=Silent()).tokenizers
    separator = tokenizers.target.id("<sep>")
    assert document_context(recipe, tokenizers, num_tags=1) == DocumentContext(
        sentences=2,
        both=both,
        whole=whole,
        source_separator=separator,
        target_separator=separator if both else ALONE.target_separator,
        num_tags=1,
    )
