"""Did you mean: the known key, kind or file name nearest to an unknown one."""

from collections.abc import Sequence

from trimtab.config.places import known_keys

WORDS_OF_OTHERS = {
    "accumulate": "step.tokens_per_micro_batch",
    "accumulation_steps": "step.tokens_per_micro_batch",
    "attention_heads": "model.heads",
    "num_key_value_heads": "model.kv_heads",
    "num_kv_heads": "model.kv_heads",
    "heads_kv": "model.kv_heads",
    "encoder_attention_heads": "model.encoder_heads",
    "decoder_attention_heads": "model.decoder_heads",
    "mini_batch_warmup": "step.batch_warmup",
    "batch_size": "step.tokens_per_step",
    "clip_norm": "step.clip.at",
    "d_ff": "model.feed_forward",
    "d_model": "model.dim",
    "dev": "data.valid",
    "early_stopping": "evaluate.patience",
    "early_stopping_on": "evaluate.stop_on",
    "early_stopping_patience": "evaluate.patience",
    "decoder_ffn_dim": "model.decoder_feed_forward",
    "decoder_ffn_embed_dim": "model.decoder_feed_forward",
    "encoder_ffn_dim": "model.encoder_feed_forward",
    "encoder_ffn_embed_dim": "model.encoder_feed_forward",
    "epochs": "length",
    "eval_steps": "evaluate.every",
    "ffn_dim": "model.feed_forward",
    "fp16": "step.precision",
    "bf16": "step.precision",
    "gradient_accumulation_steps": "step.tokens_per_micro_batch",
    "grad_clip": "step.clip.at",
    "hidden_size": "model.dim",
    "label_smoothing_factor": "loss.label_smoothing",
    "learning_rate_schedule": "step.schedule",
    "logging_steps": "evaluate.every",
    "lr": "step.optimizer.learning_rate",
    "lr_scheduler": "step.schedule",
    "lr_scheduler_type": "step.schedule.kind",
    "max_grad_norm": "step.clip.at",
    "max_length": "data.max_tokens",
    "max_steps": "length",
    "max_update": "length",
    "metric_for_best_model": "evaluate.best.metric",
    "mixed_precision": "step.precision",
    "num_epochs": "length",
    "num_heads": "model.heads",
    "num_layers": "model.layers",
    "num_train_epochs": "length",
    "num_workers": "data.workers",
    "save_interval": "checkpoint.every",
    "save_steps": "checkpoint.every",
    "save_total_limit": "checkpoint.keep",
    "test": "data.valid",
    "tokens_per_batch": "step.tokens_per_step",
    "train_steps": "length",
    "validation": "data.valid",
    "vocab_size": "data.tokenizer.vocabulary_size",
    "warmup_steps": "step.schedule.warmup",
    "warmup_updates": "step.schedule.warmup",
}
"""What other tools call it, where no likeness of letters would find ours."""

LONGEST_WORD = 200
"""A longer one is no slip of the pen, and a likeness takes the square of its length to find."""
MOST = 3
"""So many suggestions are help; more are a list to search."""


def nearest_keys(path: str, siblings: Sequence[str]) -> list[str]:
    """Dotted paths that an unknown key may have meant, best first: a sibling, the same word elsewhere, a likeness."""
    parent, _, name = path.rpartition(".")
    near = [f"{parent}.{sibling}" if parent else sibling for sibling in nearest_words(name, siblings)]
    if near and likeness(name, near[0].rpartition(".")[2]) >= 0.85:
        return near[:1]
    elsewhere = sorted(
        (key for key in known_keys() if key.rpartition(".")[2] == name), key=lambda key: key.count(".")
    )
    if 1 <= len(elsewhere) <= MOST:
        return elsewhere
    if name.lower() in WORDS_OF_OTHERS:
        return [WORDS_OF_OTHERS[name.lower()]]
    if near:
        return near[:1]
    words = sorted({key.rpartition(".")[2] for key in known_keys()})
    close = nearest_words(name, words, cutoff=0.8)[:1]
    alike = [key for key in known_keys() if key.rpartition(".")[2] in close]
    return alike if len(alike) <= MOST else []


def nearest_words(word: str, allowed: Sequence[str], *, cutoff: float = 0.65) -> list[str]:
    """The allowed words that look like this one, best first."""
    scored = [(likeness(word, candidate), candidate) for candidate in allowed]
    scored = [pair for pair in scored if pair[0] >= cutoff]
    return [candidate for _, candidate in sorted(scored, key=lambda pair: -pair[0])]


def likeness(one: str, other: str) -> float:
    """From 0 to 1; case, hyphens and underscores do not matter, and a word that begins another is near it."""
    from difflib import SequenceMatcher  # late: few files need it

    one, other = (text.lower().replace("-", "_") for text in (one, other))
    if one == other:
        return 1.0
    if max(len(one), len(other)) > LONGEST_WORD:
        return 0.0
    ratio = SequenceMatcher(None, one, other, autojunk=False).ratio()
    if len(one) >= 3 and (other.startswith(one) or other.endswith("_" + one)):
        return max(ratio, 0.8)
    return ratio


def did_you_mean(suggestions: Sequence[str]) -> str:
    """The question, or nothing where there is no suggestion."""
    if not suggestions:
        return ""
    return f"did you mean {' or '.join(f'`{suggestion}`' for suggestion in suggestions)}?"
