"""How well does the attention of a run align words, layer by layer, measured by the links of another aligner?

    python benchmarks/word_alignments.py --data DIR --run RUN --out word_alignments.json [--lines N] [--train-lines N]

DIR is as for `quality_race.py`. The reference of the dev lines is `diagonal_aligner.py` over the training and dev lines
together: the links of both directions are sure, those of one are possible, and the alignment error rate is that of Och
and Ney 2003 (J03-1002): 1 - (|A & S| + |A & P|) / (|A| + |S|). No one linked these lines by hand, so compare layers and
runs with each other, not with published rates.

Every layer is measured where a token is predicted and where it is read, for the mean of all heads and for the best of
the single heads. `chosen` is what `trimtab translate --alignments` uses: the head that training guided, where it did.
"""

import argparse
import time
from pathlib import Path

from diagonal_aligner import align, lines_of
from record import Record

from trimtab.inference import load_model
from trimtab.inference.aligner import AttentionHead, aligner_for, usual_head


def main():
    args = arguments()
    record = Record(
        args.out,
        question=f"alignment error of the attention of {Path(args.run).name} on {args.kind} dev lines",
        device=args.device,
    )
    dev = [
        lines_of(Path(args.data) / args.kind / f"dev.{side}.xz")[: args.lines]
        for side in ("en", args.language)
    ]
    train = [
        lines_of(Path(args.data) / args.kind / f"train.{side}.xz")[: args.train_lines]
        for side in ("en", args.language)
    ]
    sure, possible = reference(train, dev)
    record.result["lines"], record.result["sure_links"] = len(dev[0]), sum(map(len, sure))
    model = load_model(args.run, device=args.device)
    layers, heads = len(model.model.decoder.blocks), model.model.decoder.blocks[0].cross.heads

    def measured(head):
        aligner = aligner_for(model.model, model.recipe, model.tokenizers, (), head=head)
        begun = time.perf_counter()
        found = aligner.align(*dev)
        seconds = time.perf_counter() - begun
        return {**rates([set(links) for links in found], sure, possible), "seconds": round(seconds, 2)}

    record.arm("chosen", lambda: measured(usual_head(model.recipe, layers)))
    for layer in range(1, layers + 1):
        for reads in (False, True):
            place = "read" if reads else "predicted"
            record.arm(
                f"layer {layer} mean, {place}",
                lambda layer=layer, reads=reads: measured(AttentionHead(layer, None, reads=reads)),
            )
            if args.heads:
                record.arm(
                    f"layer {layer} best head, {place}",
                    lambda layer=layer, reads=reads: best_head(measured, layer, reads, heads),
                )
    best = min(record.arms, key=lambda name: record.arms[name]["alignment_error_rate"])
    record.result["best"] = best
    record.write()
    print(f"best: {best}, {record.arms[best]}")


def best_head(measured, layer, reads, heads):
    found = {head: measured(AttentionHead(layer, head, reads=reads)) for head in range(1, heads + 1)}
    best = min(found, key=lambda head: found[head]["alignment_error_rate"])
    return {**found[best], "head": best}


def reference(train, dev):
    """Sure and possible links of the dev lines."""
    sources, targets = [train[0] + dev[0], train[1] + dev[1]]
    skipped = len(train[0])
    forward = align(sources, targets)[skipped:]
    back = [{(i, j) for j, i in links} for links in align(targets, sources)[skipped:]]
    pairs = list(zip(forward, back, strict=True))
    return [one & other for one, other in pairs], [one | other for one, other in pairs]


def rates(found, sure, possible):
    """Precision, recall and error rate over all lines."""
    in_sure = sum(len(a & s) for a, s in zip(found, sure, strict=True))
    in_possible = sum(len(a & p) for a, p in zip(found, possible, strict=True))
    num_found, num_sure = sum(map(len, found)), sum(map(len, sure))
    return {
        "alignment_error_rate": round(1 - (in_sure + in_possible) / max(1, num_found + num_sure), 4),
        "precision": round(in_possible / max(1, num_found), 4),
        "recall": round(in_sure / max(1, num_sure), 4),
        "links": num_found,
    }


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--kind", default="prose")
    parser.add_argument("--language", default="de")
    parser.add_argument("--lines", type=int, default=None)
    parser.add_argument("--train-lines", type=int, default=50_000)
    parser.add_argument("--heads", action="store_true", help="also the best single head of each layer")
    parser.add_argument("--device", default=None)
    return parser.parse_args()


if __name__ == "__main__":
    main()
