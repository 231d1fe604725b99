"""Why does label smoothing explode? Gradients that grow with accumulation, and logits at minus infinity.

    pip install ".[train]" transformers accelerate
    python experiments/label_smoothing_explodes.py

The Trainer of Hugging Face cuts the same eight examples into 1, 2, 4 and 8 micro-batches by
`gradient_accumulation_steps`, with and without `label_smoothing_factor`, for three heads with random weights: a
decoder (Llama), a translator (Marian) and an image reader (ViT and TrOCR). The norm of the gradient that the
optimizer gets should not depend on the cut. What the Trainer does depends on its version, so a result belongs to one
version; the files beside this one say which. All targets are equally long: a first version had 4 to 32 symbols, and
the bias of `accumulation_bias` blurred its ratios (1.2 to 1.5 where 1 was meant, 9.5 to 11.6 where 8 was).

The second part takes one column of the logits out of the softmax, as a padded vocabulary or a forbidden symbol does,
and computes the smoothed loss by three implementations.
"""

import importlib
import inspect
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from experiment import Claim, Experiment, Numbers, installed, main
from torch import Tensor

from trimtab.loss.chunked import chunked_cross_entropy
from trimtab.loss.terms import Terms

HEADS = ("LlamaForCausalLM", "MarianMTModel", "VisionEncoderDecoderModel")
CUTS, QUICK_CUTS = (1, 2, 4, 8), (1, 4)
SMOOTHING = (0.0, 0.1)
EXAMPLES, LENGTH, VOCABULARY = 8, 16, 64
PAD, START, END = 0, 1, 2
FIRST_BAD, FIRST_MENDED = (4, 46), (5, 15)
NEAR = 0.01
"""How far a ratio may be from what it is said to be, relative."""


def measure(seed: int, quick: bool) -> Numbers:
    """Norms by head, smoothing and cut, and losses with a column at minus infinity."""
    found: Numbers = {"a column at minus infinity": masked_losses(seed)}
    if installed("transformers") is None:
        return found
    cuts = QUICK_CUTS if quick else CUTS
    for head in HEADS[:1] if quick else HEADS:
        by_smoothing = {}
        for smoothing in SMOOTHING:
            norms = {cut: gradient(head, seed, smoothing=smoothing, cut=cut).norm().item() for cut in cuts}
            ratios = {cut: norm / norms[1] for cut, norm in norms.items()}
            by_smoothing[f"smoothing {smoothing}"] = {"grad_norm": norms, "ratio to 1": ratios}
        found[head] = {"forward takes any keyword": takes_any_keyword(head)} | by_smoothing
    return found


def takes_any_keyword(head: str) -> bool:
    """What makes the Trainer believe that a model divides its loss by `num_items_in_batch`."""
    forward = getattr(importlib.import_module("transformers"), head).forward
    return any(word.kind is word.VAR_KEYWORD for word in inspect.signature(forward).parameters.values())


def gradient(head: str, seed: int, *, smoothing: float, cut: int) -> Tensor:
    """What the optimizer gets from one step over the eight examples."""
    import transformers

    class InOrder(transformers.Trainer):
        """The examples as they come, so that only the cut differs."""

        def _get_train_sampler(self, *_: Any, **__: Any) -> Any:
            return torch.utils.data.SequentialSampler(rows)

    class Kept(torch.optim.SGD):
        """Keeps the gradient and moves nothing."""

        gradient: Tensor

        def step(self, closure: Any = None) -> None:
            """Called once."""
            parts = [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
            self.gradient = torch.cat([part.double().flatten() for part in parts])

    transformers.logging.set_verbosity_error()
    torch.manual_seed(seed)
    model = build(head)
    rows = examples(seed)
    optimizer = Kept([p for p in model.parameters() if p.requires_grad], lr=1e-9)
    with tempfile.TemporaryDirectory() as folder:
        settings = transformers.TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=EXAMPLES // cut,
            gradient_accumulation_steps=cut,
            label_smoothing_factor=smoothing,
            max_steps=1,
            max_grad_norm=0.0,
            logging_strategy="no",
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            remove_unused_columns=False,
        )
        trainer = InOrder(
            model=model,
            args=settings,
            train_dataset=rows,
            data_collator=lambda some: collate(some, model),
            optimizers=(optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)),
        )
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.train()
    return optimizer.gradient


def build(head: str) -> Any:
    """A model of two small layers without dropout."""
    import transformers

    symbols = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END}
    seq2seq = symbols | {"decoder_start_token_id": START, "vocab_size": VOCABULARY, "d_model": 32}
    no_dropout = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
    if head == "LlamaForCausalLM":
        sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
        return transformers.LlamaForCausalLM(
            transformers.LlamaConfig(vocab_size=VOCABULARY, **sizes, **symbols)
        )
    layers = {"decoder_layers": 2, "decoder_attention_heads": 2, "decoder_ffn_dim": 64}
    if head == "MarianMTModel":
        encoder = {"encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 64}
        config = transformers.MarianConfig(**seq2seq, **layers, **encoder, **no_dropout)
        return transformers.MarianMTModel(config)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision = transformers.ViTConfig(image_size=16, patch_size=8, **sizes)
    text = transformers.TrOCRConfig(**seq2seq, **layers, **no_dropout, max_position_embeddings=64)
    both = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(vision, text)
    both.pad_token_id, both.decoder_start_token_id = PAD, START
    return transformers.VisionEncoderDecoderModel(config=both)


def examples(seed: int) -> list[dict[str, Tensor]]:
    """Eight targets of 16 symbols, each with a source text and a picture."""
    draw = torch.Generator().manual_seed(seed)
    return [
        {
            "source": torch.randint(3, VOCABULARY, (8,), generator=draw),
            "labels": torch.randint(3, VOCABULARY, (LENGTH,), generator=draw),
            "picture": torch.randn(3, 16, 16, generator=draw),
        }
        for _ in range(EXAMPLES)
    ]


def collate(rows: list[dict[str, Tensor]], model: Any) -> dict[str, Tensor]:
    """A batch for any of the heads; with the decoder's input, since smoothing takes the labels from the model."""
    labels = torch.stack([row["labels"] for row in rows])
    head = type(model).__name__
    if head == "LlamaForCausalLM":
        return {"input_ids": labels, "attention_mask": torch.ones_like(labels), "labels": labels}
    batch = {"labels": labels, "decoder_input_ids": model.prepare_decoder_input_ids_from_labels(labels)}
    if head == "MarianMTModel":
        source = torch.stack([row["source"] for row in rows])
        return batch | {"input_ids": source, "attention_mask": torch.ones_like(source)}
    return batch | {"pixel_values": torch.stack([row["picture"] for row in rows])}


def masked_losses(seed: int) -> Numbers:
    """Mean losses per target where the last column of the logits is -inf, or the lowest float32, or left out."""
    draw = torch.Generator().manual_seed(seed)
    hidden = torch.randn(16, 32, generator=draw)
    matrix = torch.randn(VOCABULARY, 32, generator=draw) / math.sqrt(32)
    labels = torch.randint(0, VOCABULARY - 1, (16,), generator=draw)
    logits = hidden @ matrix.T
    found: Numbers = {}
    for name, low in (("-inf", -math.inf), ("lowest float32", torch.finfo(torch.float32).min)):
        masked = logits.clone()
        masked[:, -1] = low
        masked.requires_grad_()
        loss = F.cross_entropy(masked, labels, label_smoothing=0.1)
        loss.backward()
        found[f"torch, {name}"] = loss.item()
        found[f"torch, {name}, gradients not finite"] = (~masked.grad.isfinite()).sum().item()
        found[f"torch without smoothing, {name}"] = F.cross_entropy(masked, labels).item()
        if installed("transformers") is not None:
            from transformers.trainer_pt_utils import LabelSmoother

            smoothed = LabelSmoother(epsilon=0.1)({"logits": masked[None].detach()}, labels[None])
            found[f"transformers, {name}"] = smoothed.item()
    exact = F.cross_entropy(logits[:, :-1], labels, label_smoothing=0.1)
    found["torch, column cut off"] = exact.item()
    output = chunked_cross_entropy(hidden, matrix, labels, Terms(VOCABULARY - 1, 0.1), chunk_bytes=2**20)
    found["trimtab, one row of padding"] = output.objective.item() / len(labels)
    return found


def decide(result: Mapping[str, Any]) -> Sequence[Claim]:
    """By head and smoothing whether the norm grows with the cut, and whether that was foreseen; then the losses."""
    seeds = list(result["seeds"].values())
    claims = [
        growth(result, seeds, head, smoothing)
        for head in HEADS
        if head in seeds[0]
        for smoothing in SMOOTHING
    ]
    masked = [seed["a column at minus infinity"] for seed in seeds]
    infinite = [name for name in ("torch, -inf", "transformers, -inf") if name in masked[0]]
    claims.append(
        Claim(
            f"one logit column at -inf makes the smoothed loss infinite: {', '.join(infinite)}; without smoothing "
            f"it is {masked[0]['torch without smoothing, -inf']:.3g}",
            all(each[name] == "inf" for each in masked for name in infinite)
            and all(each["torch without smoothing, -inf"] != "inf" for each in masked),
        )
    )
    apart = max(abs(each["trimtab, one row of padding"] - each["torch, column cut off"]) for each in masked)
    claims.append(
        Claim(
            f"trimtab leaves rows of padding out: {apart:.1g} from the loss without the column", apart < 1e-5
        )
    )
    return claims


def growth(
    result: Mapping[str, Any], seeds: Sequence[Mapping[str, Any]], head: str, smoothing: float
) -> Claim:
    """The largest cut against the whole batch, beside the prediction for this version."""
    ratios = [seed[head][f"smoothing {smoothing}"]["ratio to 1"] for seed in seeds]
    cut = max(int(each) for each in ratios[0])
    found = [each[str(cut)] for each in ratios]
    grows = predicted(result["versions"]["transformers"], seeds[0][head], head, smoothing)
    foreseen = cut if grows else 1
    return Claim(
        f"transformers {result['versions']['transformers']}, {head}, smoothing {smoothing}: {cut} micro-batches "
        f"multiply the gradient norm by {min(found):.2f} to {max(found):.2f}, predicted {foreseen}",
        all(abs(ratio / foreseen - 1) < NEAR for ratio in found),
    )


def predicted(version: str, found: Mapping[str, Any], head: str, smoothing: float) -> bool:
    """Whether the norm should grow: the Trainer does not divide by the number of micro-batches where it believes that
    the loss is divided by the count of targets, and then the smoothed loss or the head's own loss is a plain mean."""
    release = tuple(int(part) for part in version.split(".")[:2])
    believes = release >= FIRST_BAD and found["forward takes any keyword"]
    divides = release >= FIRST_MENDED if smoothing else head == "LlamaForCausalLM"
    return believes and not divides


EXPERIMENT = Experiment(
    name="label_smoothing_explodes",
    question="Why does label smoothing explode?",
    arms=tuple(f"smoothing {smoothing}, {cut} micro-batches" for smoothing in SMOOTHING for cut in CUTS),
    measure=measure,
    measures="norm of the gradient of one step over eight examples; loss in nats per target",
    expect="From transformers 4.46 until before 5.15 smoothing multiplies the gradient by the number of micro-batches "
    "for every head whose forward takes any keyword; before and after it does not. Without smoothing the same holds, "
    "to this day, for the two heads whose own loss is a plain mean. A column at -inf makes every smoothed loss "
    "infinite, except where rows beyond the vocabulary are left out.",
    rule="the norm's ratio at the most micro-batches is within 1% of the predicted one (their number, or 1) for every "
    "seed; smoothed losses with a column at -inf are infinite for every seed, and trimtab's within 1e-5 of the loss "
    "without the column",
    decide=decide,
    budget="2 minutes, one CPU core",
    supports=("S0-58",),
    packages=("torch", "transformers", "accelerate", "trimtab"),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
