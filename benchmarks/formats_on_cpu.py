"""One model in every form on two CPU cores: tokens a second, memory, size on the disk, BLEU and chrF.

    python benchmarks/formats_on_cpu.py --run RUN --source dev.en --reference dev.de --out FILE
        [--formats pytorch,ctranslate2,...] [--lines N] [--repetitions 3] [--threads 2] [--exports DIR]

RUN is a run or a checkpoint of one, as `trimtab translate` takes it; the texts are plain or .xz, a sentence a line. The
exports are made and proven by `trimtab export`, whose figures are kept. Then each pass over all lines has a process of
its own on so many cores, from text to text: imports, loading, some lines to warm up, and the lines that count, whose
time and memory are told apart. The formats take turns: first once with each of their settings, then again with the
fastest one, until it has as many passes as there are repetitions. A tenth of a core for others is a quiet machine.

All search with the same beam and length penalty and for translations of at most twice the source and ten tokens: of
each line with trimtab, which also lets what reaches the limit end there; of the longest line of a batch with
`generate`, and of all lines with CTranslate2 alone, which give what has no end. Lines above the longest length are cut
in pieces by trimtab and cut off by the others. `exact` searches continue until no open hypothesis can win; `early` ones
stop when as many have ended as the beam is wide.
"""

import argparse
import json
import lzma
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from record import Record

from trimtab.inference import load_model
from trimtab.metrics.bleu import bleu
from trimtab.metrics.chrf import chrf

ONE_PASS = Path(__file__).parent / "formats_one_pass.py"
WARM_LINES = 32
TRIMTAB = "default,1024,4096"
"""Source tokens of a batch, padding included; the default is what `trimtab translate` takes."""
SENTENCES, TOKENS = "8,32,128", "512,2048,8192"
FORMATS = {
    "pytorch": {"how": "trimtab", "stop": "exact"},
    "ctranslate2": {"how": "trimtab", "stop": "exact", "export": ("ctranslate2", "float32")},
    "ctranslate2 int8": {"how": "trimtab", "stop": "exact", "export": ("ctranslate2", "int8")},
    "onnx": {"how": "trimtab", "stop": "exact", "export": ("onnx", "float32")},
    "onnx int8": {"how": "trimtab", "stop": "exact", "export": ("onnx", "int8")},
    "generate": {"how": "generate", "stop": "exact", "export": ("hf", "float32")},
    "pytorch early": {"how": "trimtab", "stop": "enough"},
    "ctranslate2 alone": {"how": "ctranslate2", "stop": "enough", "export": ("ctranslate2", "float32")},
    "ctranslate2 int8 alone": {"how": "ctranslate2", "stop": "enough", "export": ("ctranslate2", "int8")},
    "generate early": {"how": "generate", "stop": "enough", "export": ("hf", "float32")},
}
"""Who searches, how far, and what is exported first; `alone` is without trimtab."""
LIBRARIES = {"ctranslate2": ["ctranslate2"], "onnx": ["onnx", "onnxruntime"], "hf": ["transformers"]}


def main():
    args = arguments()
    model = load_model(args.run, device="cpu")
    sources, references = (read(path)[: args.lines] for path in (args.source, args.reference))
    record = Record(
        args.out,
        question=f"one model in {len(args.formats)} forms on {args.threads} CPU cores",
        device="cpu",
        processor=processor(),
        threads=args.threads,
        beam=args.beam,
        length_penalty=args.length_penalty,
        repetitions=args.repetitions,
        model=shape_of(model),
        **size_of(sources, model),
    )
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        texts = {"source": folder / "source.txt", "reference": folder / "reference.txt"}
        for path, lines in zip(texts.values(), (sources, references), strict=True):
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        places = exported(args, record, texts, args.exports or folder)
        passes = Passes(args, model, places, sources, folder)
        for round_ in range(args.repetitions):
            for name in args.formats:
                if FORMATS[name].get("export") in (None, *places):
                    one_turn(passes, name, record, first=round_ == 0)
                    conclude(record, passes, references)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--formats", default=",".join(FORMATS), help="separated by commas")
    parser.add_argument("--lines", type=int, help="only the first so many")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--length-penalty", type=float, default=1.0)
    parser.add_argument("--tag", dest="tags", action="append", default=[])
    parser.add_argument("--exports", type=Path, help="keep the exports there, and use those that are there")
    parser.add_argument("--trimtab", default=TRIMTAB, help="source tokens of a batch; default is its own")
    parser.add_argument("--generate", default=SENTENCES, help="sentences of a batch")
    parser.add_argument("--ctranslate2", default=TOKENS, help="tokens of a batch, where it is alone")
    args = parser.parse_args()
    args.formats = [name.strip() for name in args.formats.split(",")]
    if unknown := [name for name in args.formats if name not in FORMATS]:
        parser.error(f"--formats: {', '.join(unknown)} not known; {', '.join(FORMATS)} are")
    if args.repetitions < 1:
        parser.error("--repetitions: at least 1")
    return args


def shape_of(model):
    """What was trained, and for how long."""
    config = model.recipe.model
    return {
        "preset": config.preset,
        "dim": config.dim,
        "layers": [config.encoder_layers, config.decoder_layers],
        "vocabulary": model.tokenizer.num_ids,
        "parameters": sum(each.numel() for each in model.model.parameters()),
        "step": model.checkpoint.step,
    }


def size_of(sources, model):
    """How much is translated."""
    lengths = [len(ids) for ids in model.tokenizers.source.encode(sources)]
    longest = model.recipe.data.max_tokens
    return {
        "lines": len(sources),
        "source_tokens": sum(lengths),
        "longest": longest,
        "lines_above_the_longest": sum(length > longest for length in lengths),
    }


def exported(args, record, texts, folder):
    """The folder of each export, made and proven by the command on the very lines; one that fails is told."""
    places, told = {}, record.result.setdefault("exports", {})
    for target, kind in dict.fromkeys(
        FORMATS[name]["export"] for name in args.formats if "export" in FORMATS[name]
    ):
        place = folder / f"{target}_{kind}"
        command = ["export", args.run, "--to", target, "--quantization", kind, "--out", str(place)]
        command += [f"--{side}={path}" for side, path in texts.items()]
        command += [each for tag in args.tags for each in ("--tag", tag)]
        if not place.exists():
            done = subprocess.run(
                [sys.executable, "-c", "from trimtab.cli.main import main; main()", *command],
                env=environment(args),
                capture_output=True,
                text=True,
            )
            if done.returncode:
                record.result["failed"].append({"arm": place.name, "error": done.stderr.strip()[-1000:]})
                print("FAILED", record.result["failed"][-1], flush=True)
                continue
        places[target, kind] = place
        gate = json.loads((place / "trimtab" / "gate.json").read_text(encoding="utf-8"))
        told[place.name] = {key: len(each) if isinstance(each, list) else each for key, each in gate.items()}
        print(place.name, told[place.name], flush=True)
        record.write()
    return places


class Passes:
    """Runs passes in processes of their own, and keeps what each gave: by format, then by setting."""

    def __init__(self, args, model, places, sources, folder):
        self.args, self.model, self.places, self.sources = args, model, places, sources
        self.asked, self.answer = folder / "asked.json", folder / "answer.json"
        self.found = {}

    def settings(self, name):
        """Those of a format, as they were asked for."""
        return getattr(self.args, FORMATS[name]["how"]).split(",")

    def best(self, name):
        """The setting with the fastest pass."""
        tried = {each: passes for each, passes in self.found.get(name, {}).items() if passes}
        return min(tried, key=lambda each: min(one["seconds"] for one in tried[each]), default=None)

    def run(self, name, setting):
        """One pass; RuntimeError with what the process told where it ends badly."""
        form, model = FORMATS[name], self.model
        export = form.get("export")
        job = {
            "how": form["how"],
            "stop": form["stop"],
            "model": str(self.places[export]) if export else self.args.run,
            "libraries": LIBRARIES[export[0]] if export else [],
            "longest": model.recipe.data.max_tokens,
            "setting": setting,
            "lines": self.sources,
            "warm_lines": WARM_LINES,
            **{key: getattr(self.args, key) for key in ("threads", "beam", "length_penalty", "tags")},
        }
        self.asked.write_text(json.dumps(job), encoding="utf-8")
        self.answer.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, str(ONE_PASS), str(self.asked), str(self.answer)],
            env=environment(self.args),
            stderr=subprocess.PIPE,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-900:])
        found = json.loads(self.answer.read_text(encoding="utf-8"))
        self.found.setdefault(name, {}).setdefault(setting, []).append(found)
        shown = {key: value for key, value in found.items() if key not in ("output", "versions")}
        print(name, setting, shown, flush=True)

    def disk(self, name):
        """MiB of what is needed to translate: the folder of the export; of a run the weights, recipe, tokenizer."""
        export, checkpoint = FORMATS[name].get("export"), self.model.checkpoint
        roots = [self.places[export]] if export else [checkpoint.run / "tokenizer"]
        files = [each for root in roots for each in root.rglob("*") if each.is_file()]
        if not export:
            files += [checkpoint.run / "recipe.yaml", checkpoint.folder / "model.safetensors"]
        return round(sum(each.stat().st_size for each in files) / 2**20, 1)


def one_turn(passes, name, record, *, first):
    """All settings the first time, later the fastest one; what fails is told, and the others continue."""
    settings = passes.settings(name) if first else [passes.best(name)]
    for setting in settings:
        if setting is None:
            continue
        try:
            passes.run(name, setting)
        except RuntimeError as error:
            record.result["failed"].append({"arm": f"{name}, {setting}", "error": str(error)})
            print("FAILED", record.result["failed"][-1], flush=True)


def conclude(record, passes, references):
    """Writes down what is known so far."""
    texts = {name: passes.found[name][passes.best(name)][0]["output"] for name in passes.found}
    for name, tried in passes.found.items():
        setting, output = passes.best(name), texts[name]
        record.arms[name] = {
            "search": FORMATS[name]["stop"],
            "setting": setting,
            **of_the_best(tried[setting], output, passes.model.tokenizer, lines=len(references)),
            "disk_mib": passes.disk(name),
            **{
                score.name: {"value": round(score.value, 3), "signature": score.signature}
                for score in (bleu(output, references), chrf(output, references))
            },
            **({"unlike_pytorch": unlike(output, texts["pytorch"])} if "pytorch" in texts else {}),
            "passes": {each: [one["seconds"] for one in all_] for each, all_ in tried.items()},
        }
        record.result |= tried[setting][0]["versions"]
    record.write()


def of_the_best(passes, output, tokenizer, *, lines):
    """Medians over the passes of one setting; each rate stands beside them."""
    tokens = sum(len(ids) for ids in tokenizer.encode(output))

    def median(key):
        return round(statistics.median(one[key] for one in passes), 3)

    keys = (
        "floor_mib",
        "loaded_mib",
        "peak_of_loading_mib",
        "peak_mib",
        "cpu_seconds",
        "cores_used",
        "cores_used_by_others",
    )
    return {
        "output_tokens": tokens,
        "tokens_per_second": round(tokens / median("seconds"), 1),
        "each": [round(tokens / one["seconds"], 1) for one in passes],
        "lines_per_second": round(lines / median("seconds"), 2),
        **{key: median(key) for key in ("seconds", "import_seconds", "load_seconds", *keys)},
        "same_text_each_time": all(one["output"] == output for one in passes),
    }


def unlike(output, other):
    """Share of the lines that differ."""
    return round(sum(one != two for one, two in zip(output, other, strict=True)) / len(output), 4)


def environment(args):
    return {**os.environ, "OMP_NUM_THREADS": str(args.threads), "TOKENIZERS_PARALLELISM": "false"}


def processor():
    """What the machine calls its processor, with the instructions that rounded weights profit from."""
    about = Path("/proc/cpuinfo").read_text()
    name = re.search(r"^model name\s*: (.*)", about, re.M)
    known = [
        each for each in ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8") if each in about.split()
    ]
    return f"{name[1].strip() if name else platform.machine()}, {' '.join(known)}"


def read(path):
    """Lines of a text, plain or .xz."""
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().removesuffix("\n").split("\n")


if __name__ == "__main__":
    main()
