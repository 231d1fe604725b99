"""Real images for `diffusion.py`: handwritten digits of OpenCV, and emoji of Noto, in folders by class.

    apt-get download opencv-doc fonts-noto-color-emoji && for f in *.deb; do dpkg-deb -x $f .; done
    python benchmarks/diffusion_data.py --digits usr/share/doc/opencv-doc/examples/data/digits.png \
        --font usr/share/fonts/truetype/noto/NotoColorEmoji.ttf --out DIR

Of the 5,000 digits (20 by 20 pixels) every tenth is held out; of each group of emoji every eighth. The class of an
emoji is its group, by its code point. With --scikit-learn the 1,797 digits of scikit-learn (8 by 8 pixels) are written
too, for a run on a CPU. With --few the digits are split for experiments on few images: every fifth is trained on. With
--faces the 200 grey tiles of 25 by 25 pixels of scikit-image (`skimage/data/lfw_subset.npy` in its wheel; the first
half are faces) are written, of which every second is held out.
"""

import argparse
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

CELL, PER_DIGIT = 20, 500
STRIKE = 109
"""The one size of the bitmaps in Noto Color Emoji."""
GROUPS = {
    "ANIMAL": ((0x1F400, 0x1F43F), (0x1F577, 0x1F578), (0x1F980, 0x1F9AE), (0x1FAB0, 0x1FAB3), (0x1FABF, 0x1FACF)),
    "BUILDING": ((0x1F3D4, 0x1F3DF), (0x1F3E0, 0x1F3F0), (0x1F5FB, 0x1F5FF)),
    "CLOCK": ((0x1F550, 0x1F567),),
    "CLOTHES": ((0x1F451, 0x1F462), (0x1F97B, 0x1F97F), (0x1F9E2, 0x1F9E6), (0x1FA70, 0x1FA74)),
    "FACE": ((0x1F600, 0x1F637), (0x1F641, 0x1F644), (0x1F910, 0x1F917), (0x1F920, 0x1F92F), (0x1F970, 0x1F97A),
             (0x1F9D0, 0x1F9D0), (0x1FAE0, 0x1FAE9)),
    "FOOD": ((0x1F32D, 0x1F32F), (0x1F345, 0x1F37F), (0x1F950, 0x1F96F), (0x1F9C0, 0x1F9CB), (0x1FAD0, 0x1FADB)),
    "HAND": ((0x1F446, 0x1F450), (0x1F90C, 0x1F90F), (0x1F918, 0x1F91F), (0x1FAF0, 0x1FAF8), (0x270A, 0x270D)),
    "HEART": ((0x1F493, 0x1F49F), (0x1F90D, 0x1F90E), (0x1F9E1, 0x1F9E1), (0x2763, 0x2764)),
    "MOON OR SUN": ((0x1F311, 0x1F31E),),
    "PERSON": ((0x1F466, 0x1F478), (0x1F481, 0x1F487), (0x1F645, 0x1F647), (0x1F64B, 0x1F64E), (0x1F930, 0x1F939),
               (0x1F9D1, 0x1F9DF)),
    "PLANT": ((0x1F331, 0x1F335), (0x1F337, 0x1F344), (0x1FAB4, 0x1FABB)),
    "SIGN": ((0x1F170, 0x1F251), (0x1F51F, 0x1F524), (0x1F6AD, 0x1F6BE), (0x2648, 0x2653), (0x1F53C, 0x1F53D),
             (0x1F500, 0x1F504)),
    "SPORT": ((0x1F3BD, 0x1F3D3), (0x1F3F8, 0x1F3F9), (0x1F93A, 0x1F94F)),
    "VEHICLE": ((0x1F680, 0x1F6A4), (0x1F6B2, 0x1F6B2), (0x1F6E5, 0x1F6FC)),
}  # fmt: skip
"""Ranges of code points with pictures of one kind, after the subheadings of the Unicode code charts."""
OTHER = "OTHER"
"""Pictures of no group, which a model is trained on too."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--digits")
    parser.add_argument("--font")
    parser.add_argument("--scikit-learn", action="store_true")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--faces")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    out = Path(args.out)
    if args.digits and args.few:
        print(
            write_digits(Path(args.digits), out / "digits_few", trained=lambda each: each % 5 == 0), "digits"
        )
    elif args.digits:
        print(write_digits(Path(args.digits), out / "digits"), "digits")
    if args.faces:
        print(write_faces(Path(args.faces), out / "faces"), "tiles")
    if args.font:
        print(write_emoji(args.font, out / "emoji"), "emoji")
    if args.scikit_learn:
        print(write_small_digits(out / "small_digits"), "small digits")


def write_digits(sheet, out, *, trained=lambda number: number % 10 != 9):
    """The cells of OpenCV's sheet: five rows of a hundred for each digit."""
    pixels = np.asarray(Image.open(sheet).convert("L"))
    rows, columns = (side // CELL for side in pixels.shape)
    cells = pixels.reshape(rows, CELL, columns, CELL).swapaxes(1, 2).reshape(-1, CELL, CELL)
    for number, cell in enumerate(cells):
        save(Image.fromarray(cell), out, str(number // PER_DIGIT), number, held_out=not trained(number))
    return len(cells)


def write_faces(tiles, out):
    """Tiles of Labeled Faces in the Wild, and of their backgrounds."""
    tiles = np.load(tiles, allow_pickle=False)
    for number, tile in enumerate(tiles):
        image = Image.fromarray((tile * 255).round().astype(np.uint8))
        save(image, out, "face" if number < len(tiles) // 2 else "other", number, held_out=number % 2 == 1)
    return len(tiles)


def write_small_digits(out):
    from sklearn.datasets import load_digits

    digits = load_digits()
    for number, (cell, name) in enumerate(zip(digits.images, digits.target, strict=True)):
        image = Image.fromarray((cell * 255 / 16).round().astype(np.uint8))
        save(image, out, str(name), number, held_out=number % 9 == 8)
    return len(digits.target)


def write_emoji(path, out):
    """Every single code point that the font has a color bitmap for, on white."""
    font = ImageFont.truetype(path, STRIKE)
    counts, seen = Counter(), set()
    for code in (*range(0x203C, 0x3300), *range(0x1F000, 0x1FB00)):
        name = unicodedata.name(chr(code), "")
        if not name or (image := drawn(font, chr(code))) is None:
            continue
        if (content := image.tobytes()) in seen:
            continue  # several code points share one picture
        seen.add(content)
        label = group_of(code)
        held_out = counts[label] % 8 == 7
        save(image.resize((64, 64), Image.Resampling.LANCZOS), out, label, code, held_out=held_out)
        counts[label] += 1
    return dict(counts)


def group_of(code):
    """The group of a code point."""
    ranges = ((name, each) for name, several in GROUPS.items() for each in several)
    return next((name for name, (first, last) in ranges if first <= code <= last), OTHER)


def drawn(font, character):
    """The picture in a square, or None where it has no colors: such glyphs are not in the font."""
    left, top, right, bottom = font.getbbox(character)
    side = max(right - left, bottom - top)
    if side < STRIKE // 2:
        return None
    image = Image.new("RGB", (side, side), "white")
    place = ((side - (right - left)) // 2 - left, (side - (bottom - top)) // 2 - top)
    ImageDraw.Draw(image).text(place, character, font=font, embedded_color=True)
    pixels = np.asarray(image).astype(int)
    return image if np.ptp(pixels, axis=2).max() > 20 or pixels.min() < 60 else None


def save(image, out, label, number, *, held_out):
    folder = out / ("valid" if held_out else "train") / label
    folder.mkdir(parents=True, exist_ok=True)
    image.save(folder / f"{number:06}.png")


if __name__ == "__main__":
    main()
