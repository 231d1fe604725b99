"""SuperBPE and byte-level BPE against unigram and BPE of sentencepiece and BPE of tokenizers.

    python benchmarks/superbpe.py vocabularies --corpora DIR --out benchmarks/superbpe.json [--size 16000] [--lines N]
    python benchmarks/superbpe.py translation --corpora DIR --out benchmarks/superbpe_en_de.json
        [--seconds 90] [--seeds 1,2,3] [--dry-run]

`vocabularies` trains each vocabulary on the CPU, each in a process of its own, on the English of DIR/mono and on both
sides of DIR/en-de, and counts the tokens of the training and of the dev text: seconds, CPU seconds, memory, tokens.

`translation` trains `recipes/en_de.yaml` for so many seconds of the clock with each kind of vocabulary and seed, and
translates the dev prose by beam 4: chrF, and lines a second. It compares by chrF and the clock, never by a loss per
token, since tokens differ. `--dry-run` does it with a tiny model, a few lines and seconds, on a CPU.
"""

import argparse
import io
import json
import lzma
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import Record

HERE = Path(__file__).parent
UNIGRAM = "unigram of sentencepiece"
TRAINERS = ("superbpe", "byte_level_bpe", UNIGRAM, "bpe of sentencepiece", "bpe of tokenizers")
TEXTS = {
    "English": ("mono/en/{part}.txt.xz",),
    "English and German": tuple(
        f"en-de/{kind}/{{part}}.{side}.xz" for kind in ("prose", "ui") for side in ("en", "de")
    ),
}
KINDS = {
    "superbpe": "{kind: superbpe, vocabulary_size: SIZE, training_lines: 200000}",
    "unigram": "{kind: sentencepiece, model: unigram, vocabulary_size: SIZE, training_lines: 200000}",
}


def main():
    args = arguments()
    if args.what == "one":
        print(json.dumps(trained(args.trainer, args.text, args)))
        return
    work = {"vocabularies": vocabularies, "translation": translation}[args.what]
    work(args)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["vocabularies", "translation", "one"])
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--out", default="")
    parser.add_argument("--size", type=int, default=16000)
    parser.add_argument("--lines", type=int, default=10**9, help="of each file at most")
    parser.add_argument("--trainers", default="", help=f"some of {', '.join(TRAINERS)}")
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--trainer", default="superbpe", help=argparse.SUPPRESS)
    parser.add_argument("--text", default="English", help=argparse.SUPPRESS)
    return parser.parse_args()


def vocabularies(args):
    record = Record(
        args.out, question=f"time, memory and tokens of vocabularies of {args.size} pieces", device="cpu"
    )
    trainers = args.trainers.split(",") if args.trainers else TRAINERS
    for text in TEXTS:
        for trainer in trainers:
            record.arm(
                f"{text}: {trainer}", lambda text=text, trainer=trainer: in_process(args, text, trainer)
            )
        against = record.arms.get(f"{text}: {UNIGRAM}")
        for trainer in trainers:
            if against and (arm := record.arms.get(f"{text}: {trainer}")):
                arm["fewer_tokens_than_unigram"] = round(1 - arm["train_tokens"] / against["train_tokens"], 4)
                arm["fewer_dev_tokens_than_unigram"] = round(1 - arm["dev_tokens"] / against["dev_tokens"], 4)
    record.write()


def in_process(args, text, trainer):
    """Memory is that of a whole process, so each trainer has one."""
    told = ["--corpora", str(args.corpora), "--size", str(args.size), "--lines", str(args.lines)]
    command = [sys.executable, __file__, "one", *told, "--trainer", trainer, "--text", text]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def trained(trainer, text, args):
    lines = {part: read(args, text, part) for part in ("train", "dev")}
    before, begun = time.process_time(), time.perf_counter()
    count = TRAIN[trainer.split(" of ")[-1] if "tokenizers" in trainer else trainer](
        lines["train"], args.size
    )
    seconds, cpu = time.perf_counter() - begun, time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "peak_bytes_with_the_text": memory,
        "lines": len(lines["train"]),
        "words": sum(len(line.split()) for line in lines["train"]),
        "train_tokens": count(lines["train"]),
        "dev_tokens": count(lines["dev"]),
    }


def read(args, text, part):
    files = [args.corpora / name.format(part=part) for name in TEXTS[text]]
    lines = []
    for file in files:
        with lzma.open(file, "rt", encoding="utf-8") as opened:
            lines += [line for line in opened.read().split("\n") if line.strip()][: args.lines]
    return lines


def own(kind):
    def train(lines, size):
        from trimtab.config.tokenizer import ByteLevelBpeTokenizer, SuperBpeTokenizer
        from trimtab.data.byte_level_tokenizer import train_byte_level

        settings = {"superbpe": SuperBpeTokenizer, "byte_level_bpe": ByteLevelBpeTokenizer}[kind]
        made = train_byte_level(settings(vocabulary_size=size), lines)
        return lambda texts: sum(map(len, made.ids(texts)))

    return train


def sentencepiece(model):
    def train(lines, size):
        from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

        file = io.BytesIO()
        SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=file,
            model_type=model,
            vocab_size=size,
            character_coverage=0.9995,
            byte_fallback=True,
            num_threads=8,
            minloglevel=2,
        )
        processor = SentencePieceProcessor()
        processor.LoadFromSerializedProto(file.getvalue())
        return lambda texts: sum(map(len, processor.encode(texts)))

    return train


def of_tokenizers(lines, size):
    from tokenizers import ByteLevelBPETokenizer

    made = ByteLevelBPETokenizer()
    made.train_from_iterator(lines, vocab_size=size, show_progress=False)
    return lambda texts: sum(len(each.ids) for each in made.encode_batch(texts))


TRAIN = {
    "superbpe": own("superbpe"),
    "byte_level_bpe": own("byte_level_bpe"),
    UNIGRAM: sentencepiece("unigram"),
    "bpe of sentencepiece": sentencepiece("bpe"),
    "tokenizers": of_tokenizers,
}


def translation(args):
    record = Record(args.out, question=f"chrF after {args.seconds:g} s, and lines a second, by vocabulary")
    seeds = [int(seed) for seed in args.seeds.split(",")][: 1 if args.dry_run else None]
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            for kind in KINDS:
                run = Path(folder) / f"{kind}-{seed}"
                record.arm(
                    f"{kind}, seed {seed}", lambda run=run, kind=kind, seed=seed: raced(args, run, kind, seed)
                )
    for kind in KINDS:
        arms = [
            record.arms[f"{kind}, seed {seed}"] for seed in seeds if f"{kind}, seed {seed}" in record.arms
        ]
        if arms:
            mean = {
                key: round(sum(arm[key] for arm in arms) / len(arms), 3)
                for key in ("chrf", "lines_per_second")
            }
            record.result[f"mean of {kind}"] = mean
    record.write()


def raced(args, run, kind, seed):
    """A run by the clock, then its translation of the dev prose; the second of two is timed, since kernels compile."""
    import sacrebleu

    tiny = (
        ["model.preset=tiny", "step.tokens_per_step=1024", "step.tokens_per_micro_batch=1024"]
        if args.dry_run
        else []
    )
    seconds = 6.0 if args.dry_run else args.seconds
    tokenizer = KINDS[kind].replace("SIZE", "1000" if args.dry_run else str(args.size))
    if args.dry_run:
        tokenizer = tokenizer.replace("200000", "2000")
    trimtab("train", HERE.parent / "recipes/en_de.yaml", "--out", run, f"data.root={args.corpora / 'en-de'}",
            f"data.tokenizer={tokenizer}", f"length={seconds / 60} minutes", f"seed={seed}", *tiny)  # fmt: skip
    dev = {side: read_dev(args, side)[: 8 if args.dry_run else None] for side in ("en", "de")}
    source, out = run / "dev.en", run / "dev.de"
    source.write_text("\n".join(dev["en"]) + "\n", encoding="utf-8")
    for _ in range(1 if args.dry_run else 2):
        out.unlink(missing_ok=True)
        begun = time.perf_counter()
        trimtab("translate", run, "--input", source, "--output", out, "--beam", "4")
        took = time.perf_counter() - begun
    found = out.read_text(encoding="utf-8").split("\n")[: len(dev["de"])]
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return {
        "chrf": round(sacrebleu.corpus_chrf(found, [dev["de"]]).score, 3),
        "lines_per_second": round(len(found) / took, 3),
        "translation_seconds_with_the_start": round(took, 2),
        "steps": steps[-1]["step"],
        "lines": len(found),
    }


def read_dev(args, side):
    with lzma.open(args.corpora / f"en-de/prose/dev.{side}.xz", "rt", encoding="utf-8") as opened:
        return opened.read().rstrip("\n").split("\n")


def trimtab(*told):
    subprocess.run([sys.executable, "-m", "trimtab", *map(str, told)], check=True)


if __name__ == "__main__":
    main()
