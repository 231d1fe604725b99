import json

import pytest

from tests.vocabulary.folders import gpt2, lines, write_text
from trimtab.config.load import load_recipe
from trimtab.errors import InputError, RunFailed
from trimtab.inference import load_model
from trimtab.vocabulary import surgery
from trimtab.vocabulary.surgery import extend_vocabulary, trim_vocabulary


@pytest.fixture
def texts(tmp_path):
    return [write_text(tmp_path / f"text.{side}", lines(side)[:20]) for side in (0, 1)]


@pytest.mark.slow
def test_a_trimmed_run_translates_as_before(trained_run, texts, tmp_path):
    report = trim_vocabulary(trained_run, keep_text=texts, out=tmp_path / "small")
    assert report.gate.same_split == report.gate.lines == 40
    assert report.sides["shared"].dropped > 0
    assert "# small" in (tmp_path / "small" / "README.md").read_text()
    told = json.loads((tmp_path / "small" / "vocabulary.json").read_text())
    assert told["corpora"][0]["before"] == told["corpora"][0]["after"]
    load_model(tmp_path / "small").translator(search=surgery_search()).translate([lines(0)[0]])


def surgery_search():
    from trimtab.decode.search import Search

    return Search(beam=1)


@pytest.mark.slow
def test_a_run_starts_warm_from_an_extended_one_with_its_pieces(
    trained_run, texts, tmp_path, checks_of_data_only
):
    from trimtab.launch import train

    report = extend_vocabulary(trained_run, text=texts, add=30, out=tmp_path / "more")
    assert report.sides["shared"].added == 30 - report.sides["shared"].unreachable
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        f"task: translation\ndata:\n  train: [{{source: {texts[0]}, target: {texts[1]}}}]\n"
        f"  valid: {{source: {texts[0]}, target: {texts[1]}}}\n  max_tokens: 64\n"
        f"model: {{warm_start: {tmp_path / 'more'}}}\n"
        "step: {tokens_per_step: 64}\nlength: 2 steps\n"
    )
    run = train(recipe, out=tmp_path / "run").run
    found = load_recipe(run / "recipe.yaml").recipe
    assert load_model(run).tokenizer.num_ids == report.sides["shared"].after
    assert found.model.warm_start is not None


@pytest.mark.slow
def test_without_a_text_a_size_is_proven_on_the_demo_s_sample(tmp_path):
    report = trim_vocabulary(gpt2(tmp_path / "gpt2"), size=500, out=tmp_path / "small")
    assert report.sides["shared"].after == 500
    assert report.corpora == ()
    assert report.gate.positions > 100


@pytest.mark.slow
def test_nothing_is_written_where_the_gate_finds_something(trained_run, texts, tmp_path, monkeypatch):
    def wrong(*given, **options):
        from dataclasses import replace

        return replace(real(*given, **options), faults=("logits: not those",))

    real = surgery.check_changed
    monkeypatch.setattr(surgery, "check_changed", wrong)
    with pytest.raises(RunFailed, match="logits: not those"):
        trim_vocabulary(trained_run, keep_text=texts, out=tmp_path / "small")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["text.0", "text.1"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "nothing says which pieces to keep"),
        ({"size": 1}, "--size: does not fit"),
        ({"size": 50, "side": "source"}, "--side: not a vocabulary of this model"),
        ({"keep_text": ["missing.txt"]}, "missing.txt: no such file"),
    ],
)
def test_wrong_options_are_wrong_input(trained_run, tmp_path, options, said):
    with pytest.raises(InputError, match=said):
        trim_vocabulary(trained_run, out=tmp_path / "small", **options)


def test_models_that_are_none_are_wrong_input(trained_run, tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    with pytest.raises(InputError, match="a GGUF file cannot be changed"):
        trim_vocabulary(tmp_path / "model.gguf", size=9, out=tmp_path / "small")
    with pytest.raises(InputError):
        trim_vocabulary(tmp_path / "nothing", size=9, out=tmp_path / "small")
    with pytest.raises(InputError, match="already exists"):
        trim_vocabulary(trained_run, size=9, out=tmp_path)
    with pytest.raises(InputError, match="no text to find pieces in"):
        extend_vocabulary(trained_run, text=[], add=9, out=tmp_path / "more")


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_a_file_without_text_is_wrong_input(trained_run, texts, tmp_path, content):
    (tmp_path / "blank").write_text(content)
    with pytest.raises(InputError, match="blank: there is no text in it"):
        trim_vocabulary(trained_run, keep_text=[texts[0], tmp_path / "blank"], out=tmp_path / "small")
    with pytest.raises(InputError, match="blank: there is no text in it"):
        extend_vocabulary(trained_run, text=[tmp_path / "blank"], add=9, out=tmp_path / "more")


def test_a_text_without_pairs_gives_no_pieces(trained_run, tmp_path):
    with pytest.raises(InputError, match="no new piece was found"):
        extend_vocabulary(trained_run, text=[write_text(tmp_path / "a", ["a"])], add=9, out=tmp_path / "more")
