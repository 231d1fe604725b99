"""The part of `beam_speed.py` that runs CTranslate2: reads what is asked, writes what was measured."""

import json
import statistics
import sys
import time
from pathlib import Path

import ctranslate2
import sentencepiece

REPETITIONS, WARM_LINES = 3, 64


def main():
    asked, answer = map(Path, sys.argv[1:])
    job = json.loads(asked.read_text(encoding="utf-8"))
    engine = Engine(job)
    passes, made = {}, {}
    for setting in job["settings"]:
        engine.translate(job["lines"][:WARM_LINES], int(setting))
        passes[setting] = [once(engine, job["lines"], setting, made) for _ in range(2)]
        print("ctranslate2", setting, passes[setting], flush=True)
    best = min(passes, key=lambda each: passes[each][1])
    while len(passes[best]) < 1 + REPETITIONS:
        passes[best].append(once(engine, job["lines"], best, made))
    first, *warm = passes[best]
    seconds = statistics.median(warm)
    found = {
        "ctranslate2": ctranslate2.__version__,
        "setting": best,
        "wall_seconds": round(seconds, 3),
        "first_seconds": round(first, 3),
        "sentences_per_second": round(len(job["lines"]) / seconds, 1),
        "passes": {each: [round(one, 3) for one in times] for each, times in passes.items()},
        "output": made[best],
    }
    answer.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")


def once(engine, lines, setting, made):
    begun = time.perf_counter()
    made[setting] = engine.translate(lines, int(setting))
    return time.perf_counter() - begun


class Engine:
    """A converted model with the vocabulary of its run."""

    def __init__(self, job):
        self.beam, self.max_seqlen = job["beam"], job["longest"]
        self.pieces = sentencepiece.SentencePieceProcessor(model_file=job["vocabulary"])
        self.model = ctranslate2.Translator(
            job["model"], device=job["device"], compute_type=job["compute_type"]
        )
        self.source, self.target = (self.words(Path(job["model"]), side) for side in ("source", "target"))
        config = json.loads((Path(job["model"]) / "config.json").read_text(encoding="utf-8"))
        self.adds_end = bool(config.get("add_source_eos"))
        self.ids = {word: number for number, word in enumerate(self.target)}

    @staticmethod
    def words(folder, side):
        """What the model calls each id."""
        for name in (f"{side}_vocabulary.json", "shared_vocabulary.json"):
            if (folder / name).exists():
                return json.loads((folder / name).read_text(encoding="utf-8"))
        name = folder / "shared_vocabulary.txt"
        return name.read_text(encoding="utf-8").split("\n")[:-1]

    def translate(self, lines, batch_tokens):
        made = self.pieces.encode(lines, add_eos=not self.adds_end, num_threads=1)
        rows = [row[-(self.max_seqlen - self.adds_end) :] for row in made]
        limit = min(self.max_seqlen - 1, 2 * max(map(len, rows)) + 10)
        made = self.model.translate_batch(
            [[self.source[piece] for piece in row] for row in rows],
            beam_size=self.beam,
            length_penalty=1.0,
            max_batch_size=batch_tokens,
            batch_type="tokens",
            max_decoding_length=limit,
            max_input_length=0,
        )
        return self.pieces.decode([[self.ids[word] for word in each.hypotheses[0]] for each in made])


if __name__ == "__main__":
    main()
