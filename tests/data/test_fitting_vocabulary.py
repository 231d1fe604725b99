import pytest

from tests.small_run import small_recipe, small_sources
from tests.training.small_line import Told
from trimtab.build import build
from trimtab.config.data import DataConfig
from trimtab.config.load import load_recipe
from trimtab.config.tokenizer import SentencePieceTokenizer, SuperBpeTokenizer
from trimtab.data.fitting_vocabulary import resized, train_fitting, with_sizes
from trimtab.data.sentencepiece_model import load_tokenizer
from trimtab.errors import InputError
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

LINES = ["the small ship turns", "das kleine schiff dreht", "never slowly always", "nie langsam immer"] * 20
UNWRITTEN = {"data.tokenizer": {"byte_fallback": False, "character_coverage": 1.0}}


def told():
    progress, texts = Told(), []
    progress.message = texts.append
    return progress, texts


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_a_size_that_nobody_wrote_is_as_large_as_the_text_allows_each_time_the_same(tmp_path, model):
    progress, texts = told()
    config = SentencePieceTokenizer(model=model)
    made = [
        train_fitting(
            config,
            lines=lambda: iter(LINES),
            progress=progress,
            symbols=["<ui>"],
            out=tmp_path / name,
            key="k",
        )
        for name in "ab"
    ]
    assert made[0].num_ids < 16000
    assert made[0].fingerprint == made[1].fingerprint == load_tokenizer(tmp_path / "b").fingerprint
    assert texts[0] == (
        f"k.vocabulary_size is {made[0].num_ids}, since the text holds no more different pieces; the default is 16000"
    )
    with pytest.raises(InputError) as refused:  # one more is one too many
        train_fitting(
            SentencePieceTokenizer(model=model, vocabulary_size=made[0].num_ids + 1),
            lines=lambda: iter(LINES), progress=progress, symbols=["<ui>"], out=tmp_path / "c",
        )  # fmt: skip
    assert f"at most {made[0].num_ids}" in str(refused.value)


@pytest.mark.parametrize("model", ["unigram", "bpe"])
@pytest.mark.parametrize("line", ["ab ba abba", "a", "ab", "the small ship"])
def test_a_tiny_vocabulary_is_written_as_a_size_that_can_be_read_again(tmp_path, model, line):
    config = SentencePieceTokenizer(model=model, byte_fallback=False)
    made = train_fitting(config, lines=lambda: iter([line] * 20), progress=Told(), symbols=[], out=tmp_path)
    assert made.num_ids < 64
    update = with_sizes(
        DataConfig.model_construct(tokenizer=config, source_tokenizer=None), source=made, target=made
    )
    written = update.tokenizer.model_dump(mode="json")
    assert SentencePieceTokenizer.model_validate(written).vocabulary_size == made.num_ids


def test_superwords_that_the_text_never_came_to_leave_a_recipe_that_can_be_read():
    config = SuperBpeTokenizer(vocabulary_size=9000, transition_size=7000)
    smaller = SuperBpeTokenizer(**{**config.model_dump(), **resized(config, 5000)})
    assert (smaller.vocabulary_size, smaller.transition_size) == (5000, None)
    assert resized(config, 8000) == {"vocabulary_size": 8000}


def test_a_size_that_is_written_is_refused_as_it_was(tmp_path):
    progress, texts = told()
    config = SentencePieceTokenizer(vocabulary_size=16000)
    with pytest.raises(InputError, match="do not hold so many different pieces"):
        train_fitting(config, lines=lambda: iter(LINES), progress=progress, symbols=[], out=tmp_path)
    assert texts == []


def test_sides_with_vocabularies_of_their_own_have_sizes_of_their_own(tmp_path):
    changes = {
        **UNWRITTEN,
        "data.source_tokenizer": UNWRITTEN["data.tokenizer"],
        "model.tie_embeddings": "decoder",
    }
    recipe, sources = small_sources(tmp_path, **changes)
    data = build(recipe, sources).recipe.data
    sizes = [sources.tokenizers.source.num_ids, sources.tokenizers.target.num_ids]
    assert [data.source_tokenizer.vocabulary_size, data.tokenizer.vocabulary_size] == sizes
    assert max(sizes) < 16000


def test_what_is_written_or_adopted_keeps_its_size(tmp_path):
    _, sources = small_sources(tmp_path)
    tokenizer = sources.tokenizer
    files = {"train": [{"source": "a", "target": "b"}]}
    for written in ({"vocabulary_size": 16000}, {"path": "a.model"}):
        config = DataConfig.model_validate({**files, "tokenizer": written})
        assert with_sizes(config, source=tokenizer, target=tokenizer) == config


@pytest.mark.slow
def test_a_run_with_default_sizes_is_that_of_its_resolved_recipe_and_goes_on_with_another_length(tmp_path):
    small = {
        "length": "4 steps",
        "step.schedule": None,
        "evaluate.every": "9 steps",
        "checkpoint.every": "2 steps",
    }
    recipe = small_recipe(tmp_path, **UNWRITTEN, **small)
    progress, texts = told()
    run = train(recipe, out=tmp_path / "run", progress=progress).run
    resolved = load_recipe(run / "recipe.yaml").recipe
    assert resolved.data.tokenizer.vocabulary_size == load_tokenizer(run / "tokenizer").num_ids
    assert str(resolved.step.schedule.warmup) == "1 steps"
    assert [text.split(" is ")[0] for text in texts if "default" in text] == [
        "step.schedule.warmup", "data.tokenizer.vocabulary_size",
    ]  # fmt: skip
    again = train(run / "recipe.yaml", out=tmp_path / "again").run
    assert (again / "recipe.yaml").read_text() == (run / "recipe.yaml").read_text()
    texts.clear()
    more = train(recipe, overrides=["length=60 steps"], out=run, resume=True, progress=progress)
    assert more.state.step == 60
    assert str(load_recipe(run / "recipe.yaml").recipe.step.schedule.warmup) == "1 steps"  # and not 3
    assert not [text for text in texts if "default" in text]
