"""A head that learns alignments in a whole run: in its objective, after a stop, and where words are aligned later."""

import shutil

import pytest

from tests.cli.refusal import has_four_parts
from tests.short_run import SHORT, model_sha
from tests.small_run import TRAIN_PAIRS, small_pairs, small_recipe
from trimtab.checkpoint.journal import read_journal
from trimtab.errors import InputError
from trimtab.inference import load_translator
from trimtab.inference.aligner import AttentionHead
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


def guided_recipe(folder, *, links=lambda words: range(words), **changes):
    """The recipe of four steps whose pairs are aligned word by word."""
    corpus = {"source": "train.en", "target": "train.de", "alignments": "train.links"}
    guided = {"data.train": [corpus], "loss.guided_alignment": {"weight": 1.0}}
    path = small_recipe(folder, **SHORT, **guided, **changes)
    lines = [" ".join(f"{n}-{n}" for n in links(len(a.split()))) for a, _ in small_pairs(TRAIN_PAIRS)]
    (folder / "train.links").write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.slow
def test_a_guided_run_resumes_on_its_links_alone_and_its_head_aligns(tmp_path):
    every = {"checkpoint.every": "2 steps"}
    recipe = guided_recipe(tmp_path / "one", **every)
    run = train(recipe, out=tmp_path / "run").run
    assert all(line["objective"] > line["loss"] + 0.5 for line in read_journal(run / "metrics.jsonl"))
    translator = load_translator(str(run))
    translator.align(["the ship"], ["das schiff"])
    assert translator.aligner.head == AttentionHead(1, 1, reads=False)
    whole = model_sha(run, 4)
    shutil.rmtree(run / "checkpoints" / "step-00000004")
    train(recipe, out=run, resume=True)
    assert model_sha(run, 4) == whole
    guided_recipe(tmp_path / "one", links=lambda words: range(1), **every)
    with pytest.raises(InputError, match=r"data\.train\.0 has changed"):
        train(recipe, out=run, resume=True)


def test_links_beyond_a_line_stop_the_run_before_it_starts(tmp_path):
    recipe = guided_recipe(tmp_path, links=lambda words: range(words + 1))
    with pytest.raises(InputError, match="a link to a word that the source does not have") as caught:
        train(recipe, out=tmp_path / "run")
    assert has_four_parts(f"error: {caught.value.problems[0]}")
