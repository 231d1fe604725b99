"""Lines that a translator may be given and nobody wants to see."""

import random

NASTY = (
    "",
    " ",
    " \t \u3000 \u00a0 ",
    "\x00",
    "\x00\x00 a \x00",
    "".join(map(chr, range(1, 10))) + "".join(map(chr, range(11, 32))) + "\x7f",
    "".join(map(chr, range(0x80, 0xA0))),
    "\ufeff",
    "a\ufeffb",
    "one\rtwo\x0bthree\x0cfour\x1cfive\x1dsix\x1eseven\x85eight\u2028nine\u2029ten",
    "\r",
    "\r\r\r",
    "שלום עולם \u202e נהפך \u202c",
    "مرحبا بالعالم؟ نعم۔",
    "Z" + "\u0301\u0316\u0334" * 60,
    "👩‍👩‍👧‍👦🏳️‍🌈👨🏿‍🚀" * 3,
    "\u200b\u200c\u200d\u2060",
    "...!!!???",
    "!" * 3000,
    "-" * 500,
    "</s> <pad> <unk> <s> [MASK] <2de> ▁▁",
    "{{}} %s %(x)d ${HOME} `rm` \\n \\x00",
    "<script>alert('1')</script>",
    "日本語の文。" * 200,
    "漢" * 900,
    "pneumonoultramicroscopic" * 100,
    "A sentence of some words. " * 120,
    "word " * 800,
    "9" * 400 + "." + "9" * 400,
    "\U0010ffff\ue000\ufffd",
    "ﬁ ﷺ ſ ½ ㎏",
    "'\"“”‘’«»„‚",
    ") . ( ; : , .",
)


def hostile_lines(count: int, *, seed: int = 1) -> list[str]:
    """The nasty ones, some of them 20,000 characters long, and random mixtures of their characters."""
    draw = random.Random(seed)
    alphabet = sorted({character for line in NASTY for character in line})
    long = [text * (20_000 // len(text)) for text in ("x", "ab cd. ", "漢字。", " \u2028", "\x00")]
    lines = [*NASTY, *long]
    while len(lines) < count:
        kind = draw.random()
        if kind < 0.2:
            lines.append(draw.choice(NASTY))
        elif kind < 0.3:
            lines.append(draw.choice(NASTY)[:50] + draw.choice(NASTY)[:50])
        else:
            lines.append("".join(draw.choices(alphabet, k=draw.randrange(60))))
    draw.shuffle(lines)
    return lines
