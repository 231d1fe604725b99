"""What rules say of Marian, Sockeye and fairseq: five slips of each, and their good twins silent."""

import pytest

from tests.checks.kinds.nmt.commands import FAIRSEQ, MARIAN, SOCKEYE
from tests.checks.kinds.test_fairseq import HYDRA
from tests.checks.kinds.test_marian import WHOLE
from tests.checks.kinds.test_marian_decoder import DECODER
from tests.checks.kinds.test_sockeye import ARGS
from tests.checks.rules.findings import of_example
from trimtab.checks.check import check
from trimtab.checks.rules import s151_gpus_train_asynchronously as s151
from trimtab.checks.rules import s152_divided_rate_is_tiny as s152

WITH = "marian=1.12.0"


def codes(tmp_path, text, name, select=()):
    path = tmp_path / name
    path.write_text(text)
    report = check(path, versions=[WITH], select=select)
    assert not report.problems, report.problems
    return [(each.finding.code, each.key) for each in report.diagnoses], report


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.sh", MARIAN), ("s.sh", SOCKEYE), ("f.sh", FAIRSEQ),
        ("cosine.sh", FAIRSEQ.replace("inverse_sqrt", "cosine").replace("--patience 9", "--min-lr 1e-9")),
        ("config.yml", WHOLE), ("args.yaml", ARGS),
        ("hydra.yaml", HYDRA), ("model.npz.decoder.yml", DECODER),
    ],
)  # fmt: skip
def test_good_twins_are_silent(tmp_path, name, text):
    assert codes(tmp_path, text, name)[0] == []


@pytest.mark.parametrize(
    ("text", "old", "new", "code", "key"),
    [
        (MARIAN, "--valid-sets", "--valid_sets", "C101", "valid_sets"),
        (MARIAN, "--optimizer-delay", "--optimizer-dealy", "C101", "optimizer-dealy"),
        (MARIAN, "--cost-type=ce-mean-words", "--cost-type ce-mean-word", "C114", "cost-type"),
        (MARIAN, "--after 100Ku", "--after-batches 100000", "C107", "after-batches"),
        (MARIAN, "--after 100Ku", "--after 5Ku", "S104", "lr-warmup"),
        (MARIAN, "--sync-sgd", "", "S151", "devices"),
        (MARIAN, "joint.spm joint.spm", "en.spm de.spm", "M315", "tied-embeddings-all"),
        (MARIAN, "--transformer-heads 8", "--transformer-heads 7", "M305", "transformer-heads"),
        (MARIAN, "corpus.en corpus.de", "corpus.en corpus.en", "D106", "train-sets"),
        (MARIAN, "--valid-sets dev.en", "--valid-sets corpus.en", "D105", "valid-sets"),
        (MARIAN, "--mini-batch-words 3000", "--mini-batch 3000", "D101", "mini-batch"),
        (MARIAN, "--label-smoothing 0.1", "--label-smoothing 1.1", "C102", "label-smoothing"),
        (MARIAN, "--enc-depth 6", "--enc-depth six", "C103", "enc-depth"),
        (MARIAN, "--max-length 120", "--clip-gemm 1", "C108", "clip-gemm"),
        (SOCKEYE, "--num-layers", "--num-layer-count", "C101", "num-layer-count"),
        (SOCKEYE, "--batch-type max-word", "--batch-type sentence", "D101", "batch-size"),
        (
            SOCKEYE, "--gradient-clipping-type norm", "--gradient-clipping-threshold 1.0", "C121",
            "gradient-clipping-threshold",
        ),
        (SOCKEYE, "--amp", "--dtype float16", "C121", "dtype"),
        (SOCKEYE, "rate 0.03 ", "rate 0.0005 ", "S152", "initial-learning-rate"),
        (SOCKEYE, "--max-updates 30000", "--max-updates 3000", "S104", "learning-rate-warmup"),
        (SOCKEYE, "--optimizer-betas 0.9:0.98", "--optimizer adamw", "C114", "optimizer"),
        (SOCKEYE, "--seed 2", "--horovod", "C108", "horovod"),
        (SOCKEYE, "--seed 2", "--seed two", "C103", "seed"),
        (FAIRSEQ, "--lr-scheduler", "--lr-schedular", "C101", "lr-schedular"),
        (FAIRSEQ, "--max-tokens", "--max_tokens", "C101", "max_tokens"),
        (FAIRSEQ, "iwslt_de_en", "iwslt_de", "C114", "arch"),
        (FAIRSEQ, "--criterion label_smoothed_cross_entropy", "", "L112", "label-smoothing"),
        (FAIRSEQ, "--patience 9", "--best-checkpoint-metric bleu", "E102", "best-checkpoint-metric"),
        (FAIRSEQ, "--max-tokens 4096", "--batch-size 64", "D102", "batch-size"),
        (FAIRSEQ, "--lr 7e-4", "--lr 7", "S140", "lr"),
        (
            FAIRSEQ, "--lr-scheduler inverse_sqrt", "--lr-scheduler polynomial_decay --total-num-update 9000", "S102",
            "",
        ),
        (
            FAIRSEQ, "--weight-decay 0.0001", "--encoder-attention-heads 7 --decoder-attention-heads 7", "M305",
            "decoder-attention-heads",
        ),
        (FAIRSEQ, "--max-update 40000", "--max-update 3000", "S104", "warmup-updates"),
        (FAIRSEQ, "--patience 9", "--min-lr 1e-9", "C108", "min-lr"),
        (WHOLE, "lr-warmup:", "lr-warmpu:", "C101", "lr-warmpu"),
        (WHOLE, "type: transformer", "type: tranformer", "C114", "type"),
        (WHOLE, "sync-sgd: yes", "sync-sgd: no", "S151", "devices"),
        (WHOLE, "label-smoothing: 0.1", "label-smoothing: 0.5", "L105", "label-smoothing"),
        (WHOLE, "dev.en, dev.de", "corpus.en, corpus.de", "D105", "valid-sets"),
        (DECODER, "beam-size", "beam-sise", "C101", "beam-sise"),
        (ARGS, "initial_learning_rate: 0.0632", "initial_learning_rate: 0.0005", "S152", "initial_learning_rate"),
        (ARGS, "validation_source: dev.en", "source: a\ntarget: a\nvalidation_source: dev.en", "D106", "target"),
        (ARGS, "learning_rate_warmup", "lerning_rate_warmup", "C101", "lerning_rate_warmup"),
        (HYDRA, "max_update: 60000", "max_updates: 60000", "C101", "optimization.max_updates"),
        (HYDRA, "_name: adam,", "_name: adamm,", "C114", "optimizer._name"),
        (HYDRA, "save_dir: out", "best_checkpoint_metric: bleu", "E102", "checkpoint.best_checkpoint_metric"),
        (HYDRA, "label_smoothed_cross_entropy, ", "cross_entropy, ", "L112", "criterion.label_smoothing"),
        (HYDRA, "max_update: 60000", "max_update: 5000", "S104", "lr_scheduler.warmup_updates"),
    ],
)  # fmt: skip
def test_a_slip_is_found_where_it_is_written(tmp_path, text, old, new, code, key):
    assert old in text
    name = "run.sh" if "--" in text else "config.yml"
    found, _ = codes(tmp_path, text.replace(old, new, 1), name, [code])
    assert (code, key) in found


def test_evidence_is_of_the_tool_in_hand(tmp_path):
    from trimtab.checks.say.text import as_text

    for text, old, new, home in (
        (MARIAN, "--optimizer-delay", "--optimizer-dealy", "marian-nmt/marian-dev"),
        (FAIRSEQ, "--lr-scheduler", "--lr-schedular", "facebookresearch/fairseq"),
        (SOCKEYE, "--num-layers", "--num-layer-count", "awslabs/sockeye"),
    ):
        _, report = codes(tmp_path, text.replace(old, new), "run.sh", ["C101"])
        shown = as_text(report)
        assert home in shown
        assert "axolotl" not in shown


def test_updates_of_several_gpus_are_said_to_be_asynchronous_only_where_nothing_else_can_say():
    assert of_example(s151) == ["warning"]
    assert of_example(s151, ("devices: [0, 1, 2, 3]", "devices: [0]")) == []
    assert of_example(s151, ("train-sets: [train.en, train.de]\n", "")) == []
    assert of_example(s151, ("type: transformer", "task: transformer-base")) == []


def test_a_factor_is_small_by_the_peak_that_it_gives():
    assert of_example(s152) == ["warning"]
    assert of_example(s152, ("warmup 4000", "warmup 100")) == []
    assert of_example(s152, ("inv-sqrt-decay", "linear-decay")) == []


def test_a_fix_keeps_the_dashes_of_options(tmp_path):
    from trimtab.checks.mend_files import mend_files

    slips = MARIAN.replace("--valid-sets", "--valid_sets").replace("--optimizer-delay", "--optimizer-dealy")
    slips = slips.replace("-d 0 1", "-d 0 1 --label-smoting 0.1").replace(" --label-smoothing 0.1", "")
    path = tmp_path / "run.sh"
    path.write_text(slips)
    mend_files([path], select=["C101"], changes_training=True)
    text = path.read_text()
    assert "--valid-sets dev.en" in text
    assert "--optimizer-delay 4" in text
    assert "--label-smoothing 0.1" in text
