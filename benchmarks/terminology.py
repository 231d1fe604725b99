"""How many terms of a glossary are in the translations, with and without it, and what does it cost?

    python benchmarks/terminology.py --data DIR --run RUN --out terminology.json [--lines N] [--beams 4,8]

DIR is as for `quality_race.py`. The glossary is made of the training lines: words of letters alone that
`diagonal_aligner.py` links often enough, and mostly, to the same word. Translations are measured on the dev lines that
have a term, and on those of them whose reference has all their terms as the glossary says, where a glossary from a
client would agree with the translator. Lines without terms are not translated here: they come out the same.
"""

import argparse
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from diagonal_aligner import STRIPPED, align_both, lines_of
from record import Record

from trimtab.decode.glossary import holds as has_word
from trimtab.decode.glossary import read_glossary, with_capital
from trimtab.decode.search import Search
from trimtab.inference import load_translator
from trimtab.metrics.bleu import bleu
from trimtab.metrics.chrf import chrf


def main():
    args = arguments()
    record = Record(
        args.out,
        question=f"share of terms in translations by {Path(args.run).name}, with and without a glossary",
        device=args.device,
    )
    folder = Path(args.data) / args.kind
    train = [lines_of(folder / f"train.{side}.xz")[: args.train_lines] for side in ("en", args.language)]
    dev = [lines_of(folder / f"dev.{side}.xz")[: args.lines] for side in ("en", args.language)]
    if args.glossary is None:
        args.glossary = Path(tempfile.mkdtemp()) / "terms.tsv"
        Path(args.glossary).write_text(
            glossary_of(*train, least=args.least, share=args.share), encoding="utf-8"
        )
    glossary = read_glossary(Path(args.glossary).read_text(encoding="utf-8").splitlines(), name="glossary")
    lines = [pair for pair in zip(*dev, strict=True) if glossary.found_in(pair[0])]
    agreeing = [all(map(holds(reference), glossary.found_in(source))) for source, reference in lines]
    record.result |= {
        "terms_of_the_glossary": len(glossary),
        "lines": len(lines),
        "lines_whose_reference_agrees": sum(agreeing),
        "terms_in_lines": sum(len(glossary.found_in(source)) for source, _ in lines),
    }
    for beam in (int(each) for each in args.beams.split(",")):
        translator = load_translator(args.run, search=Search(beam=beam), device=args.device)
        translator.translate([source for source, _ in lines[:64]], glossary=glossary)  # to warm up
        for name, used in (("without", None), ("with", glossary)):
            record.arm(
                f"beam {beam}, {name} the glossary",
                lambda used=used, translator=translator: measured(
                    translator, lines, agreeing, glossary, used
                ),
            )


def measured(translator, lines, agreeing, glossary, used):
    begun = time.perf_counter()
    found = translator.translate([source for source, _ in lines], glossary=used)
    seconds = time.perf_counter() - begun
    where = {"all lines with terms": [True] * len(lines), "lines whose reference agrees": agreeing}
    return {
        "lines_per_second": round(len(lines) / seconds, 1),
        **{name: scores(lines, found, glossary, chosen) for name, chosen in where.items()},
    }


def scores(lines, found, glossary, chosen):
    rows = [(*pair, text) for pair, text, wanted in zip(lines, found, chosen, strict=True) if wanted]
    if not rows:
        return {}
    kept = [holds(text)(entry) for source, _, text in rows for entry in glossary.found_in(source)]
    references, texts = [reference for _, reference, _ in rows], [text for _, _, text in rows]
    return {
        "terms_kept": round(sum(kept) / len(kept), 4),
        "bleu": round(bleu(texts, references).value, 2),
        "chrf": round(chrf(texts, references).value, 2),
        "words": sum(len(text.split()) for text in texts),
    }


def holds(text):
    """Whether a text has a target of an entry."""
    return lambda entry: any(has_word(text, way) for each in entry.targets for way in with_capital(each))


def glossary_of(sources, targets, *, least, share):
    """Words that are linked to the same word at least so often, and in at least such a share of their links."""
    together = defaultdict(Counter)
    links = align_both(sources, targets)
    for source, target, linked in zip(sources, targets, links, strict=True):
        words = [[word.strip(STRIPPED) for word in line.split()] for line in (source, target)]
        for i, j in linked:
            if is_term(words[0][i]) and is_term(words[1][j]):
                together[words[0][i].lower()][words[1][j]] += 1
    lines = []
    for source, counts in sorted(together.items()):
        (target, count), total = counts.most_common(1)[0], counts.total()
        if count >= least and count >= share * total:
            lines.append(f"{source}\t{target}\n")
    return "".join(lines)


def is_term(word):
    return len(word) > 3 and word.isalpha()


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--glossary", default=None, help="a glossary of your own")
    parser.add_argument("--kind", default="prose")
    parser.add_argument("--language", default="de")
    parser.add_argument("--lines", type=int, default=None)
    parser.add_argument("--train-lines", type=int, default=50_000)
    parser.add_argument("--least", type=int, default=20)
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--beams", default="4,8")
    parser.add_argument("--device", default=None)
    return parser.parse_args()


if __name__ == "__main__":
    main()
