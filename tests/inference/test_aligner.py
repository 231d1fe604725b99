import pytest

from tests.small_run import small_pairs
from tests.streams import pack_of
from trimtab.config.loss import GuidedAlignment
from trimtab.data.reference_rows import reference_rows
from trimtab.data.words import begins_word, words_of
from trimtab.errors import InputError
from trimtab.inference import load_model, load_translator
from trimtab.inference.aligner import (
    AttentionHead,
    aligner_for,
    in_blocks,
    render_links,
    usual_head,
    word_links,
)

PAIRS = small_pairs(12, seed=5)
SOURCES, TARGETS = [a for a, _ in PAIRS], [b for _, b in PAIRS]


@pytest.mark.quick("True")
@pytest.mark.parametrize("reads", [False, True])
def test_words_are_linked_by_what_their_tokens_attend_to_most(trained_run, reads):
    model = load_model(str(trained_run))
    head = AttentionHead(layer=1, head=1, reads=reads)
    aligner = aligner_for(model.model, model.recipe, model.tokenizers, (), head=head)
    found = aligner.align(SOURCES, TARGETS)
    assert found == [slow_links(model, *pair, reads=reads) for pair in PAIRS]
    assert aligner.num_unaligned == 0
    assert any(found)


def slow_links(model, source: str, target: str, *, reads: bool) -> list[tuple[int, int]]:
    """One pair at a time, attention written out."""
    rows = reference_rows(model.recipe, model.tokenizers, [source], [target], tags=())
    ids, out = rows.source.row(0), rows.target.row(0)
    cross, taken = model.model.decoder.blocks[0].cross, {}
    hook = cross.register_forward_hook(
        lambda module, given, result: taken.update(x=given[0], memory=given[1])
    )
    model.model(pack_of([ids.tolist()], [out.tolist()]))
    hook.remove()
    queries = cross.q(taken["x"])[:, : cross.size]
    keys = cross.kv(taken["memory"])[:, : cross.size]
    best = (queries @ keys.T).argmax(1).numpy()
    best = best[1:] if reads else best[:-1]
    source_words = words_of(ids, begins_word(model.tokenizers.source))
    return word_links(best, source_words, words_of(out, begins_word(model.tokenizers.target)))


def test_a_translator_aligns_pairs_from_anywhere(trained_run):
    translator = load_translator(str(trained_run))
    found = translator.align([*SOURCES, "", "ship " * 300], [*TARGETS, "", "schiff"])
    assert len(found) == len(SOURCES) + 2
    assert found[-2:] == [[], []]
    for (source, target), links in zip(PAIRS, found, strict=False):
        assert all(i < len(source.split()) and j < len(target.split()) for i, j in links)
    with pytest.raises(InputError, match="not as many as sources"):
        translator.align(SOURCES, TARGETS[:-1])


def test_lines_without_an_alignment_are_named(trained_run, caplog):
    model = load_model(str(trained_run))
    aligner = aligner_for(model.model, model.recipe, model.tokenizers, ())
    assert aligner.align(["ship"], ["schiff"])[0] is not None
    assert aligner.align(["ship " * 300, *["ship"] * 4], ["schiff", *["schiff " * 300] * 4]) == [[]] * 5
    assert aligner.num_unaligned == 5
    assert len(caplog.messages) == 3
    most = model.recipe.data.max_tokens
    for number, side in enumerate(("source", "translation", "translation"), start=2):
        assert f"no alignment of line {number}, 'ship" in caplog.messages[number - 2]
        assert f"the {side} has 301 tokens, and the model reads {most}" in caplog.messages[number - 2]


def test_exports_ensembles_and_language_models_refuse_by_name(trained_run, exported_run):
    for translator in (load_translator(str(exported_run)), load_translator([str(trained_run)] * 2)):
        with pytest.raises(InputError, match="only the attention of one encoder-decoder") as caught:
            translator.align(SOURCES, TARGETS)
        assert "an export or an ensemble" in str(caught.value)
    model = load_model(str(trained_run))
    with pytest.raises(InputError, match="only the attention"):
        aligner_for(None, model.recipe, model.tokenizers, ())


def test_the_usual_head_is_the_one_that_training_guided(trained_run):
    recipe = load_model(str(trained_run)).recipe
    assert usual_head(recipe, 6) == AttentionHead(5, None, reads=False)
    guided = {"loss": recipe.loss.model_copy(update={"guided_alignment": GuidedAlignment(layer=3, head=2)})}
    assert usual_head(recipe.model_copy(update=guided), 6) == AttentionHead(3, 2, reads=False)


def test_links_are_written_in_the_pharaoh_format():
    assert render_links([(0, 0), (1, 2), (2, 1)]) == "0-0 1-2 2-1"
    assert render_links([]) == ""


def test_blocks_before_an_error_come_out():
    def failing():
        yield from (1, 2, 3)
        raise ValueError

    found = []
    with pytest.raises(ValueError):
        found.extend(in_blocks(failing(), 2))
    assert found == [[1, 2], [3]]
    assert list(in_blocks([1, 2, 3, 4], 2)) == [[1, 2], [3, 4]]
