import shutil

import pytest

import trimtab
from tests.language_run import PAIRS, language_recipe
from trimtab.decode.generation_config import USUAL, GenerationConfig
from trimtab.decode.sampling import Sampling
from trimtab.errors import InputError
from trimtab.inference.generating import generate, load_generator
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

PROMPTS = ["the small", "", "never turns\n", "the  wind "]


def facts(texts):
    return [(each.line, each.sample, each.prompt, each.text, each.num_tokens, each.stopped) for each in texts]


@pytest.mark.quick("@30")
@pytest.mark.parametrize("spec", ["", "@last", "@30"])
def test_a_run_goes_on_from_prompts_line_for_line(text_run, spec):
    found = list(generate(f"{text_run}{spec}", PROMPTS, max_tokens=12, samples=2))
    assert [(each.line, each.sample) for each in found] == [(n, m) for n in (1, 2, 3, 4) for m in (1, 2)]
    assert all(each.whole == each.prompt + each.text for each in found)
    assert any(each.text != other.text for each, other in zip(found[::2], found[1::2], strict=True))


@pytest.mark.slow
def test_the_export_writes_the_same_texts(text_run, exported_text):
    for sampling in (None, USUAL, Sampling(temperature=1.5, min_p=0.02, seed=9)):
        ours, theirs = (
            list(generate(str(spec), PROMPTS, max_tokens=20, sampling=sampling))
            for spec in (text_run, exported_text)
        )
        assert facts(ours) == facts(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-3)


@pytest.mark.slow
def test_several_samples_of_prompts_of_different_lengths_are_the_same_by_the_export(text_run, exported_text):
    generation = GenerationConfig(max_tokens=30, samples=3, sampling=Sampling(seed=2))
    ours, theirs = (
        list(load_generator(str(spec)).generate(PROMPTS, generation)) for spec in (text_run, exported_text)
    )
    assert facts(ours) == facts(theirs)


def test_what_a_trained_model_writes_is_of_its_language(text_run):
    found = generate(str(text_run), [""] * 8, max_tokens=30, sampling=Sampling(temperature=0.5))
    words = [word for each in found for word in each.text.split()[:-1]]
    known = set((text_run.parent / "train.txt").read_text().split())
    assert sum(word in known for word in words) > 0.5 * len(words) > 10


def test_the_window_ends_a_text_and_longer_prompts_are_refused(text_run):
    found = generate(str(text_run), ["the boat " * 6], max_tokens=500, sampling=Sampling(seed=3))
    assert next(found).num_tokens < 48
    with pytest.raises(InputError, match=r"prompt 1: longer than .* can read\n.*\n  allowed at most 48"):
        next(generate(str(text_run), ["the boat " * 100]))


def test_one_text_in_place_of_a_list_is_refused_before_a_model_is_loaded():
    with pytest.raises(InputError, match=r'prompts: a single text[\s\S]*a list: \["..."\]'):
        generate("runs/none", "Once")


def test_a_model_that_translates_is_named_with_its_command(trained_run, exported_run):
    for spec in (trained_run, exported_run):
        with pytest.raises(InputError, match=f"fix     translate with it: `trimtab translate {spec}`"):
            load_generator(str(spec))


@pytest.mark.slow
def test_a_language_model_of_pairs_alone_is_sent_to_translate_and_one_of_texts_too_is_not(tmp_path):
    pairs = train(language_recipe(tmp_path / "pairs", **PAIRS), out=tmp_path / "pairs" / "run").run
    with pytest.raises(InputError, match=f"trained on pairs only[\\s\\S]*`trimtab translate {pairs}`"):
        load_generator(str(pairs))
    both = {**PAIRS, "data.train": [*PAIRS["data.train"], {"text": "train.txt"}]}
    mixed = train(language_recipe(tmp_path / "mixed", **both), out=tmp_path / "mixed" / "run").run
    (found,) = generate(str(mixed), ["a"], max_tokens=3)
    assert found.num_tokens > 0


def test_a_language_model_that_shall_translate_is_sent_to_generate(text_run, exported_text):
    for spec in (text_run, exported_text):
        with pytest.raises(InputError, match="trimtab generate"):
            trimtab.load_translator(str(spec))


def test_an_export_that_was_changed_is_refused(exported_text, tmp_path):
    copy = shutil.copytree(exported_text, tmp_path / "copy")
    with open(copy / "model.safetensors", "r+b") as file:
        file.seek(-4, 2)
        file.write(b"\0\0\0\0")
    with pytest.raises(InputError, match="not the weights that were exported"):
        load_generator(str(copy))
