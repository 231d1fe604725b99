import pytest

from tests.checks.conversion.made import lacking, made, recipe
from tests.checks.kinds.nmt.commands import FAIRSEQ, MARIAN, SOCKEYE
from tests.checks.kinds.test_fairseq import HYDRA
from tests.checks.kinds.test_marian import WHOLE
from tests.checks.kinds.test_sockeye import ARGS
from tests.for_each import for_each
from trimtab.checks.conversion.nmt import SEGMENTED
from trimtab.errors import InputError


def test_a_command_of_marian_becomes_a_recipe_with_its_vocabulary():
    told = recipe(MARIAN, "run.sh")
    assert (told.data.train[0].source, told.data.train[0].target) == ("corpus.en", "corpus.de")
    assert (told.data.valid["valid"].source, told.data.tokenizer.path) == ("dev.en", "joint.spm")
    assert (told.model.encoder_layers, told.model.decoder_layers, told.model.feed_forward) == (6, 4, 1536)
    model, step = told.model, told.step
    assert (model.norm_position, model.activation, model.tie_embeddings) == ("after", "silu", "all")
    assert (told.step.tokens_per_step, told.step.tokens_per_micro_batch) == (3000 * 4 * 2, 3000)
    assert (told.step.ema.decay, told.evaluate.weights, told.evaluate.patience) == (0.9999, "ema", 8)
    assert (str(step.schedule.warmup), step.precision, told.data.max_tokens) == (
        "8000 steps",
        "fp16_mixed",
        121,
    )
    assert (str(told.length), str(told.evaluate.every), told.seed) == ("100000 steps", "2500 steps", 7)
    assert lacking(MARIAN, "run.sh") == []


@pytest.mark.parametrize(("written", "power"), [("--normalize 0.6", "0.6"), ("-n", "1.0"), ("-n=0", "0.0")])
def test_the_normalization_of_marian_is_told_as_the_length_penalty(written, power):
    told = made(f"marian --type transformer -t a.en a.de --valid-sets d.en d.de {written}\n", "run.sh")
    assert any(f"`--length-penalty {power}`" in note for note in told.notes)
    assert "normalize" not in [each.key for each in told.unmatched]


@pytest.mark.parametrize("written", ["", "--normalize nan", "--normalize -3"])
def test_no_length_penalty_is_made_up(written):
    told = made(f"marian --type transformer -t a.en a.de --valid-sets d.en d.de {written}\n", "run.sh")
    assert not any("--length-penalty" in note for note in told.notes)


@for_each(
    ("options", "any_of", "all_of"),
    [
        ("", ("loss",), ()),
        ("--valid-metrics chrf perplexity", ("chrf",), ()),
        ("--valid-metrics bleu-detok ce-mean-words perplexity --early-stopping-on any", ("bleu", "loss"), ()),
        ("--valid-metrics chrf cross-entropy --early-stopping-on all", (), ("chrf", "loss")),
    ],
)
def test_the_metrics_that_stop_marian_early_stop_the_run(options, any_of, all_of):
    command = f"marian --type transformer -t a.en a.de --valid-sets d.en d.de --early-stopping 7 {options}\n"
    evaluate = recipe(command, "run.sh").evaluate
    assert evaluate.patience == 7
    assert (evaluate.stop_on.any, evaluate.stop_on.all) == (any_of, all_of)


@pytest.mark.parametrize("options", ["", "--early-stopping 7 --valid-metrics valid-script"])
def test_what_is_not_measured_here_stops_nothing(options):
    command = f"marian --type transformer -t a.en a.de --valid-sets d.en d.de --early-stopping 0 {options}\n"
    assert recipe(command, "run.sh").evaluate.stop_on is None


def test_a_command_of_sockeye_becomes_a_recipe_with_the_texts_that_were_prepared():
    told = recipe(SOCKEYE, "run.sh")
    assert (told.data.train[0].source, told.data.valid["valid"].target) == ("corpus.en", "dev.de")
    assert (told.model.encoder_layers, told.model.decoder_layers, told.model.norm_position) == (
        6,
        3,
        "before",
    )
    assert told.step.optimizer.learning_rate == pytest.approx(0.03 / 4000**0.5, rel=1e-3)
    assert (told.step.schedule.kind, told.step.tokens_per_step) == ("inverse_sqrt", 4000 * 2 * 4)
    assert (str(told.length), told.evaluate.patience, told.model.tie_embeddings) == ("30000 steps", 12, "all")
    assert lacking(SOCKEYE, "run.sh") == []


def test_a_command_of_fairseq_becomes_a_recipe_with_the_texts_that_were_binarized():
    told = recipe(FAIRSEQ, "run.sh")
    assert told.data.train[0].source == "data/tokenized/train.de"
    assert told.data.valid["valid"].target == "data/tokenized/valid.en"
    assert (told.model.dim, told.model.heads, told.model.feed_forward, told.model.dropout) == (
        512,
        4,
        1024,
        0.2,
    )
    assert (told.step.tokens_per_step, told.step.optimizer.weight_decay) == (4096 * 4 * 2, 1e-4)
    assert (told.loss.label_smoothing, told.evaluate.patience, told.checkpoint.keep) == (0.1, 9, 5)
    assert lacking(FAIRSEQ, "run.sh") == []


@pytest.mark.parametrize(("text", "kind"), [(WHOLE, "marian"), (ARGS, "sockeye"), (HYDRA, "fairseq")])
def test_yaml_of_each_becomes_a_recipe_that_loads(text, kind):
    conversion = made(text)
    assert (conversion.kind, conversion.is_trainable) == (kind, True), conversion.notes
    assert "none: yours under" not in conversion.recipe_text


def test_a_length_in_labels_and_a_long_warmup_fit_in_the_recipe():
    text = WHOLE.replace("after: 20e,1Gt", "after: 1Gt")
    assert str(recipe(text).length) == "1000000000 tokens"
    assert str(recipe(WHOLE.replace("after: 20e,1Gt\n", "")).length) == "160000 steps"


@for_each(
    ("old", "new", "note"),
    [
        ("joint.spm, joint.spm", "v.en.yml, v.de.yml", "v.en.yml, v.de.yml"),
        ("corpus.en, corpus.de", "c.bpe.en, c.bpe.de", "c.bpe.en, c.bpe.de look cut into pieces"),
        ("corpus.en, corpus.de", "a, b, c", "3 files are read side by side"),
        ("clip-norm: 0", "guided-alignment: a.align", "loss.guided_alignment: {weight: 0.1}"),
        (
            "clip-norm: 0",
            "guided-alignment: a.align\nguided-alignment-weight: .nan",
            "guided_alignment: {weight: 0.1}",
        ),
        ("clip-norm: 0", "guided-alignment: a.align\nguided-alignment-cost: mse", "the cost mse"),
        ("clip-norm: 0", "factors-combine: concat", "factors"),
        ("clip-norm: 0", "transformer-decoder-autoreg: rnn", "a decoder of the kind rnn"),
        ("transformer-heads: 8", "transformer-heads: 7", "7 heads do not divide"),
        ("enc-depth: 6", "transformer-dropout-attention: 0.1", "attention weights"),
        ("learn-rate: 3e-4", "learn-rate: 3e-4\noptimizer: adagrad", "adagrad"),
    ],
)
def test_what_cannot_be_carried_over_is_named(old, new, note):
    assert any(note in each for each in made(WHOLE.replace(old, new)).notes)


def test_two_sentencepiece_models_are_two_tokenizers_and_sampling_goes_with_them():
    text = WHOLE.replace("joint.spm, joint.spm", "en.spm, de.spm").replace(
        "tied-embeddings-all", "tied-embeddings"
    )
    told = recipe(text + "sentencepiece-alphas: [0.2, 0.2]\n")
    assert (told.data.source_tokenizer.path, told.data.tokenizer.path) == ("en.spm", "de.spm")
    assert (told.data.tokenizer.sampling.alpha, told.model.tie_embeddings) == (0.2, "decoder")


def test_a_model_that_marian_would_train_is_said_to_be_missing(tmp_path):
    import trimtab

    path = tmp_path / "config.yml"
    path.write_text(WHOLE)
    assert any("joint.spm: not beside this file" in note for note in trimtab.convert(path).notes)
    (tmp_path / "joint.spm").write_bytes(b"")
    assert not any("joint.spm" in note for note in trimtab.convert(path).notes)


def test_tabs_between_source_and_target_are_one_file_of_pairs():
    text = WHOLE.replace("[corpus.en, corpus.de]", "corpus.tsv\ntsv: true").replace(
        "[dev.en, dev.de]", "dev.tsv"
    )
    told = recipe(text)
    assert (told.data.train[0].pairs, told.data.valid["valid"].pairs) == ("corpus.tsv", "dev.tsv")


def test_alibi_is_of_the_decoder_alone():
    told = recipe(WHOLE + "alibi: true\n")
    assert (told.model.positions, told.model.decoder_positions) == ("sinusoidal", "alibi")


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("fairseq-train d --task masked_lm --lr 1 --optimizer adam", "masked_lm"),
        ("marian --type bert --train-sets a --vocabs v", "bert"),
        ("fairseq-preprocess --trainpref a --destdir b -s de -t en", "no run"),
    ],
)
def test_what_is_no_translation_is_refused_by_its_name(line, word):
    with pytest.raises(InputError, match=word):
        made(line + "\n", "run.sh")


def test_options_that_say_nothing_more_are_taken_over():
    more = "--num-embed 512 --embed-dropout 0:0 --learning-rate-reduce-factor 0.7"
    conversion = made(SOCKEYE.replace("--seed 2", more), "run.sh")
    assert [setting.key for setting in conversion.unmatched] == ["learning-rate-reduce-factor"]
    assert not any("factors" in note for note in conversion.notes)


def test_two_commands_are_two_files_to_convert():
    with pytest.raises(InputError) as caught:
        made("marian --train-sets a b --learn-rate 1\n" * 2, "run.sh")
    assert "put each command into a file of its own" in str(caught.value)


@for_each(
    ("path", "is_cut"),
    [
        ("data/corpus.bpe.en", True), ("iwslt14.tokenized.de-en/train.de", True), ("train.bpe32k.de", True),
        ("corpus.tc.BPE.de", True), ("wmt/corpus.en", False), ("spmt/token.en", False), ("stoke.en", False),
    ],
)  # fmt: skip
def test_the_name_of_a_file_says_whether_it_is_cut_into_pieces(path, is_cut):
    assert bool(SEGMENTED.search(path)) == is_cut


@for_each(
    ("weight", "found"), [("0.5", 0.5), ("0", 0.1), ("-1", 0.1), (".inf", 0.1), ("[1]", 0.1), ("true", 0.1)]
)
def test_alignments_of_words_are_carried_over_with_their_weight(weight, found):
    text = WHOLE.replace("joint.spm, joint.spm", "v.en.yml, v.de.yml").replace(
        "clip-norm: 0",
        f"guided-alignment: a.align\nguided-alignment-cost: ce\nguided-alignment-weight: {weight}",
    )
    loaded, conversion = recipe(text), made(text)
    assert loaded.data.train[0].alignments == "a.align"
    assert loaded.loss.guided_alignment.weight == found
    assert not [each.key for each in conversion.unmatched if each.key.startswith("guided")]
    pieces = recipe(text.replace("corpus.en, corpus.de", "c.bpe.en, c.bpe.de"))
    assert (pieces.loss.guided_alignment, pieces.data.train[0].alignments) == (None, None)


def test_the_beam_of_validation_is_that_of_evaluations():
    assert recipe(WHOLE.replace("clip-norm: 0", "beam-size: 6")).evaluate.beam == 6
    assert recipe(WHOLE.replace("clip-norm: 0", "beam-size: 900")).evaluate.beam == 1
