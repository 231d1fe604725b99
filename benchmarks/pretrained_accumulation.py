"""One window of a pretrained translator cut 4×1, 2×2 and 1×4: trimtab's loss and gradient beside what the Trainer of
transformers computes.

Each family is a small model with random weights. trimtab sums over targets and divides by those of the whole window.
The Trainer (transformers 5) hands `num_items_in_batch` to the model and, since the heads of these families take more
arguments, believes that they divide by it and does not divide by the number of micro-batches; these heads take the mean
of their micro-batch instead. Its arithmetic is computed twice: written out, and, for one family, by `Seq2SeqTrainer`
itself.

    OMP_NUM_THREADS=1 python benchmarks/pretrained_accumulation.py --out benchmarks/pretrained_accumulation.json
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
import transformers
from tests.module_folder import LANGUAGES, SEQ2SEQ, module_folder, oracle, oracle_tokenizer
from tests.small_run import small_pairs, small_sources

from trimtab.build import build
from trimtab.tasks.text.probing import between, one_pack, window_of
from trimtab.types import Ragged

PAIRS = small_pairs(4, seed=3)
CUTS = {"1x4": 1, "2x2": 2, "4x1": 4}
"""Micro-batches by their name: how many examples are in each, times how many there are."""


def main() -> None:
    """Writes a table of all families."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    found: dict[str, Any] = {
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__}
    }
    with tempfile.TemporaryDirectory() as held:
        for family in SEQ2SEQ:
            found[family] = of_family(Path(held) / family, family)
            print(family, json.dumps(found[family]))
        found["Seq2SeqTrainer, t5"] = by_the_trainer(Path(held) / "t5" / "base")
        print(found["Seq2SeqTrainer, t5"])
    args.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def of_family(folder: Path, family: str) -> dict[str, Any]:
    """Losses by cut, and the largest difference of a gradient from the one of the whole window."""
    folder.mkdir(parents=True)
    module_folder(folder / "base", family)
    model = {"kind": "pretrained", "path": "base", "dropout": 0.0}
    languages = {"data.tokenizer": LANGUAGES.get(family), "data.max_tokens": 64}
    recipe, datasets = small_sources(folder, model=model, **languages)
    parts = build(recipe, datasets, device=torch.device("cpu"))
    parts.model.fill(recipe.model.path)
    ours = {name: of_trimtab(parts, count) for name, count in CUTS.items()}
    theirs = {name: of_heads(folder / "base", parts, count) for name, count in CUTS.items()}
    return {"trimtab": compared(ours), "Trainer": compared(theirs)}


def of_trimtab(parts: Any, count: int) -> tuple[float, torch.Tensor]:
    """The loss of the window, and its gradient as one vector."""
    whole = window(parts)
    parts.model.train().zero_grad()
    total, size = 0.0, len(PAIRS) // count
    for start in range(0, len(PAIRS), size):
        found = parts.stepper.loss(parts.model, one_pack(parts, between(whole, start, start + size)))
        (found.objective / whole.num_targets).backward()
        total += float(found.loss) / whole.num_targets
    return total, gradient(parts.model)


def of_heads(folder: Path, parts: Any, count: int) -> tuple[float, torch.Tensor]:
    """The same by the heads of transformers, whose means are added up as the Trainer adds them up."""
    network = without_dropout(oracle(folder)).train()
    whole, total, size = window(parts), 0.0, len(PAIRS) // count
    symbols = parts.datasets.tokenizers.target
    for start in range(0, len(PAIRS), size):
        rows = range(start, start + size)
        read, mask = filled([whole.source.row(row).tolist() for row in rows], symbols.pad)
        labels = [whole.target.row(row).tolist() for row in rows]
        fed, _ = filled([[symbols.start, *row[:-1]] for row in labels], symbols.pad)
        wanted, _ = filled(labels, -100)
        loss = network(input_ids=read, attention_mask=mask, decoder_input_ids=fed, labels=wanted).loss
        loss.backward()
        total += float(loss)
    return total, gradient(network)


def by_the_trainer(folder: Path) -> dict[str, float]:
    """What `Seq2SeqTrainer` logs for one step over these pairs."""
    tokenizer = oracle_tokenizer(folder, "t5")
    rows = [dict(tokenizer(one, text_target=other)) for one, other in PAIRS]
    found: dict[str, float] = {}
    for name, count in CUTS.items():
        network = oracle(folder)
        # The dropout of T5's attention stays on, so that the losses are near those above and not the same.
        for module in network.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        settings = transformers.Seq2SeqTrainingArguments(
            output_dir=str(folder / "trained"), per_device_train_batch_size=len(PAIRS) // count,
            gradient_accumulation_steps=count, max_steps=1, logging_steps=1, report_to=[], use_cpu=True,
            save_strategy="no", disable_tqdm=True, learning_rate=1e-9,
        )  # fmt: skip
        collator = transformers.DataCollatorForSeq2Seq(tokenizer, model=network)
        trainer = transformers.Seq2SeqTrainer(
            model=network, args=settings, train_dataset=rows, data_collator=collator
        )
        trainer.train()
        found[name] = next(float(each["loss"]) for each in trainer.state.log_history if "loss" in each)
    return found


def without_dropout(network: Any) -> Any:
    """The same module, of which nothing is dropped."""
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for name in ("dropout", "attention_dropout", "activation_dropout", "layerdrop"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return network


def window(parts: Any) -> Any:
    """The pairs as a window of the run."""
    sides = parts.datasets.tokenizers
    source = Ragged.of(sides.source.encode([one for one, _ in PAIRS]))
    return window_of(source, Ragged.of(sides.target.encode([other for _, other in PAIRS])))


def filled(rows: list[list[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of one length, and where they hold something."""
    longest = max(map(len, rows))
    ids = [[*row, *[pad] * (longest - len(row))] for row in rows]
    return torch.tensor(ids), torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])


def gradient(model: torch.nn.Module) -> torch.Tensor:
    """All gradients as one vector."""
    return torch.cat([each.grad.flatten() for each in model.parameters() if each.grad is not None])


def compared(found: dict[str, tuple[float, torch.Tensor]]) -> dict[str, Any]:
    """Losses by cut, and by how much of its size the gradient of each is off that of the window in one piece."""
    whole = found["1x4"][1]
    return {
        "loss": {name: round(loss, 6) for name, (loss, _) in found.items()},
        "gradient_apart": {
            name: float((each - whole).norm() / whole.norm()) for name, (_, each) in found.items()
        },
    }


if __name__ == "__main__":
    main()
