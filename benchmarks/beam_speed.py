"""How fast are the dev lines translated, beam 4, by trimtab, `generate` of Hugging Face and CTranslate2?

    python benchmarks/beam_speed.py --data DIR --run RUN --out result.json [--engines trimtab,hf,ctranslate2]

DIR is as for `quality_race.py`, whose `--keep` makes such a RUN: translations of random weights would have no length
worth comparing. The weights of its last step are written by the exports' own writers for the other engines (without
the comparison of `trimtab export`; the scores here show whether they are the same). Lines come sorted by length, and
from text to text: splitting into pieces and joining them is in the time. Each engine translates some lines to warm up,
then all of them twice with each of its settings, and with the fastest again until three of its passes were warm. A
setting that fails is recorded with its error.

No translation is longer than twice its source and ten tokens: of each line for trimtab, of the longest line of its
batch for Hugging Face, of all lines for CTranslate2.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch
from recipe_quality import read
from record import Record

from trimtab.decode.batches import MOST_HYPOTHESES
from trimtab.decode.limits import target_limit
from trimtab.decode.search import Search
from trimtab.errors import TrimtabError
from trimtab.export.targets import build_target
from trimtab.inference import load_model
from trimtab.inference.recorded import with_dynamic_shapes
from trimtab.metrics.bleu import bleu
from trimtab.metrics.chrf import chrf
from trimtab.model.static.opener import StaticOpener

REPETITIONS = 3
WARM_LINES = 64


def main():
    args = arguments()
    record = Record(
        args.out,
        question=f"seconds to translate the {args.kind} dev lines, beam {args.beam}, by the same weights",
        beam=args.beam,
    )
    sources, references = (read(Path(args.data) / args.kind / f"dev.{side}.xz") for side in ("en", "de"))
    sources, references = sources[: args.lines], references[: args.lines]
    record.result["lines"] = len(sources)
    outputs = {}
    with tempfile.TemporaryDirectory() as folder:
        engines = {"trimtab": by_trimtab, "hf": by_hugging_face, "ctranslate2": by_ctranslate2}
        for engine in args.engines.split(","):
            record.arm(
                engine, lambda e=engine: engines[e](args, sources, Path(folder), outputs.setdefault(e, []))
            )
            if engine in record.arms:
                record.arms[engine] |= scored(outputs[engine], references, beside=outputs.get("trimtab"))
            clean()
            compare(record)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--kind", default="prose")
    parser.add_argument("--lines", type=int, help="only the first so many")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--engines", default="trimtab,hf,ctranslate2")
    parser.add_argument(
        "--trimtab",
        default="exact,enough",
        help="STOP[:BATCH_TOKENS[:MOST_HYPOTHESES[:HOW]]],...; with STOP alone as `trimtab translate` has it. HOW is "
        "recorded (the default: steps are launched as CUDA graphs), gathered (the same without the Triton kernel) or "
        "plain (launched one by one)",
    )
    parser.add_argument("--hf", default="128:False,512:False,512:True", help="SENTENCES:EARLY_STOPPING,...")
    parser.add_argument("--ctranslate2", default="4096,16384,65536", help="tokens of a batch,...")
    parser.add_argument("--compute-type", default="float16", help="of CTranslate2")
    return parser.parse_args()


def timed(settings, translate, lines, kept):
    """Passes over all lines; the first of a setting plans, compiles and records, and is told by itself. The best one
    has three more. `kept` is filled with its translations."""
    passes, made, failed = {}, {}, {}
    for setting in settings:
        try:
            translate(lines[:WARM_LINES], setting)
            found = [once(translate, lines, setting, made) for _ in range(2)]
        except Exception as error:  # the others may do without what this one lacks
            failed[setting] = f"{type(error).__name__}: {error}"[:1000]
            print("FAILED", setting, failed[setting], flush=True)
            continue
        passes[setting] = found
        print(setting, found, flush=True)
    if not passes:
        raise RuntimeError(str(failed))
    best = min(passes, key=lambda each: passes[each][1])
    while len(passes[best]) < 1 + REPETITIONS:
        passes[best].append(once(translate, lines, best, made))
    kept[:] = made[best]
    first, *warm = passes[best]
    seconds = statistics.median(warm)
    return {
        "setting": best,
        "wall_seconds": round(seconds, 3),
        "first_seconds": round(first, 3),
        "sentences_per_second": round(len(lines) / seconds, 1),
        "passes": {each: [round(one, 3) for one in found] for each, found in passes.items()},
        "same_as_the_best": {each: round(same(made[each], kept), 4) for each in passes},
        "failed": failed,
    }


def same(some, others):
    """The share of lines that are translated in the same way."""
    return sum(one == other for one, other in zip(some, others, strict=True)) / len(some)


def once(translate, lines, setting, made):
    begun = time.perf_counter()
    made[setting] = translate(lines, setting)
    return time.perf_counter() - begun


def by_trimtab(args, lines, folder, kept):
    """`Translator.translate`, by the setting `STOP[:BATCH_TOKENS[:MOST_HYPOTHESES[:HOW]]]`; one translator each, which
    keeps its recordings, so that only the first pass pays for them."""
    model = load_model(f"{args.run}@last")
    translators = {}

    def translate(some, setting):
        if setting not in translators:
            translators[setting] = translator_of(model, args.beam, *setting.split(":"))
        return translators[setting].translate(some)

    return timed(args.trimtab.split(","), translate, lines, kept)


def translator_of(model, beam, stop, tokens=None, most=MOST_HYPOTHESES, how="recorded"):
    """A translator by one setting; where nothing but the stop is given, as users have it."""
    translator = model.translator(search=Search(beam=beam, stop=stop))
    if tokens is None:
        return translator
    setup = replace(translator.setup, batch_tokens=int(tokens), most_hypotheses=int(most))
    if how == "plain":
        setup = with_dynamic_shapes(setup)
    else:
        assert isinstance(setup.model, StaticOpener), "steps are recorded on a GPU in half precision"
        setup.model.memory.by_kernel &= how == "recorded"
        print(how, "by the kernel" if setup.model.memory.by_kernel else "by gathering", flush=True)
    translator.setup = setup
    return translator


def exported(args, target, folder):
    """The weights in the layout of another library."""
    place = folder / target
    if not place.exists():
        place.mkdir()
        build_target(target).write(load_model(f"{args.run}@last", device="cpu"), place)
    return place


@torch.inference_mode()
def by_hugging_face(args, lines, folder, kept):
    """`generate` in bfloat16, by the setting `SENTENCES:EARLY_STOPPING`."""
    import transformers

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    place = exported(args, "hf", folder)
    network = transformers.AutoModelForSeq2SeqLM.from_pretrained(place, attn_implementation="sdpa").eval()
    network = network.to(device, torch.bfloat16 if device.type == "cuda" else torch.float32)
    model = load_model(f"{args.run}@last", device="cpu")
    tokenizer, longest = model.tokenizer, model.recipe.data.max_tokens

    def translate(some, setting):
        size, early = int(setting.split(":")[0]), setting.split(":")[1] == "True"
        rows = [row[-longest:] for row in tokenizer.encode(some)]
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        output = [""] * len(rows)
        for at in range(0, len(order), size):
            chosen = order[at : at + size]
            width = len(rows[chosen[-1]])
            ids = torch.tensor([rows[row] + [tokenizer.pad] * (width - len(rows[row])) for row in chosen])
            mask = torch.tensor([[1] * len(rows[row]) + [0] * (width - len(rows[row])) for row in chosen])
            made = network.generate(
                input_ids=ids.to(device),
                attention_mask=mask.to(device),
                num_beams=args.beam,
                length_penalty=1.0,
                early_stopping=early,
                max_length=target_limit(width, max_tokens=longest) + 1,
            )
            for row, text in zip(chosen, tokenizer.decode(made.tolist()), strict=True):
                output[row] = text
        return output

    return {"transformers": transformers.__version__, **timed(args.hf.split(","), translate, lines, kept)}


def by_ctranslate2(args, lines, folder, kept):
    """CTranslate2 in a process of its own, which finds the CUDA libraries that it was built for, or the newer ones
    under their names; by the tokens of a batch."""
    place, how = converted(args, folder)
    longest = load_model(f"{args.run}@last", device="cpu").recipe.data.max_tokens
    job = {
        "model": str(place),
        "vocabulary": str(Path(args.run) / "tokenizer" / "sentencepiece.model"),
        "lines": lines,
        "device": "cuda" if torch.cuda.is_available() else "cpu",
        "compute_type": args.compute_type if torch.cuda.is_available() else "float32",
        "beam": args.beam,
        "settings": args.ctranslate2.split(","),
        "longest": longest,
    }
    asked, answer = folder / "asked.json", folder / "answer.json"
    asked.write_text(json.dumps(job), encoding="utf-8")
    libraries, linked = cuda_libraries(folder)
    subprocess.run(
        [sys.executable, str(Path(__file__).parent / "beam_ctranslate2.py"), str(asked), str(answer)],
        env={**os.environ, "LD_LIBRARY_PATH": f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}"},
        check=True,
    )
    found = json.loads(answer.read_text(encoding="utf-8"))
    kept[:] = found.pop("output")
    return {**found, "compute_type": job["compute_type"], "converted_by": how, "cublas": linked}


def converted(args, folder):
    """A folder of CTranslate2, by trimtab's own writer or else by CTranslate2's converter from the other export."""
    try:
        return exported(args, "ctranslate2", folder), "trimtab export"
    except TrimtabError as error:
        print(str(error)[:300], flush=True)
    from ctranslate2.converters import TransformersConverter

    place = folder / "ctranslate2_of_hf"
    TransformersConverter(str(exported(args, "hf", folder))).convert(str(place), force=True)
    return place, "TransformersConverter"


def cuda_libraries(folder):
    """A folder of links for a library that was built for CUDA 12, and which cuBLAS it finds there."""
    links = folder / "cuda"
    links.mkdir(exist_ok=True)
    found = [
        each
        for root in {Path(torch.__file__).parents[1] / "nvidia", Path("/usr/local/cuda/lib64")}
        for each in root.glob("**/libcublas*.so.*")
    ]
    for each in found:
        for name in {each.name, each.name.replace(".so.13", ".so.12")}:
            if not (links / name).exists():
                (links / name).symlink_to(each)
    needed = links / "libcublas.so.12"
    return links, needed.resolve().name if needed.exists() else "none"


def scored(output, references, *, beside):
    """BLEU and chrF, and the share of lines that trimtab translates in the same way."""
    found = {
        score.name: round(score.value, 3) for score in (bleu(output, references), chrf(output, references))
    }
    if beside and beside is not output:
        found["same_as_trimtab"] = round(same(output, beside), 4)
    return found


def clean():
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def compare(record):
    """How many times as fast trimtab is as each other engine."""
    ours = record.arms.get("trimtab")
    for engine in ("hf", "ctranslate2"):
        if ours and engine in record.arms:
            times = record.arms[engine]["wall_seconds"] / ours["wall_seconds"]
            record.result.setdefault("times_as_fast", {})[engine] = round(times, 2)
    record.write()


if __name__ == "__main__":
    main()
