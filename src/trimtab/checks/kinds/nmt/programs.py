"""Which commands of a script start Marian, Sockeye or fairseq."""

from trimtab.checks.document import Call

PROGRAMS = {
    "marian": "marian",
    "marian-train": "marian",
    "marian-decoder": "marian-decoder",
    "sockeye-train": "sockeye",
    "sockeye.train": "sockeye",
    "sockeye-prepare-data": "sockeye-prepare",
    "sockeye.prepare_data": "sockeye-prepare",
    "fairseq-train": "fairseq",
    "fairseq_cli.train": "fairseq",
    "fairseq-hydra-train": "fairseq-hydra",
    "fairseq_cli.hydra_train": "fairseq-hydra",
    "hydra_train.py": "fairseq-hydra",
    "fairseq-preprocess": "fairseq-preprocess",
    "fairseq_cli.preprocess": "fairseq-preprocess",
}
_FAIRSEQ = frozenset(
    {
        "criterion", "lr_scheduler", "max_tokens", "update_freq", "warmup_updates", "adam_betas", "max_update",
        "max_epoch", "share_all_embeddings", "share_decoder_input_output_embed", "source_lang", "save_dir", "user_dir",
        "ddp_backend", "restore_file", "optimizer", "task",
    }
)  # fmt: skip
_MARIAN = frozenset({"train_sets", "mini_batch_fit", "valid_sets", "transformer_heads", "valid_freq", "t"})


def program_of(call: Call) -> str:
    """Which program a command starts: a key of `_TOOLS`, empty for any other."""
    if call.name in PROGRAMS:
        return PROGRAMS[call.name]
    names = call.arguments.keys()
    if call.name.startswith("$") and "marian" in call.name.lower():
        # A variable that holds the program: its options say which.
        is_training = bool(names & _MARIAN)
        return "marian" if is_training else "marian-decoder" if "decoder" in call.name.lower() else ""
    if call.name == "preprocess.py" and {"trainpref", "destdir"} <= names:
        return "fairseq-preprocess"
    is_fairseq = call.name == "train.py" and ("arch" in names or "a" in names) and len(names & _FAIRSEQ) >= 3
    return "fairseq" if is_fairseq else ""
