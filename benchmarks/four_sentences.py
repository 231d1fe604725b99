"""One batch of four sentences, cut 1, 2 and 4 ways: by the Trainer of Hugging Face, and by `trimtab.step.accumulate`.

Both times the model is a MarianMT of transformers with the same random weights. Its forward pass takes any keyword, so
the Trainer believes that it divides its loss by `num_items_in_batch`, and does not divide by the number of
micro-batches; but its loss is a plain mean over the micro-batch. The means are added up.
"""

import tempfile
from dataclasses import dataclass

import torch
from torch.nn.utils.rnn import pad_sequence

from trimtab.step.accumulate import accumulate
from trimtab.types import IGNORE, LossOutput

CUTS = (1, 2, 4)


def four_sentences(sources):
    """Loss, gradient norm and direction of every cut, beside those of the batch in one piece."""
    rows, symbols = chosen(sources), sources.tokenizer
    theirs = {ways: by_trainer(rows, symbols, ways=ways) for ways in CUTS}
    ours = {ways: by_trimtab(rows, symbols, ways=ways) for ways in CUTS}
    return {
        "model": "MarianMT, 192 wide, 3 heads, 2+2 layers, random weights, no dropout, float32, learning rate 0",
        "target tokens of the sentences": [len(row["labels"]) for row in rows],
        "Seq2SeqTrainer, per_device_train_batch_size * gradient_accumulation_steps = 4": compared(theirs),
        "trimtab.step.accumulate, same model and cuts": compared(ours),
    }


def compared(found):
    whole = found[1]["gradient"]
    return {
        f"cut {ways} ways": {
            "loss": one["loss"],
            "grad_norm": float(one["gradient"].norm()),
            "grad_norm / that of 1 cut": float(one["gradient"].norm() / whole.norm()),
            "cosine with the gradient of 1 cut": float(
                torch.cosine_similarity(one["gradient"], whole, dim=0)
            ),
        }
        for ways, one in found.items()
    }


def chosen(sources):
    """Four of the first hundred held-out sentences, from short to long, in mixed order."""
    valid = next(iter(sources.valid.values()))
    by_length = sorted(range(100), key=lambda row: len(valid.target.row(row)))
    return [
        {"input_ids": valid.source.row(row).tolist(), "labels": valid.target.row(row).tolist()}
        for row in (by_length[rank] for rank in (5, 65, 35, 95))
    ]


@dataclass
class Cut:
    """Some of the four sentences; `accumulate` only asks how many targets they have."""

    rows: list
    num_targets: int


def marian(symbols):
    from transformers import MarianConfig, MarianMTModel

    torch.manual_seed(0)
    return MarianMTModel(
        MarianConfig(
            vocab_size=symbols.num_ids,
            d_model=192,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=3,
            decoder_attention_heads=3,
            encoder_ffn_dim=768,
            decoder_ffn_dim=768,
            max_position_embeddings=128,
            dropout=0.0,
            pad_token_id=symbols.pad,
            eos_token_id=symbols.end,
            decoder_start_token_id=symbols.start,
        )
    )


def collate(rows, pad):
    def padded(key, filler):
        tensors = [torch.tensor(row[key]) for row in rows]
        return pad_sequence(tensors, batch_first=True, padding_value=filler)

    source = padded("input_ids", pad)
    return {"input_ids": source, "attention_mask": (source != pad).long(), "labels": padded("labels", IGNORE)}


def by_trainer(rows, symbols, *, ways):
    """What the Trainer logs as the loss of the step, and the gradient it is about to apply."""
    from transformers import PrinterCallback, Seq2SeqTrainer, Seq2SeqTrainingArguments, TrainerCallback

    found = {}

    class InOrder(Seq2SeqTrainer):
        def _get_train_sampler(self, *arguments, **more):
            return torch.utils.data.SequentialSampler(rows)

    class Watch(TrainerCallback):
        def on_pre_optimizer_step(self, arguments, state, control, *, model, **more):
            found["gradient"] = gradient_of(model)

        def on_log(self, arguments, state, control, *, logs, **more):
            found.setdefault("loss", logs.get("loss"))

    with tempfile.TemporaryDirectory() as folder:
        settings = Seq2SeqTrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=len(rows) // ways,
            gradient_accumulation_steps=ways,
            max_steps=1,
            learning_rate=0.0,
            max_grad_norm=0.0,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            remove_unused_columns=False,
        )
        trainer = InOrder(
            model=marian(symbols),
            args=settings,
            train_dataset=rows,
            data_collator=lambda some: collate(some, symbols.pad),
            callbacks=[Watch()],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return found


def by_trimtab(rows, symbols, *, ways):
    """The same, with the loss summed and divided once by the targets of the whole batch."""
    model, size = marian(symbols).train(), len(rows) // ways
    pieces = [rows[start : start + size] for start in range(0, len(rows), size)]

    def objective(cut):
        batch = collate(cut.rows, symbols.pad)
        logits = model(**batch).logits.flatten(0, 1)
        summed = torch.nn.functional.cross_entropy(
            logits, batch["labels"].flatten(), ignore_index=IGNORE, reduction="sum"
        )
        return LossOutput(summed, summed.detach())

    cuts = [Cut(piece, sum(len(row["labels"]) for row in piece)) for piece in pieces]
    return {"loss": float(accumulate(objective, cuts).loss), "gradient": gradient_of(model)}


def gradient_of(model):
    return torch.cat([p.grad.double().flatten() for p in model.parameters() if p.grad is not None])
