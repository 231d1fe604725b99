from dataclasses import replace

import pytest

from trimtab.errors import InputError
from trimtab.inference import load_translator
from trimtab.serving.batcher import Work
from trimtab.serving.models import ServedGenerator, ServedTranslator, ServeOptions, model_kind, open_served


def test_runs_and_exports_are_opened_as_what_they_are(trained_run, exported_run, text_run, exported_text):
    kinds = [model_kind(str(each)) for each in (trained_run, exported_run, text_run, exported_text)]
    assert kinds == ["translation", "translation", "language_model", "language_model"]


@pytest.mark.slow
def test_an_export_translates_as_its_run(exported_run, trained_run):
    model = open_served(str(exported_run), ServeOptions(beam=2))
    assert isinstance(model, ServedTranslator)
    work = Work((), ["the small ship", "never"], [1, 1])
    (made,) = model.run(list(work.waiting))
    assert [each.result for each in made] == load_translator(f"{trained_run}@last", beam=2).translate(
        work.contents
    )


def test_sizes_and_search_are_those_that_were_asked_for(trained_run, text_run):
    options = ServeOptions(beam=3, length_penalty=0.5, stop="enough", batch_tokens=300, max_length=20)
    model = open_served(str(trained_run), options)
    setup = model.translator.setup
    assert (setup.search.beam, setup.search.length_penalty, setup.search.stop) == (3, 0.5, "enough")
    assert (setup.batch_tokens, setup.max_tokens, model.budget) == (300, 20, 100)
    text = open_served(str(text_run), ServeOptions(batch_tokens=300, max_length=30))
    assert isinstance(text, ServedGenerator)
    assert (text.budget, text.generator.window) == (300, 30)


def test_a_length_that_the_model_was_not_trained_with_is_refused(trained_run):
    with pytest.raises(InputError, match="max_length"):
        open_served(str(trained_run), ServeOptions(max_length=33))


def test_a_line_costs_its_tokens_whatever_is_in_it(translator):
    assert translator.costs(["", "the wind"], name="lines") == [
        len(ids) for ids in translator.translator.setup.tokenizer.encode(["", "the wind"])
    ]
    assert len(translator.costs(["a\ud800b"], name="lines")) == 1


def test_a_word_without_its_source_factor_is_named_with_its_line(translator):
    setup = replace(translator.translator.setup, factor_columns=1)
    factored = replace(translator.translator, setup=setup)
    with pytest.raises(InputError, match="lines: line 2 has a word with no value") as served:
        replace(translator, translator=factored).costs(["a|X b|Y", "c|Z d"], name="lines")
    assert (served.value.problems[0].where, served.value.problems[0].got) == ("lines:2", "'d' in 'c|Z d'")
    with pytest.raises(InputError, match="lines: line 1 has a word with no value"):
        factored.translate(line for line in ["d"])


def test_a_tag_that_there_is_not_is_refused(translator):
    assert translator.checked_tags(None) == ()
    with pytest.raises(InputError, match="<2xx>"):
        translator.checked_tags(["<2xx>"])


def test_lines_that_nobody_waits_for_are_left_out(translator):
    left, stays = Work((), ["the wind"], [1]), Work((), ["never"], [1])
    left.is_awaited = False
    (made,) = translator.run([*left.waiting, *stays.waiting])
    assert [each.piece.work for each in made] == [stays]


@pytest.mark.parametrize(
    "options", [ServeOptions(beam=2), ServeOptions(tags=("<a>",)), ServeOptions(stop="enough")]
)
def test_options_of_translators_are_refused_for_a_language_model(text_run, options):
    with pytest.raises(InputError, match="only for models that translate"):
        open_served(str(text_run), options)
