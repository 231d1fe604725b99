import lzma
import random
import shutil
from importlib.resources import files

import pytest
import torch

from tests.faults.killing import digest
from tests.sentencepiece_files import piece, with_pieces
from tests.small_run import small_parts, small_recipe, small_sources, write_pairs
from trimtab.build import build
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.config.load import load_recipe
from trimtab.errors import InputError
from trimtab.inference import load_model
from trimtab.launch import train
from trimtab.progress import Silent
from trimtab.tasks.text.validation_scores import loss_of
from trimtab.training.preflight import preflight
from trimtab.training.warm_start import may_mean, started_as, warm_start, weights_sha256

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


def started(folder, run, vocabulary, **changes):
    """The parts of a run that has taken its weights, with this model file as its vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "given.model").write_bytes(vocabulary)
    given = {"data.tokenizer": {"path": "given.model"}, "model.warm_start": str(run)}
    parts = small_parts(folder, **{**given, **changes})
    warm_start(parts, progress=Silent())
    return parts


def loss_at_start(parts):
    parts.model.eval()
    return loss_of(parts, parts.model, parts.datasets.valid["valid"])


@pytest.fixture(scope="module")
def vocabulary(trained_run):
    return (trained_run / "tokenizer" / "sentencepiece.model").read_bytes()


def validated(run):
    *_, last = read_journal(run / "evaluations.jsonl")
    return last["loss"]


@pytest.mark.slow
def test_with_the_same_vocabulary_the_loss_goes_on_where_it_was(trained_run, vocabulary, tmp_path):
    parts = started(tmp_path, f"{trained_run}@last", vocabulary)
    assert loss_at_start(parts) == validated(trained_run)
    assert not parts.stepper.optimizer.state_tensors() or all(
        tensor.abs().sum() == 0 for tensor in parts.stepper.optimizer.state_tensors().values()
    )
    assert [finding.code for finding in preflight(parts)] == []


def test_one_vocabulary_becomes_two_and_the_loss_stays(trained_run, vocabulary, tmp_path):
    own = {"data.source_tokenizer": {"path": "given.model"}}
    for tied in ("decoder", "none"):
        changes = {**own, "model.tie_embeddings": tied}
        parts = started(tmp_path / tied, f"{trained_run}@last", vocabulary, **changes)
        assert not parts.datasets.tokenizers.shared
        assert loss_at_start(parts) == validated(trained_run)


def test_a_vocabulary_in_another_order_gives_the_same_loss(trained_run, vocabulary, tmp_path):
    def shuffled(pieces):
        return random.Random(3).sample(pieces, len(pieces))

    parts = started(tmp_path, f"{trained_run}@last", with_pieces(vocabulary, shuffled))
    assert parts.datasets.tokenizer.start != load_model(str(trained_run), device="cpu").tokenizer.start
    # The sum over the softmax is taken in another order.
    assert loss_at_start(parts) == pytest.approx(validated(trained_run), rel=1e-6)


def test_with_more_pieces_old_sentences_keep_their_logits(trained_run, vocabulary, tmp_path):
    def longer(pieces):
        return [*pieces, piece("▁das▁kleine", score=-99), piece("▁ß", score=-99)]

    parts = started(tmp_path, f"{trained_run}@last", with_pieces(vocabulary, longer))
    old, valid = load_model(f"{trained_run}@last", device="cpu"), parts.datasets.valid["valid"]
    assert old.tokenizer.encode(valid.sources) == parts.datasets.tokenizer.encode(valid.sources)
    parts.model.eval()
    count = old.tokenizer.num_ids
    for pack in parts.batching.pack_pairs(valid.source, valid.target):
        found, before = (
            (model(pack) @ model.output_matrix.T)[:, :count] for model in (parts.model, old.model)
        )
        torch.testing.assert_close(found, before)
    assert loss_at_start(parts) >= validated(trained_run), "two more pieces in the softmax"


@pytest.mark.slow
def test_the_resolved_recipe_says_what_it_began_from_and_a_resumed_run_reads_nothing(trained_run, tmp_path):
    source = shutil.copytree(trained_run, tmp_path / "source")
    changes = {"model.warm_start": "../source", "length": "40 steps", "data.train.0.name": "words"}
    recipe = small_recipe(tmp_path / "new", **changes)
    told = []

    class Told(Silent):
        def message(self, text):
            told.append(text)

    run = train(recipe, out=tmp_path / "run", progress=Told()).run
    best = resolve_checkpoint(str(source))
    begun = load_recipe(run / "recipe.yaml").recipe.model
    assert begun.warm_start == f"{source}@{best.step}"
    assert begun.warm_start_sha256 == weights_sha256(best, load_recipe(source / "recipe.yaml").recipe)
    assert any("66 of 66 pieces copied" in text for text in told)
    whole = digest(run, step=40)
    shutil.rmtree(run / "checkpoints" / "step-00000040")
    shutil.rmtree(source)
    train(recipe, out=run, resume=True)
    assert digest(run, step=40) == whole
    with pytest.raises(InputError, match=r"recipe\.model\.warm_start"):
        train(small_recipe(tmp_path / "new", **changes | {"model.warm_start": None}), out=run, resume=True)


def test_another_start_is_not_taken_for_the_one_the_run_had(tmp_path):
    def recipe(start, sha256=None):
        tree = {"model.warm_start": start, "model.warm_start_sha256": sha256}
        return load_recipe(small_recipe(tmp_path, **tree)).recipe

    begun = recipe("/runs/a@500", "ab")
    for written in ("/runs/a", "/runs/a@last", "/runs/a@best", "/runs/a@500"):
        assert started_as(recipe(written), begun).model == begun.model
    for written in ("/runs/b", "/runs/a@400", None):
        assert started_as(recipe(written), begun) == recipe(written)


@pytest.mark.parametrize(
    ("written", "recorded", "may"),
    [
        ("a", "a@500:ema", True),
        ("a@ema", "a@500:ema", True),
        ("a@last:ema", "a@500:ema", True),
        ("a@500", "a@500:ema", True),
        ("a@raw", "a@500:ema", False),
        ("a@raw", "a@500", True),
        ("a@ema", "a@500", False),
        ("a@400:ema", "a@500:ema", False),
        ("b@ema", "a@500:ema", False),
    ],
)
def test_a_name_with_weights_may_mean_a_start_with_the_same(written, recorded, may):
    assert may_mean(written, recorded) is may


def test_other_weights_than_the_recipe_names_are_refused(trained_run, vocabulary, tmp_path):
    with pytest.raises(InputError, match="holds other weights"):
        started(tmp_path, trained_run, vocabulary, **{"model.warm_start_sha256": "0" * 64})
    with pytest.raises(InputError, match="no such run"):
        started(tmp_path, tmp_path / "nowhere", vocabulary)
    with pytest.raises(InputError, match=r"model\.dim: differs from the model to start from"):
        started(tmp_path, trained_run, vocabulary, **{"model.dim": 64})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model.warm_start": "run", "step.weight_clip": 2.0}, "would clip those"),
        ({"model.warm_start_sha256": "ab"}, "without `model.warm_start`"),
    ],
)
def test_what_cannot_go_with_a_start_is_told_with_the_recipe(tmp_path, changes, said):
    with pytest.raises(InputError, match=said):
        load_recipe(small_recipe(tmp_path, **changes))


def real_pairs(folder, name, lines):
    """Lines of the sample that comes with the package, as a TSV without a header."""
    with files("trimtab.demo").joinpath("data/train.tsv.xz").open("rb") as opened:
        text = lzma.decompress(opened.read()).decode().splitlines()
    (folder / name).write_text("".join(line + "\n" for line in text[lines]))
    return {"pairs": name, "source": 1, "target": 2}


def test_on_other_text_the_vocabulary_is_that_of_the_old_run_and_new_tags_are_added(trained_run, tmp_path):
    """Nothing but the start is written, and the text has other words: no piece of the old vocabulary moves."""
    changes = {
        "model": {"warm_start": f"{trained_run}@last"},
        "data.tokenizer": None,
        "data.train": [{"source": "other.en", "target": "other.de", "tags": ["<manual>"]}],
    }
    small_recipe(tmp_path)
    write_pairs(tmp_path, "other", [("zzz xxx qqq", "the vvv kkk")] * 50)
    told = []

    class Told(Silent):
        def message(self, text):
            told.append(text)

    recipe, sources = small_sources(tmp_path, **changes)
    parts = build(recipe, sources)
    warm_start(parts, progress=Told())
    old, here = load_model(f"{trained_run}@last", device="cpu").tokenizer, sources.tokenizer
    assert [here.piece(id) for id in range(old.num_ids)] == [old.piece(id) for id in range(old.num_ids)]
    assert here.num_ids == old.num_ids + 1
    assert here.symbols == ("<manual>",)
    (said,) = told
    assert said.endswith(
        "66 of 67 pieces copied, 0 new ones from the old pieces that spell them, 1 new ones with first weights, "
        "0 old ones dropped"
    )


@pytest.mark.slow
def test_on_real_text_a_warm_start_is_ahead_of_a_cold_one(tmp_path):
    """Another text, another vocabulary, the same few steps: the weights of before are worth something."""
    changes = {
        "data.tokenizer": {"vocabulary_size": 700},
        "data.max_tokens": 64,
        "evaluate": {"every": "500 steps", "metrics": ["chrf"], "lines": 4},
        "checkpoint.every": "500 steps",
        "step.tokens_per_step": 1024,
        "step.tokens_per_micro_batch": 1024,
        "step.optimizer.learning_rate": 5e-3,
    }
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    first = {"data.train": [real_pairs(tmp_path / "first", "a.tsv", slice(1, 900))]}
    first["data.valid"] = real_pairs(tmp_path / "first", "dev.tsv", slice(2000, 2080))
    recipe = small_recipe(tmp_path / "first", **changes, **first, length="120 steps")
    run = train(recipe, out=tmp_path / "first" / "run").run
    second = {"data.train": [real_pairs(tmp_path / "second", "b.tsv", slice(900, 1800))]}
    second["data.valid"] = real_pairs(tmp_path / "second", "dev.tsv", slice(2100, 2180))
    losses = {}
    for start in (None, str(run)):
        changed = {**changes, **second, "length": "30 steps", "model.warm_start": start}
        recipe = small_recipe(tmp_path / "second", **changed)
        losses[start] = validated(train(recipe, out=tmp_path / "second" / f"run-{bool(start)}").run)
    assert load_model(str(run), device="cpu").tokenizer.fingerprint != (
        load_model(str(tmp_path / "second" / "run-True"), device="cpu").tokenizer.fingerprint
    )
    assert losses[str(run)] < losses[None] - 0.2
