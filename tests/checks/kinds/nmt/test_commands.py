from tests.checks.kinds.describing import describe_all, values
from tests.checks.kinds.nmt.commands import FAIRSEQ, MARIAN, SOCKEYE, run, runs
from tests.for_each import for_each
from trimtab.checks.kinds.shell_launch import KIND


def test_a_command_of_marian_is_told_whole():
    told = run(MARIAN)
    assert values(told, "task", "from_scratch", "encoder_layers", "layers", "heads") == (
        "translation", True, 6, 4, 8,
    )  # fmt: skip
    assert values(told, "hidden_size", "feed_forward", "dropout", "norm_placement", "positions") == (
        512, 1536, 0.1, "post", "sinusoidal",
    )  # fmt: skip
    assert values(told, "learning_rate", "schedule", "warmup_steps", "beta2", "epsilon", "clip") == (
        3e-4, "inverse_sqrt", 8000, 0.98, 1e-9, 1.0,
    )  # fmt: skip
    assert values(told, "micro_batch", "batch_unit", "accumulation", "devices", "synchronous") == (
        3000, "tokens", 4, 2, True,
    )  # fmt: skip
    assert values(told, "steps", "eval_steps", "save_steps", "patience", "moving_average") == (
        100_000, 2500.0, 5000.0, 8, 1e-4,
    )  # fmt: skip
    assert values(told, "autocast", "weights_dtype", "loss_normalization", "beam", "vocab_size") == (
        "fp16", "fp32", "tokens", 6, 32000,
    )  # fmt: skip
    assert values(told, "corpora", "validation_files", "shared_vocabulary") == (
        ["corpus.en", "corpus.de"], ["dev.en", "dev.de"], True,
    )  # fmt: skip


def test_a_command_of_sockeye_is_told_with_its_launcher_and_the_data_prepared_before():
    told = run(SOCKEYE)
    assert [each.tool for each in runs(SOCKEYE)] == ["sockeye", "sockeye"]
    assert values(told, "encoder_layers", "layers", "hidden_size", "feed_forward", "heads") == (
        6,
        3,
        512,
        1024,
        8,
    )
    assert values(told, "devices", "micro_batch", "batch_unit", "accumulation") == (4, 4000, "tokens", 2)
    assert values(told, "schedule", "warmup_steps", "beta2", "clip", "autocast") == (
        "rsqrt",
        4000,
        0.98,
        1.0,
        "fp16",
    )
    assert values(told, "norm_placement", "tied_embeddings", "shared_vocabulary") == ("pre", True, True)
    assert values(told, "steps", "patience", "validation_files") == (30_000, 12, ["dev.en", "dev.de"])


def test_a_command_of_fairseq_is_told_with_what_its_architecture_sets():
    told = run(FAIRSEQ)
    assert values(told, "hidden_size", "feed_forward", "heads", "layers", "dropout") == (512, 1024, 4, 6, 0.2)
    assert values(told, "optimizer", "optimizer_variant", "weight_decay", "beta2") == (
        "adamw",
        "adam",
        1e-4,
        0.98,
    )
    assert values(told, "schedule", "warmup_steps", "learning_rate", "clip") == (
        "inverse_sqrt",
        4000,
        7e-4,
        1.0,
    )
    assert values(told, "micro_batch", "batch_unit", "accumulation", "devices") == (4096, "tokens", 4, 2)
    assert values(told, "autocast", "label_smoothing", "tied_embeddings", "norm_placement") == (
        "fp16", 0.1, True, "post",
    )  # fmt: skip
    assert values(told, "eval_steps", "save_steps", "keep_checkpoints", "patience") == (1000.0, 1000.0, 5, 9)
    assert told.value("corpora") == ["data-bin/iwslt/"]


@for_each(
    ("line", "devices"),
    [
        ("CUDA_VISIBLE_DEVICES=3 fairseq-train d --lr 1", 1),
        ("fairseq-train d --lr 1", None),
        ("python -m torch.distributed.launch --nproc_per_node=8 $(which fairseq-train) d --lr 1", 8),
        ("torchrun --nproc_per_node 2 $HOME/fairseq/fairseq_cli/train.py d -a transformer --lr 1 --max-tokens 9 "
         "--task translation --criterion cross_entropy", 2),
        ("fairseq-train d --lr 1 --distributed-world-size 16", 16),
    ],
)  # fmt: skip
def test_the_number_of_gpus_is_where_a_command_says_it(line, devices):
    assert run(line + "\n").value("devices") == devices


def test_a_file_of_options_beside_a_command_counts_and_the_command_wins():
    beside = [("base.yml", "learn-rate: 0.0002\nlr-warmup: 4000\nlr-decay-inv-sqrt: 4000\nenc-depth: 6\n")]
    (told,) = describe_all(
        KIND, "marian -c base.yml --train-sets a b --learn-rate 0.0001 $MORE\n", file="run.sh", beside=beside
    )
    assert values(told, "learning_rate", "warmup_steps", "schedule") == (1e-4, 4000, "inverse_sqrt")
    assert told.written("learn-rate").value == 1e-4
    assert told.written("lr-warmup") is None
    assert told.value("clip") is None


def test_a_variable_that_may_hold_options_leaves_defaults_open():
    (told,) = runs('marian --train-sets a b --vocabs v v "$@"\n')
    assert values(told, "corpora", "clip", "optimizer") == (["a", "b"], None, None)


def test_a_misspelled_option_leaves_the_default_of_the_right_one_open():
    (told,) = runs("marian --train-sets a b --lr-warmpu 16000\n")
    assert values(told, "warmup_steps", "clip") == (None, 1.0)


def test_hydra_is_told_by_the_names_of_its_groups():
    (told,) = runs(
        "fairseq-hydra-train --config-dir c --config-name n optimization.lr=[0.0005] common.fp16=true\n"
    )
    assert values(told, "learning_rate", "autocast", "clip") == (5e-4, "fp16", None)
    assert told.table.key("config-dir") is not None
