"""Several checkpoints that translate together."""

import pytest

from tests.small_run import small_pairs, small_recipe
from trimtab.decode.prefilled import Given
from trimtab.decode.rows import Row, n_best_rows
from trimtab.decode.sample import Draw
from trimtab.decode.search import Search
from trimtab.errors import InputError
from trimtab.inference import load_model, load_translator
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

LINES = [source for source, _ in small_pairs(30, seed=3)]


@pytest.fixture(scope="module")
def loaded(trained_run):
    return load_model(str(trained_run), device="cpu")


def translator_of(loaded, **options):
    return loaded.translator(search=Search(**options))


@pytest.mark.quick("log_linear")
@pytest.mark.parametrize("mode", ["linear", "log_linear"])
def test_a_run_with_itself_translates_as_it_does_alone(trained_run, loaded, mode):
    spec = str(trained_run)
    doubled = load_translator([spec, spec], beam=3, device="cpu", ensemble=mode)
    alone = translator_of(loaded, beam=3)
    assert doubled.translate(LINES) == alone.translate(LINES)


@pytest.mark.slow
def test_checkpoints_of_a_run_translate_together(trained_run):
    specs = [f"{trained_run}@{step}" for step in (40, 60)]
    texts = {
        mode: load_translator(specs, device="cpu", ensemble=mode).translate(LINES)
        for mode in ("linear", "log_linear")
    }
    alone = [load_translator(spec, device="cpu").translate(LINES) for spec in specs]
    assert all(found not in alone for found in texts.values())


@pytest.mark.slow
def test_runs_of_different_vocabularies_cannot_translate_together(trained_run, tmp_path):
    changes = {
        "data.tokenizer.vocabulary_size": 64,
        "length": "2 steps",
        "step.schedule.warmup": "1 steps",
        "data.valid": None,
    }
    other = train(small_recipe(tmp_path, **changes), out=tmp_path / "other").run
    with pytest.raises(InputError, match="has another vocabulary") as caught:
        load_translator([str(trained_run), str(other)], device="cpu")
    assert "data.tokenizer.path" in caught.value.problems[0].fix


@pytest.mark.slow
def test_runs_that_read_text_otherwise_cannot_translate_together(trained_run, tmp_path):
    changes = {
        "data.tokenizer": {
            "path": str(trained_run / "tokenizer" / "sentencepiece.model"),
            "vocabulary_size": 66,
        },
        "data.transforms": [{"kind": "normalize"}],
        "length": "2 steps",
        "step.schedule.warmup": "1 steps",
        "data.valid": None,
    }
    other = train(small_recipe(tmp_path, **changes), out=tmp_path / "other").run
    with pytest.raises(InputError, match="preprocesses text differently"):
        load_translator([str(trained_run), str(other)], device="cpu")


def test_models_together_go_on_from_what_is_given_as_one_does(trained_run, loaded):
    spec, (ids,) = str(trained_run), loaded.tokenizer.encode(LINES[:1])
    given = Given(target=loaded.tokenizer.encode(["das alte boot"])[0][:-1], own_tokens=len(ids))
    row = Row(ids=ids, given=given, draw=Draw(0))
    doubled = load_translator([spec, spec], beam=3, device="cpu").setup
    ((found,),) = n_best_rows([row], doubled, n=1)
    ((alone,),) = n_best_rows([row], translator_of(loaded, beam=3).setup, n=1)
    assert found.ids == alone.ids
    assert found.score == pytest.approx(alone.score, abs=1e-4)
