r"""What learning alignments costs: training steps on a GPU with and without `loss.guided_alignment`.

    python benchmarks/guided_alignment_speed.py --out FILE.json [--presets small,base] [KEY=VALUE ...]
    python benchmarks/guided_alignment_speed.py --out /tmp/dry.json --device cpu --presets tiny --lines 400 \
        --windows 2 step.tokens_per_step=1024 data.tokenizer.vocabulary_size=1000

Aligns lines of the sample that ships with trimtab by `diagonal_aligner.py`, then takes steps as `trimtab train` does,
recorded as CUDA graphs, over windows that were cut and moved to the GPU before. Arms take turns; figures are medians
over passes by CUDA events. The second command is there to try the script.
"""

import argparse
import tempfile
from pathlib import Path
from types import SimpleNamespace

import torch
from diagonal_aligner import align_both, lines_of
from record import Record
from step_speed import peak, profiled, speed, through, trained

ROUNDS, REPETITIONS = 4, 3
SAMPLE = Path(__file__).parents[1] / "src/trimtab/demo/data/train.tsv.xz"
ARMS = {"plain": [], "guided": ["loss.guided_alignment={weight: 0.1}"]}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", required=True)
    parser.add_argument("--presets", default="small,base")
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--windows", type=int, default=12)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("overrides", nargs="*")
    args = parser.parse_args()
    record = Record(
        args.out, question="training steps with and without loss.guided_alignment", device=args.device
    )
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder), args.lines)
        for preset in args.presets.split(","):
            record.arm(preset, lambda preset=preset: compared(args, Path(folder), preset))


def write_corpus(folder, count):
    """The sample in two files, their links, and one recipe for each arm."""
    pairs = [line.split("\t") for line in lines_of(SAMPLE)[:count]]
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    links = [" ".join(f"{i}-{j}" for i, j in sorted(each)) for each in align_both(sources, targets)]
    for name, lines in (("en", sources), ("de", targets), ("links", links)):
        (folder / f"train.{name}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for arm in ARMS:
        aligned = ", alignments: train.links" if arm == "guided" else ""
        (folder / f"{arm}.yaml").write_text(RECIPE.format(aligned=aligned))


RECIPE = """task: translation
data:
  train: [{{source: train.en, target: train.de{aligned}}}]
  valid: {{source: train.en, target: train.de}}
  tokenizer: {{kind: sentencepiece, model: unigram, vocabulary_size: 4000}}
  max_tokens: 128
model: {{kind: encoder_decoder, preset: small}}
step: {{tokens_per_step: 16384, optimizer: {{kind: adamw, learning_rate: 1.0e-4}}}}
length: 1000 steps
"""


def compared(args, folder, preset):
    """Both arms in turns, and which kernels the guided one runs."""
    run = SimpleNamespace(device=torch.device(args.device))
    models = {}
    for arm, keys in ARMS.items():
        run.sources = None
        run.args = SimpleNamespace(
            recipe=folder / f"{arm}.yaml",
            overrides=[*args.overrides, *keys],
            windows=args.windows,
            tokenizer=folder / "tokenizer",
        )
        models[arm] = trained(run, preset)
    times = {arm: [] for arm in models}
    for number in range(ROUNDS):
        for arm in list(models)[:: 1 if number % 2 == 0 else -1]:
            one = models[arm]
            times[arm] += [through(one, gate=one.parts.stepper.gate) for _ in range(REPETITIONS)]
    found = {arm: {**models[arm].about, **speed(models[arm], each)} for arm, each in times.items()}
    guided = models["guided"]
    return {
        **found,
        "guided_takes_times": round(found["guided"]["step_ms"] / found["plain"]["step_ms"], 3),
        "recordings": {arm: len(one.parts.stepper.graphs.recordings) for arm, one in models.items()}
        if args.device == "cuda"
        else None,
        "profile_of_guided": profiled(run, guided, None),
        **peak(run),
    }


if __name__ == "__main__":
    main()
