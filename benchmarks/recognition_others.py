"""Reads the lines of `recognition_lines.py` with RapidOCR and Tesseract, and scores them as `recognition.py` does.

    pip install rapidocr onnxruntime; apt-get install tesseract-ocr tesseract-ocr-deu tesseract-ocr-por
    python benchmarks/recognition_others.py --data DIR --out benchmarks/recognition_others.json [--lines N]

Both are given whole lines and only recognize them: RapidOCR (its default model, PP-OCR for Chinese and English, and the
one for Latin scripts where the wheel has it) without detection and classification, Tesseract with `--psm 7`. Lines less
than 48 pixels high are also given to Tesseract at twice the size, and the better of both scores counts.
"""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image
from record import Record

from trimtab.metrics.catalogue import OF_READINGS
from trimtab.metrics.metric import Readings

LANGUAGES = {"en": "eng", "en_100dpi": "eng", "de": "deu", "pt": "por"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--lines", type=int)
    parser.add_argument("--sets", nargs="*", help="names of folders; by default all of them")
    args = parser.parse_args()
    record = Record(args.out, question="CER of others on the lines of recognition.json", device="cpu")
    sets = sorted((Path(args.data) / "real").iterdir())
    sets = [each for each in sets if not args.sets or each.name in args.sets]
    for folder in sets:
        rows = [
            line.split("\t", 1) for line in (folder / "labels.tsv").read_text(encoding="utf-8").splitlines()
        ]
        rows = rows[: args.lines]
        record.arm(f"rapidocr, {folder.name}", lambda folder=folder, rows=rows: rapid(folder, rows))
        for scale in (1, 2):
            language = LANGUAGES.get(folder.name, "eng")
            record.arm(
                f"tesseract {language}, {folder.name}, enlarged {scale} times",
                lambda folder=folder, rows=rows, scale=scale, language=language: tesseract(
                    folder, rows, language=language, scale=scale
                ),
            )


def rapid(folder, rows):
    from rapidocr import RapidOCR

    engine = RapidOCR(params={"Global.log_level": "error"})
    outputs = []
    begun = time.perf_counter()
    for name, _ in rows:
        image = np.asarray(Image.open(folder / name).convert("RGB"))[..., ::-1]
        found = engine(image, use_det=False, use_cls=False, use_rec=True)
        outputs.append("".join(found.txts or ()))
    return scores(outputs, rows, time.perf_counter() - begun)


def tesseract(folder, rows, *, language, scale):
    outputs, seconds = [], 0.0
    with tempfile.TemporaryDirectory() as place:
        for name, _ in rows:
            path = Path(place) / name
            with Image.open(folder / name) as image:
                # White around the line, without which Tesseract reads letters at the edge badly.
                big = image.convert("L").resize(
                    (image.width * scale, image.height * scale), Image.Resampling.BICUBIC
                )
                page = Image.new("L", (big.width + 40, big.height + 40), 255)
                page.paste(big, (20, 20))
                page.save(path, dpi=(150 * scale, 150 * scale))
            begun = time.perf_counter()
            command = ["tesseract", str(path), "-", "--psm", "7", "-l", language]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            seconds += time.perf_counter() - begun
            if done.returncode:
                raise RuntimeError(done.stderr[:300])
            outputs.append(" ".join(done.stdout.split()))
    return scores(outputs, rows, seconds)


def scores(outputs, rows, seconds):
    references = [text for _, text in rows]
    given = Readings(outputs=outputs, references=references)
    found = {name: round(metric.compute(given), 4) for name, metric in OF_READINGS.items()}
    wrong = [pair for pair in zip(references, outputs, strict=True) if pair[0] != pair[1]][:5]
    return {**found, "count": len(rows), "seconds": round(seconds, 2), "wrong": wrong}


if __name__ == "__main__":
    main()
