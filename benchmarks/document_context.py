"""Sentences alone, sentences after their context, whole chunks: the same model, tokenizer, time and GPU for each.

    python benchmarks/document_context.py --data DIR --out result.json [--seconds 100] [KEY=VALUE ...]

DIR holds `docs/train.jsonl.xz` and `docs/dev.jsonl.xz`, a document a line with the lists `src` and `tgt`. Each arm is
trained for so many seconds and translates all documents of the second file, each cut to its first sentences, beam 4.
Printed and written as soon as they are there: BLEU and chrF of all these sentences; `seconds`, what it took to
translate all of them, documents side by side; and how long a reader waits for a sentence, one document at a time, on
the few documents and sentences whose numbers are `timed_documents` and `timed_sentences`.
"""

import argparse
import json
import lzma
import platform
import sys
import tempfile
import time
from pathlib import Path

import torch
from plain_progress import PlainProgress

from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.data.cache import default_cache
from trimtab.data.corpus import open_corpora
from trimtab.data.tokenizer import sample_lines, train_tokenizer
from trimtab.evaluation.documents import evaluate_documents
from trimtab.launch import train

RECIPE = Path(__file__).parents[1] / "recipes/en_de_documents.yaml"
CONTEXT = "{{kind: context, sentences: {sentences}, sides: both, loss: {loss}}}"
ARMS = {"sentence": None, "doc2sent": "current", "doc2doc": "all"}


def main():
    args = arguments()
    started = time.perf_counter()
    result = {
        "command": " ".join(["python", *sys.argv]),
        "card": torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or "cpu",
        "torch": torch.__version__,
        "training_seconds": args.seconds,
        "context_sentences": args.sentences,
        "beam": args.beam,
        "most_sentences_of_a_document": args.most,
        "arms": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        shared = common_changes(args, Path(folder))
        # One sentence after another: the longest document decides how long all of them take.
        cut_documents(Path(args.data) / "docs/dev.jsonl.xz", Path(folder) / "held_out.jsonl", args.most)
        for arm in args.arms.split(","):
            result["arms"][arm] = run_arm(arm, shared, args, Path(folder))
            result["seconds"] = round(time.perf_counter() - started, 1)
            Path(args.out).write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
            print(arm, json.dumps(result["arms"][arm], ensure_ascii=False), flush=True)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--sentences", type=int, default=2)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument(
        "--most", type=int, default=24, help="translate at most so many sentences of a document"
    )
    parser.add_argument("--arms", default=",".join(ARMS), help="some of them, with commas")
    parser.add_argument("overrides", nargs="*")
    return parser.parse_args()


def common_changes(args, folder):
    """What all arms have in common: the data, the length, and one tokenizer, trained here."""
    changes = [
        f"data.root={Path(args.data).absolute()}",
        f"length={args.seconds / 60:.4f} minutes",
        "evaluate.every=1000000 steps",
        "evaluate.metrics=[loss]",
        "evaluate.best.metric=loss",
        "checkpoint.every=1000000 steps",
        *args.overrides,
    ]
    data = resolve_paths(load_recipe(RECIPE, changes)).data
    corpora = open_corpora(data.train, root=Path.cwd(), cache=default_cache())
    lines = sample_lines(corpora, data.tokenizer.training_lines)
    tokenizer = folder / "tokenizer"
    train_tokenizer(data.tokenizer, lines=lines, symbols=["<sep>"], out=tokenizer)
    path = tokenizer / "sentencepiece.model"
    return [*changes, f"data.tokenizer={{kind: sentencepiece, path: {path}}}"]


def cut_documents(source, out, most):
    """The documents with at most their first `most` sentences."""
    with lzma.open(source, "rt", encoding="utf-8") as lines, out.open("w", encoding="utf-8") as file:
        for line in lines:
            document = json.loads(line)
            kept = {side: document[side][:most] for side in ("src", "tgt")}
            file.write(json.dumps(kept, ensure_ascii=False) + "\n")


def run_arm(arm, shared, args, folder):
    """Trains one arm and scores it on the held-out documents."""
    loss = ARMS[arm]
    transforms = CONTEXT.format(sentences=args.sentences, loss=loss) if loss else ""
    recipe = load_recipe(RECIPE, [*shared, f"data.transforms=[{transforms}]"])
    started = time.perf_counter()
    train(recipe, out=folder / arm, progress=PlainProgress(15))
    trained = time.perf_counter() - started
    metrics = [json.loads(line) for line in (folder / arm / "metrics.jsonl").open()]
    report = evaluate_documents(f"{folder / arm}@last", documents=folder / "held_out.jsonl", beam=args.beam)
    return {
        "steps": metrics[-1]["step"],
        "target_tokens": sum(line["target_tokens"] for line in metrics),
        "last_loss": metrics[-1]["loss"],
        "seconds_with_start": round(trained, 1),
        **report.to_dict(),
    }


if __name__ == "__main__":
    main()
