"""The part of `formats_on_cpu.py` that translates: one format with one setting, once, in a process of its own.

What the process holds is read before the model is there, when it is loaded, and at its peak while it translates.
"""

import importlib
import json
import os
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

STATUS, REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MIB = 1024


def main():
    asked, answer = map(Path, sys.argv[1:])
    job = json.loads(asked.read_text(encoding="utf-8"))
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: job["threads"]])
    begun = time.perf_counter()
    engine = {"trimtab": ByTrimtab, "generate": ByGenerate, "ctranslate2": ByCTranslate2}[job["how"]](job)
    imported = time.perf_counter() - begun
    memory = {"floor_mib": held("VmRSS")}
    begun = time.perf_counter()
    engine.load()
    loaded = time.perf_counter() - begun
    memory |= {"loaded_mib": held("VmRSS"), "peak_of_loading_mib": held("VmHWM")}
    engine.translate(job["lines"][: job["warm_lines"]])
    forget_peak()
    before, begun = clock(), time.perf_counter()
    output = engine.translate(job["lines"])
    seconds = time.perf_counter() - begun
    found = {
        "seconds": round(seconds, 3),
        "import_seconds": round(imported, 2),
        "load_seconds": round(loaded, 3),
        **memory,
        "peak_mib": held("VmHWM"),
        **load_of(before, seconds),
        "versions": {name: module.__version__ for name, module in engine.libraries.items()},
        "output": output,
    }
    answer.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")


def held(what):
    """Physical memory of this process in MiB: VmRSS is now, VmHWM the most since it was last forgotten."""
    return round(int(re.search(rf"^{what}:\s+(\d+) kB", STATUS.read_text(), re.M)[1]) / MIB, 1)


def forget_peak():
    REFERENCES.write_text("5")


def clock():
    """Busy seconds of the whole machine, and those of this process."""
    busy = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, soft, steal = map(int, busy[:8])
    own = os.times()
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK"), own.user + own.system


def load_of(before, seconds):
    """How many cores were busy for this process, and how many for others: the less, the quieter the machine."""
    busy, own = (now - then for now, then in zip(clock(), before, strict=True))
    return {
        "cpu_seconds": round(own, 2),
        "cores_used": round(own / seconds, 2),
        "cores_used_by_others": round(max(0.0, busy - own) / seconds, 2),
    }


def limit_of(tokens, longest):
    """The trainer's: at most twice the source and ten more, end symbols included."""
    return min(longest, 2 * tokens + 10)


class ByTrimtab:
    """`trimtab.load_translator`, for a run and for an export alike."""

    def __init__(self, job):
        import torch

        torch.set_num_threads(job["threads"])
        import trimtab
        from trimtab.inference import together  # noqa: F401  # what is public is imported when it is first asked for

        self.job, self.trimtab = job, trimtab
        self.libraries = {name: importlib.import_module(name) for name in ("torch", *job["libraries"])}

    def load(self):
        from trimtab.decode.search import Search

        job = self.job
        search = Search(beam=job["beam"], length_penalty=job["length_penalty"], stop=job["stop"])
        self.translator = self.trimtab.load_translator(
            job["model"], search=search, tags=job["tags"], device="cpu"
        )
        if job["setting"] != "default":
            tokens = int(job["setting"]) * job["beam"]
            self.translator.setup = replace(self.translator.setup, batch_tokens=tokens)

    def translate(self, lines):
        return self.translator.translate(lines)


class ByGenerate:
    """`generate` of transformers on batches of lines of about the same length."""

    def __init__(self, job):
        import torch
        import transformers

        torch.set_num_threads(job["threads"])
        self.torch, self.job = torch, job
        self.libraries = {"torch": torch, "transformers": transformers}
        self.classes = (transformers.AutoTokenizer, transformers.AutoModelForSeq2SeqLM)
        importlib.import_module("transformers.generation")

    def load(self):
        self.tokenizer, self.model = (each.from_pretrained(self.job["model"]) for each in self.classes)

    def translate(self, lines):
        job, longest = self.job, self.job["longest"]
        tagged = [" ".join([*job["tags"], line]) for line in lines]
        order = sorted(range(len(lines)), key=lambda line: -len(tagged[line]))
        size, output = int(job["setting"]), [""] * len(lines)
        with self.torch.inference_mode():
            for at in range(0, len(order), size):
                few = order[at : at + size]
                batch = self.tokenizer(
                    [tagged[line] for line in few],
                    return_tensors="pt",
                    padding=True,
                    truncation=True,
                    max_length=longest,
                )
                made = self.model.generate(
                    **batch,
                    num_beams=job["beam"],
                    length_penalty=job["length_penalty"],
                    early_stopping="never" if job["stop"] == "exact" else True,
                    max_length=limit_of(batch["input_ids"].shape[1], longest) + 1,  # the start symbol counts
                )
                texts = self.tokenizer.batch_decode(made, skip_special_tokens=True)
                for line, text in zip(few, texts, strict=True):
                    output[line] = text
        return output


class ByCTranslate2:
    """CTranslate2 and sentencepiece alone, as the model card of the export shows it."""

    def __init__(self, job):
        import ctranslate2
        import sentencepiece

        self.job = job
        self.libraries = {"ctranslate2": ctranslate2, "sentencepiece": sentencepiece}

    def load(self):
        folder = Path(self.job["model"])
        make = self.libraries["sentencepiece"].SentencePieceProcessor
        self.source, self.target = (
            make(model_file=str(folder / f"{side}.spm")) for side in ("source", "target")
        )
        self.model = self.libraries["ctranslate2"].Translator(
            str(folder), device="cpu", intra_threads=self.job["threads"], inter_threads=1
        )

    def translate(self, lines):
        job, longest = self.job, self.job["longest"]
        # The library puts the end symbol behind each line.
        rows = [[*job["tags"], *row][: longest - 1] for row in self.source.encode(lines, out_type=str)]
        made = self.model.translate_batch(
            rows,
            beam_size=job["beam"],
            length_penalty=job["length_penalty"],
            max_batch_size=int(job["setting"]),
            batch_type="tokens",
            max_decoding_length=limit_of(max(map(len, rows)) + 1, longest) - 1,
            min_decoding_length=0,
            disable_unk=True,
        )
        return self.target.decode([each.hypotheses[0] for each in made])


if __name__ == "__main__":
    main()
