"""The peer: Hugging Face's Seq2SeqTrainer with M2M100 of the base preset's size on the same lines, then beam 4.

    python benchmarks/hf_translation.py --data DIR --out result.json [--seconds 306] [--batch 512] [--rate 5e-4]

DIR holds {prose,ui}/{train,dev}.{en,de}.xz. MarianMT from scratch at its usual rate fell into one phrase for every
input; M2M100, whose norms stand before the sub-layers, was the best HF setting found. Batches are grouped by length.
The run ends by the clock, and its learning rate falls to zero by the clock, so that it gets all of its time.
"""

import argparse
import io
import json
import lzma
import sys
import time
from pathlib import Path

import sacrebleu
import sentencepiece
import torch
import transformers
from transformers import (
    M2M100Config,
    M2M100ForConditionalGeneration,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainerCallback,
)

PAD, END, LONGEST = 0, 1, 128


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--tokenizer", type=Path, help="a trained sentencepiece model to use; made where it is missing"
    )
    parser.add_argument("--kinds", nargs="+", default=["prose", "ui"], help="dev sets to translate")
    parser.add_argument("--seconds", type=float, default=306.0, help="length of the training")
    parser.add_argument("--warmup", type=int, default=400, help="steps")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--dropout", type=float, default=0.1)
    args = parser.parse_args()
    texts = {
        side: [line for kind in ("prose", "ui") for line in read(args.data / kind / f"train.{side}.xz")]
        for side in ("en", "de")
    }
    pieces = pieces_of(texts, args.tokenizer)
    ids = {
        side: [[*row[: LONGEST - 1], END] for row in pieces.encode(lines, num_threads=16)]
        for side, lines in texts.items()
    }
    model = network(pieces.get_piece_size(), dropout=args.dropout)
    rows = [
        {"input_ids": s, "labels": t, "length": len(s) + len(t)}
        for s, t in zip(ids["en"], ids["de"], strict=True)
    ]
    torch.manual_seed(1)
    settings = arguments(batch=args.batch, rate=args.rate)
    clock = Clock(args.seconds)
    optimizer = torch.optim.AdamW(
        model.cuda().parameters(), lr=args.rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / args.warmup, 1.0) * clock.left()
    )
    trainer = Seq2SeqTrainer(
        model=model,
        args=settings,
        train_dataset=rows,
        data_collator=collate,
        optimizers=(optimizer, schedule),
        callbacks=[clock],
    )
    begun = time.perf_counter()
    trainer.train()
    seconds = time.perf_counter() - begun
    steps = trainer.state.global_step
    tokens = sum(row["length"] for row in rows) / len(rows) * steps * args.batch
    print(f"HF trained {seconds:.0f} s, {tokens / seconds / 1e3:.0f}k real tokens/s", flush=True)
    model.eval().bfloat16()
    scores = {kind: evaluate(model, pieces, args.data / kind) for kind in args.kinds}
    args.out.write_text(
        json.dumps(
            {
                "question": "HF Seq2SeqTrainer, M2M100, en-de",
                "card": torch.cuda.get_device_name(),
                "torch": torch.__version__,
                "transformers": transformers.__version__,
                "command": " ".join(["python", *sys.argv]),
                "parameters": sum(p.numel() for p in model.parameters()),
                "training_seconds": seconds,
                "steps": steps,
                "tokens_per_second": tokens / seconds,
                "scores": scores,
            },
            indent=1,
        )
        + "\n"
    )


def network(vocabulary, *, dropout, dim=512, layers=6, heads=8, feed_forward=2048, end=END):
    """M2M100 of this size with random weights; by default that of the base preset."""
    return M2M100ForConditionalGeneration(
        M2M100Config(
            vocab_size=vocabulary,
            d_model=dim,
            encoder_layers=layers,
            decoder_layers=layers,
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=feed_forward,
            decoder_ffn_dim=feed_forward,
            max_position_embeddings=256,
            pad_token_id=PAD,
            eos_token_id=end,
            bos_token_id=3 if end != 3 else 2,
            decoder_start_token_id=PAD,
            forced_eos_token_id=None,
            activation_function="relu",
            dropout=dropout,
            attention_dropout=0.0,
            activation_dropout=0.0,
            encoder_layerdrop=0.0,
            decoder_layerdrop=0.0,
            scale_embedding=True,
        )
    )


def arguments(*, batch, rate, **more):
    """Settings of the Trainer; batches grouped by length, unless `more` says otherwise."""
    settings = {
        "per_device_train_batch_size": batch,
        "max_steps": 10**6,
        "learning_rate": rate,
        "bf16": True,
        "logging_steps": 500,
        "save_strategy": "no",
        "report_to": [],
        "dataloader_num_workers": 8,
        "remove_unused_columns": False,
        "disable_tqdm": True,
        "train_sampling_strategy": "group_by_length",
        "length_column_name": "length",
        "label_smoothing_factor": 0.1,
        "max_grad_norm": 1.0,
    }
    return Seq2SeqTrainingArguments("/tmp/hf_out", **settings | more)


class Clock(TrainerCallback):
    """Ends the training when its seconds have passed; `left` is the share of them still to come."""

    def __init__(self, seconds):
        self.seconds, self.begun = seconds, None

    def left(self):
        return 1.0 if self.begun is None else max(0.0, 1 - (time.perf_counter() - self.begun) / self.seconds)

    def on_train_begin(self, args, state, control, **rest):
        self.begun = time.perf_counter()

    def on_step_end(self, args, state, control, **rest):
        control.should_training_stop = self.left() <= 0.0


def read(path):
    return lzma.decompress(path.read_bytes()).decode().split("\n")[:-1]


def pieces_of(texts, path):
    """A vocabulary of 16,000 pieces from every third line of both sides, kept at a path for another run."""
    if path and path.exists():
        return sentencepiece.SentencePieceProcessor(model_file=str(path))
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for lines in texts.values() for line in lines[::3]]),
        model_writer=model,
        vocab_size=16000,
        pad_id=PAD,
        eos_id=END,
        unk_id=2,
        bos_id=3,
        byte_fallback=True,
        minloglevel=2,
    )
    if path:
        path.write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def collate(rows):
    def rectangle(key, filler):
        width = max(len(row[key]) for row in rows)
        return torch.tensor([row[key] + [filler] * (width - len(row[key])) for row in rows])

    source, labels = rectangle("input_ids", PAD), rectangle("labels", -100)
    start = torch.full((len(rows), 1), PAD)
    return {
        "input_ids": source,
        "attention_mask": (source != PAD).long(),
        "labels": labels,
        "decoder_input_ids": torch.cat([start, labels[:, :-1].clamp(min=0)], 1),
    }


@torch.inference_mode()
def evaluate(model, pieces, folder):
    """BLEU and chrF of the dev lines, beam 4, in batches of 128 sorted by length."""
    sources, references = read(folder / "dev.en.xz"), read(folder / "dev.de.xz")
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    output = [""] * len(sources)
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for at in range(0, len(order), 128):
        chosen = order[at : at + 128]
        rows = [[*pieces.encode(sources[i])[: LONGEST - 1], END] for i in chosen]
        width = max(map(len, rows))
        source = torch.tensor([row + [PAD] * (width - len(row)) for row in rows]).cuda()
        made = model.to("cuda").generate(
            input_ids=source,
            attention_mask=(source != PAD).long(),
            num_beams=4,
            max_length=LONGEST,
            length_penalty=1.0,
        )
        for i, row in zip(chosen, made.tolist(), strict=True):
            output[i] = pieces.decode([piece for piece in row if piece > 3])
    seconds = time.perf_counter() - begun
    bleu, chrf = sacrebleu.BLEU(), sacrebleu.CHRF()
    found = {
        "BLEU": bleu.corpus_score(output, [references]).score,
        "BLEU_signature": str(bleu.get_signature()),
        "chrF": chrf.corpus_score(output, [references]).score,
        "chrF_signature": str(chrf.get_signature()),
    }
    print(folder.name, found, f"{seconds:.0f} s", flush=True)
    return found | {"lines": len(sources), "seconds": seconds}


if __name__ == "__main__":
    main()
