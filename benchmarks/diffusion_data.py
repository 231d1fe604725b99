"""Real images for `diffusion.py`: handwritten digits of OpenCV, and emoji of Noto, in folders by class.

    apt-get download opencv-doc fonts-noto-color-emoji && for f in *.deb; do dpkg-deb -x $f .; done
    python benchmarks/diffusion_data.py --digits usr/share/doc/opencv-doc/examples/data/digits.png \
        --font usr/share/fonts/truetype/noto/NotoColorEmoji.ttf --out DIR

Of the 5,000 digits (20 by 20 pixels) every tenth is held out; of the emoji every twentieth. The class of an emoji is
the first of a few words that its Unicode name has. With --scikit-learn the 1,797 digits of scikit-learn (8 by 8 pixels)
are written too, for a run on a CPU.
"""

import argparse
import unicodedata
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

CELL, PER_DIGIT = 20, 500
STRIKE = 109
"""The one size of the bitmaps in Noto Color Emoji."""
WORDS = (
    *(
        "FLAG",
        "CLOCK",
        "CAT",
        "FACE",
        "HAND",
        "HEART",
        "MAN",
        "WOMAN",
        "PERSON",
        "BOOK",
        "ARROW",
        "SQUARE",
        "CIRCLE",
    ),
    *(
        "MOON",
        "SIGN",
        "BOX",
        "CAR",
        "TRAIN",
        "HOUSE",
        "BALL",
        "TREE",
        "FISH",
        "BIRD",
        "BOTTLE",
        "HAT",
        "SHOE",
    ),
)
OTHER = "OTHER"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--digits")
    parser.add_argument("--font")
    parser.add_argument("--scikit-learn", action="store_true")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    out = Path(args.out)
    if args.digits:
        print(write_digits(Path(args.digits), out / "digits"), "digits")
    if args.font:
        print(write_emoji(args.font, out / "emoji"), "emoji")
    if args.scikit_learn:
        print(write_small_digits(out / "small_digits"), "small digits")


def write_digits(sheet, out):
    """The cells of OpenCV's sheet: five rows of a hundred for each digit."""
    pixels = np.asarray(Image.open(sheet).convert("L"))
    rows, columns = (side // CELL for side in pixels.shape)
    cells = pixels.reshape(rows, CELL, columns, CELL).swapaxes(1, 2).reshape(-1, CELL, CELL)
    for number, cell in enumerate(cells):
        save(Image.fromarray(cell), out, str(number // PER_DIGIT), number, held_out=number % 10 == 9)
    return len(cells)


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
    count, seen = 0, set()
    for code in (*range(0x203C, 0x3300), *range(0x1F000, 0x1FB00)):
        name = unicodedata.name(chr(code), "")
        if not name or (image := drawn(font, chr(code))) is None:
            continue
        if (content := image.tobytes()) in seen:
            continue  # several code points share one picture
        seen.add(content)
        words = name.replace("-", " ").split()
        label = next((word for word in WORDS if word in words), OTHER)
        save(image.resize((64, 64), Image.Resampling.LANCZOS), out, label, code, held_out=count % 20 == 19)
        count += 1
    return count


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
