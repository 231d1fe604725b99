"""SuperBPE and byte-level BPE against unigram and BPE of sentencepiece and BPE of tokenizers.

    python benchmarks/superbpe.py vocabularies --corpora DIR --out benchmarks/superbpe.json [--size 16000] [--lines N]

Trains each vocabulary on the CPU, each in a process of its own, on the English of DIR/mono and on both sides of
DIR/en-de, and counts the tokens of the training and of the dev text: seconds, CPU seconds, memory, tokens. What a
vocabulary does to translations is in `superbpe_translation.py`.
"""

import argparse
import io
import json
import lzma
import resource
import subprocess
import sys
import time
from pathlib import Path

from record import Record

UNIGRAM = "unigram of sentencepiece"
TRAINERS = ("superbpe", "byte_level_bpe", UNIGRAM, "bpe of sentencepiece", "bpe of tokenizers")
TEXTS = {
    "English": ("mono/en/{part}.txt.xz",),
    "English and German": tuple(
        f"en-de/{kind}/{{part}}.{side}.xz" for kind in ("prose", "ui") for side in ("en", "de")
    ),
}


def main():
    args = arguments()
    if args.what == "one":
        print(json.dumps(trained(args.trainer, args.text, args)))
        return
    vocabularies(args)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["vocabularies", "one"])
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--out", default="")
    parser.add_argument("--size", type=int, default=16000)
    parser.add_argument("--lines", type=int, default=10**9, help="of each file at most")
    parser.add_argument("--trainers", default="", help=f"some of {', '.join(TRAINERS)}")
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


if __name__ == "__main__":
    main()
