# ruff: noqa: E501
"""Prepares what `recognition.py` needs: text to render, fonts to render it with, and real lines to read, cut from PDFs.

    python benchmarks/recognition_lines.py --text DIR --out DIR [--lines 100]

`--text` holds `mono/{en,de}/{train,dev}.txt.xz`, a paragraph a line. Real lines come from the Debian packages r-doc-pdf
(R-intro.pdf, English, Computer Modern) and debian-refcard (German, Portuguese); poppler-utils cuts them. No font of a
test page (Computer Modern; DejaVu) is among those for training. The fonts are those of fonts-liberation, fonts-urw-base35,
fonts-ebgaramond, fonts-linuxlibertine, fonts-crosextra-carlito, fonts-crosextra-caladea and fonts-open-sans.
"""

import argparse
import gzip
import lzma
import random
import re
import shutil
import subprocess
import tempfile
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

from PIL import Image

FONTS = (
    *(f"truetype/{name}" for name in ("liberation", "crosextra", "open-sans")),
    *(f"opentype/{name}" for name in ("urw-base35", "ebgaramond", "linux-libertine")),
)
LEFT_OUT = re.compile(
    r"LinLibertineIO|LinLibertine_I|08-|SC0|Symbol|Dingbat|D050000L|Emoji|ExtraLight|LinBiolinum_K|Keyboard|Initials|_aRL",
    re.IGNORECASE,
)
PDFS = {
    "en": ("/usr/share/R/doc/manual/R-intro.pdf", 150),
    "en_100dpi": ("/usr/share/R/doc/manual/R-intro.pdf", 100),
    "de": ("/usr/share/doc/debian-refcard/refcard-de-a4.pdf.gz", 150),
    "pt": ("/usr/share/doc/debian-refcard/refcard-pt-a4.pdf.gz", 150),
}
SOUP = "()[]{}<>=+-*/\\|&%$#@!?.,;:'\"_~^`"
LONGEST = 105
MARGIN, LEAST_HEIGHT = 0.12, 6
"""Share of its height by which a box is made larger above and below, since it is that of most letters and cuts
brackets; pixels of the lowest line."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--lines", type=int, default=100)
    args = parser.parse_args()
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    copy_fonts(out / "fonts")
    draw = random.Random(1)
    for part, most in (("train", 120_000), ("dev", 200)):
        paragraphs = [each for lang in ("en", "de") for each in paragraphs_of(Path(args.text), lang, part)]
        draw.shuffle(paragraphs)
        lines = list(wrapped(paragraphs, draw, most=most))
        (out / f"{part}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    known = set((out / "train.txt").read_text(encoding="utf-8"))
    for name, (pdf, dpi) in PDFS.items():
        count = cut(Path(pdf), out / "real" / name, dpi=dpi, most=args.lines, known=known)
        print(f"{name}: {count} lines")


def copy_fonts(folder):
    folder.mkdir(exist_ok=True)
    for place in FONTS:
        for path in sorted(Path("/usr/share/fonts", place).rglob("*")):
            if path.suffix in (".ttf", ".otf") and not LEFT_OUT.search(path.name):
                shutil.copy(path, folder / path.name)


def paragraphs_of(folder, lang, part):
    with lzma.open(folder / "mono" / lang / f"{part}.txt.xz", "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            text = " ".join(unicodedata.normalize("NFC", line).split())
            if text and text.isprintable() and number % 2 == 0:
                yield text


def wrapped(paragraphs, draw, *, most):
    """Lines of 1 to 105 characters; some with typographic quotes, and some of symbols and numbers as in listings."""
    made = 0
    for text in paragraphs:
        if not all(ord(each) < 0x250 or each in "‘’“”„‚–—…•·→€«»−≤≥×" for each in text):
            continue
        words = text.split()
        while words and made < most:
            length, line = draw.choice((draw.randint(1, LONGEST), draw.randint(60, LONGEST))), []
            while words and sum(map(len, line)) + len(line) + len(words[0]) <= length:
                line.append(words.pop(0))
            if not line:
                line = [words.pop(0)[:LONGEST]]
            yield decorated(" ".join(line), draw)
            made += 1
        if made >= most:
            return


def decorated(line, draw):
    if draw.random() < 0.25:
        line = re.sub(r"'([^']*)'", r"‘\1’", line).replace("'", "’")
        line = re.sub(r'"([^"]*)"', r"“\1”", line)
    if draw.random() < 0.15:
        words = line.split()
        for place in range(len(words)):
            chance = draw.random()
            if chance < 0.25:
                words[place] = draw.choice(SOUP) + words[place] + draw.choice(SOUP)
            elif chance < 0.4:
                words[place] = f"{draw.uniform(-999, 9999):.{draw.randint(0, 4)}f}"
            elif chance < 0.5:
                words[place] = draw.choice(
                    ("<-", "->", "==", ">", "|", "&&", "$", "~", "+", "--", ">>", "...")
                )
            elif chance < 0.55:
                words[place] = words[place].upper()
            elif chance < 0.6:
                words[place] = f"‘{words[place]}’"
        line = " ".join(words)
    return line[:LONGEST].strip()


def cut(pdf, folder, *, dpi, most, known):
    """Lines of a PDF as images with a list: spread evenly over the document, as pdftotext gives text and boxes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        if pdf.suffix == ".gz":
            (place / "in.pdf").write_bytes(gzip.decompress(pdf.read_bytes()))
            pdf = place / "in.pdf"
        subprocess.run(["pdftotext", "-bbox-layout", pdf, place / "boxes.html"], check=True)
        subprocess.run(["pdftoppm", "-r", str(dpi), "-gray", pdf, place / "page"], check=True)
        pages = sorted(place.glob("page*.pgm"))
        found = [each for page, boxes in zip(pages, boxes_of(place / "boxes.html"), strict=True)
                 for each in good_lines(page, boxes, dpi=dpi, known=known)]  # fmt: skip
        chosen = [found[i * len(found) // most] for i in range(most)] if len(found) > most else found
        rows = []
        for number, (page, box, text) in enumerate(chosen):
            name = f"{number:04d}.png"
            with Image.open(page) as image:
                image.crop(box).save(folder / name, optimize=True)
            rows.append(f"{name}\t{text}\n")
        (folder / "labels.tsv").write_text("".join(rows), encoding="utf-8")
    return len(rows)


def boxes_of(path):
    tree = ElementTree.fromstring(
        re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "", path.read_text(encoding="utf-8"))
    )
    space = "{http://www.w3.org/1999/xhtml}"
    for page in tree.iter(f"{space}page"):
        lines = []
        for line in page.iter(f"{space}line"):
            box = [float(line.get(key)) for key in ("xMin", "yMin", "xMax", "yMax")]
            lines.append((box, " ".join(word.text or "" for word in line.iter(f"{space}word"))))
        yield lines


def good_lines(page, lines, *, dpi, known):
    """Lines with a text that can be compared, of usual height and without leaders, that no other line overlaps by a third."""
    heights = sorted(box[3] - box[1] for box, _ in lines)
    usual = heights[len(heights) // 2] if heights else 0
    for box, text in lines:
        # As a reader would type it: ligatures as letters, one form of each dash and space.
        text = unicodedata.normalize("NFC", text)
        for one, other in (("ﬁ", "fi"), ("ﬂ", "fl"), ("ﬀ", "ff"), ("ﬃ", "ffi"), ("ﬄ", "ffl"), ("\u00a0", " "), ("\u2212", "-")):  # fmt: skip
            text = text.replace(one, other)
        tall = box[3] - box[1]
        if len(text) < 2 or ". . ." in text or not set(text) <= known or tall > 1.8 * usual:
            continue
        if any(other is not box and overlap(box, other) > 0.3 for other, _ in lines):
            continue
        pixels = [each * dpi / 72 for each in box]
        more = MARGIN * (pixels[3] - pixels[1])
        left, top, right, bottom = pixels[0] - 2, pixels[1] - more, pixels[2] + 2, pixels[3] + more
        if bottom - top >= LEAST_HEIGHT and right - left >= LEAST_HEIGHT:
            yield page, (round(left), round(top), round(right), round(bottom)), text


def overlap(one, other):
    wide = min(one[2], other[2]) - max(one[0], other[0])
    tall = min(one[3], other[3]) - max(one[1], other[1])
    area = (one[2] - one[0]) * (one[3] - one[1])
    return max(0, wide) * max(0, tall) / area if area else 0.0


if __name__ == "__main__":
    main()
