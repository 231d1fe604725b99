"""A language model on the whole line: data, packs, training, resume, evaluation; on documents, pairs and bytes."""

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
import torch

from tests.language_run import PAIRS, language_parts, language_recipe
from tests.small_run import small_pairs, write_pairs
from trimtab.build import build
from trimtab.checkpoint.journal import read_journal
from trimtab.checks.check import check
from trimtab.choices import shape_for
from trimtab.config.load import load_recipe
from trimtab.data.cut import cut
from trimtab.errors import InputError, Terminated
from trimtab.evaluation.pairs import score
from trimtab.evaluation.translations import evaluate
from trimtab.inference import load_translator
from trimtab.inspection import inspect_recipe
from trimtab.launch import smoke, train
from trimtab.step.take_step import take_step
from trimtab.tasks.text.data_checks import data_checks
from trimtab.training.preflight import preflight
from trimtab.training.preflight.every_check import of_the_data
from trimtab.types import IGNORE

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

TIMES = ("tokens_per_second", "seconds")
BYTES = {"data.tokenizer": {"kind": "bytes"}}
DEPTHS = {"model.mixture_of_depths": {"capacity": 0.25, "interval": 1}, "step.optimizer.weight_decay": 0.1}
PREFIX = {**PAIRS, "model.prefix": "bidirectional"}


def log(run, name):
    return [
        {key: value for key, value in line.items() if key not in TIMES}
        for line in read_journal(run / f"{name}.jsonl")
    ]


def weights(run, step):
    return (run / "checkpoints" / f"step-{step:08}" / "model.safetensors").read_bytes()


@pytest.mark.quick("text", "depths")
@pytest.mark.parametrize(
    "changes", [{}, BYTES, PAIRS, PREFIX, DEPTHS], ids=["text", "bytes", "pairs", "prefix", "depths"]
)
def test_preflight_finds_nothing(tmp_path, changes):
    assert [str(each) for each in preflight(language_parts(tmp_path, **changes))] == []


def test_documents_that_are_held_out_in_name_only_are_told_before_the_first_step(tmp_path):
    language_recipe(tmp_path)
    held = (tmp_path / "dev.txt").read_text()
    with (tmp_path / "train.txt").open("a") as file:
        file.write("\n\n" + held)
    parts = language_parts(tmp_path / "again", **{"data.train": [{"text": str(tmp_path / "train.txt")}]})
    (finding,) = [each for each in of_the_data(parts) if each.code == "D205"]
    assert "passages of the set" in finding.message


def losses(parts, shape, steps):
    """The curve of a run whose packs have this shape."""
    made = []
    for step, (window, _) in zip(range(steps), parts.stream.host_batches(0), strict=False):
        packs = cut(window, shape, **parts.datasets.tokenizers.symbols)
        assert sum(pack.num_targets for pack in packs) == window.num_targets
        assert sum(int((pack.labels != IGNORE).sum()) for pack in packs) == window.num_targets
        rate = 1e-2 * min(1, (step + 1) / 5)
        report = take_step(
            parts.stepper.objective,
            parts.stepper.optimizer,
            packs,
            clip=parts.stepper.clip,
            scale=parts.stepper.scale,
            learning_rate=rate,
        )
        made.append(float(report.loss))
    return made


@pytest.mark.quick("text")
@pytest.mark.parametrize("changes", [{}, PREFIX], ids=["text", "prefix"])
def test_the_loss_curves_of_packed_and_padded_paths_agree(tmp_path, changes):
    padded = language_parts(tmp_path, **changes)
    again = build(padded.recipe, padded.datasets)
    recipe = again.recipe
    fixed = shape_for(
        recipe, again.datasets.lengths, packed=True, slots_per_target=again.datasets.slots_per_target
    )
    assert (fixed.fixed, fixed.source_slots, padded.batching.shape.fixed) == (True, 0, False)
    one, other = losses(padded, padded.batching.shape, 25), losses(again, fixed, 25)
    assert one == pytest.approx(other, rel=2e-4)
    assert one[-1] < 0.8 * one[0]


def test_packs_of_a_fixed_shape_are_all_alike_and_have_no_source(tmp_path):
    parts = language_parts(tmp_path)
    shape = shape_for(parts.recipe, parts.datasets.lengths, packed=True)
    shapes = set()
    for _, (window, _) in zip(range(30), parts.stream.host_batches(0), strict=False):
        for pack in cut(window, shape, **parts.datasets.tokenizers.symbols):
            shapes.add((len(pack.target.ids), len(pack.target.cu_seqlens), len(pack.source.ids)))
            assert pack.source.cu_seqlens.tolist() == [0] * len(pack.target.cu_seqlens)
    assert len(shapes) == 1
    assert shape.num_packs == 2  # the few tokens that are given fit into the slack


def test_the_tokens_of_one_document_do_not_change_another(tmp_path):
    parts = language_parts(tmp_path)
    parts.model.eval()
    window, _ = next(parts.stream.host_batches(0))
    (pack,) = cut(
        window,
        replace(parts.batching.shape, num_packs=1, target_slots=512),
        **parts.datasets.tokenizers.symbols,
    )
    first = pack.target.segments == 0
    other = replace(pack.target, ids=torch.where(first, pack.target.ids, (pack.target.ids + 7) % 300))
    with torch.no_grad():
        before, after = parts.model(pack), parts.model(replace(pack, target=other))
    assert torch.equal(before[first], after[first])
    assert not torch.equal(before[~first], after[~first])


@pytest.mark.quick("sentencepiece")
@pytest.mark.parametrize("changes", [{}, {"data.max_tokens": 12, **BYTES}], ids=["sentencepiece", "bytes"])
def test_a_run_that_was_stopped_goes_on_bit_for_bit(tmp_path, changes):
    class Stops:
        def message(self, text): ...
        def evaluation(self, scores): ...
        def finding(self, finding): ...

        def step(self, metrics, *, share, seconds_left):
            import signal

            if metrics["step"] == 13:
                signal.raise_signal(signal.SIGTERM)

    recipe = language_recipe(tmp_path, **changes)
    whole = train(recipe, out=tmp_path / "whole").run
    with pytest.raises(Terminated):
        train(recipe, out=tmp_path / "run", progress=Stops())
    run = train(recipe, out=tmp_path / "run", resume=True).run
    assert weights(run, 20) == weights(whole, 20)
    assert log(run, "metrics") == log(whole, "metrics")
    assert log(run, "evaluations") == log(whole, "evaluations")


@pytest.mark.slow
def test_a_run_says_its_perplexities_and_chooses_the_best_by_loss(tmp_path):
    result = train(language_recipe(tmp_path), out=tmp_path / "run")
    assert result.ok
    last = log(result.run, "evaluations")[-1]
    assert {"loss", "perplexity", "byte_perplexity", "bits_per_byte"} <= last.keys()
    assert "bleu" not in last
    assert (result.state.best["metric"], result.state.best["value"]) == ("loss", last["loss"])
    ledger = json.loads((result.run / "data_ledger.json").read_text())
    assert ledger["corpora"][0]["dropped"] == {}


@pytest.mark.slow
def test_smoke_overfits_a_window(tmp_path):
    assert smoke(language_recipe(tmp_path)) < 4


@pytest.mark.slow
def test_a_prefix_model_learns_to_translate_and_the_commands_take_it(tmp_path):
    changes = {
        **PREFIX,
        "model.dim": 64, "model.feed_forward": 128, "model.layers": 2, "data.tokenizer.vocabulary_size": 340,
        "step.schedule.warmup": "20 steps", "length": "200 steps", "checkpoint.every": "200 steps",
        "evaluate": {"every": "200 steps", "metrics": ["perplexity", "bleu", "chrf"], "best": {"metric": "chrf"}},
    }  # fmt: skip
    recipe = language_recipe(tmp_path, **changes)
    write_pairs(tmp_path, "train", small_pairs(3000))
    run = train(recipe, out=tmp_path / "run").run
    last = log(run, "evaluations")[-1]
    assert last["bleu"] > 60, last
    source, reference = tmp_path / "dev.en", tmp_path / "dev.de"
    report = evaluate(str(run), source=source, reference=reference, beam=2)
    assert report.bleu.value > 60
    assert report.loss == pytest.approx(last["loss"], rel=1e-4)
    sources, targets = (path.read_text().splitlines() for path in (source, reference))
    scores = list(score(str(run), sources, targets, device="cpu"))
    total, tokens = sum(each.log_probability for each in scores), sum(each.num_tokens for each in scores)
    assert -total / tokens == pytest.approx(report.loss, rel=1e-4)
    assert load_translator(str(run), beam=1).translate(sources[:3])[0]


def test_documents_are_not_inspected_as_pairs(tmp_path):
    with pytest.raises(InputError, match="trimtab inspects pairs"):
        inspect_recipe(load_recipe(language_recipe(tmp_path)))


@pytest.mark.parametrize("name", ["lm_demo", "lm_en_small", "lm_en_bytes", "en_de_decoder"])
def test_the_recipes_load_and_the_linter_finds_nothing(name):
    path = Path(__file__).parent.parent / "recipes" / f"{name}.yaml"
    assert load_recipe(path).recipe.facts.continues_texts
    report = check(path)
    assert (report.diagnoses, report.problems) == ((), ())


def test_real_text_is_learned_and_written_as_it_is(tmp_path):
    folder = Path(str(files("trimtab.demo").joinpath("data")))
    changes = {
        "data.train": [{"text": str(folder / "english_valid.txt.xz")}],
        "data.valid": {"text": str(folder / "english_valid.txt.xz")},
        "data.tokenizer.vocabulary_size": 800,
        "data.max_tokens": 64,
        "length": "20 steps",
    }
    result = train(language_recipe(tmp_path, **changes), out=tmp_path / "run")
    first, last = (
        line["bits_per_byte"]
        for line in (log(result.run, "evaluations")[0], log(result.run, "evaluations")[-1])
    )
    assert last < first < 8


@pytest.mark.slow
def test_a_run_that_goes_on_with_another_length_of_rows_is_told_of_that_and_not_of_its_text(tmp_path):
    run = train(language_recipe(tmp_path, length="6 steps"), out=tmp_path / "run").run

    def told(**changes):
        with pytest.raises(InputError) as caught:
            train(language_recipe(tmp_path, length="8 steps", **changes), out=run, resume=True)
        return [
            problem.what.split(" has changed since the checkpoint was written")[0]
            for problem in caught.value.problems
        ]

    assert told(**{"data.max_tokens": 24}) == ["recipe.data.max_tokens"]
    assert "data.train.0" not in told(**{"data.tokenizer": {"kind": "bytes"}})
    path = language_recipe(tmp_path, length="8 steps")
    (tmp_path / "train.txt").write_text("another ship\n" * 200)
    with pytest.raises(InputError, match=r"data\.train\.0 has changed since the checkpoint was written"):
        train(path, out=run, resume=True)


@pytest.mark.parametrize("text", ["\ufeff", "\u00a0\n\n\u3000\n", " \n"])
def test_texts_with_nothing_to_learn_are_told_as_documents(tmp_path, text):
    path = language_recipe(tmp_path)
    (tmp_path / "train.txt").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"the corpus is empty|no document or pair with a word") as caught:
        train(path, out=tmp_path / "run")
    assert not any(word in str(caught.value) for word in ("data inspect", "every pair was dropped"))


def test_rows_too_short_for_every_pair_are_told_as_rows_that_source_and_target_share(tmp_path):
    changes = {**PREFIX, "data.max_tokens": 6}
    with pytest.raises(InputError, match="nothing is left to train on") as caught:
        train(language_recipe(tmp_path, **changes), out=tmp_path / "run")
    (problem,) = caught.value.problems
    assert "too_long" in problem.got
    assert "data.max_tokens, which source and target share" in problem.fix


def test_what_is_dropped_of_pairs_is_told_with_a_command_that_shows_it(tmp_path):
    changes = {**PAIRS, "data.transforms": [{"kind": "length", "min": 5}]}
    found = data_checks(language_parts(tmp_path, **changes))
    (finding,) = [each for each in found if each.code == "D202"]
    assert finding.code == "D202"
    assert "trimtab data inspect" in finding.fix
    (corpus,) = inspect_recipe(load_recipe(language_recipe(tmp_path, **changes))).train
    assert corpus.dropped["length"].count > 0


@pytest.mark.slow
def test_the_separator_of_pairs_is_no_tag_to_translate_with(tmp_path):
    run = train(language_recipe(tmp_path, **PAIRS, length="6 steps"), out=tmp_path / "run").run
    for tag in ("<sep>", "<2de>"):
        with pytest.raises(InputError) as caught:
            load_translator(str(run), tags=(tag,))
        (problem,) = caught.value.problems
        assert "<sep>" not in problem.allowed
        assert "no tags" in problem.allowed
