"""Writes docs/speed.md, how fast it is, against whom, on what and by which command, from the results in benchmarks/.

python tools/write_speed.py
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "speed.md"
RESULTS = ROOT / "benchmarks"
QUESTIONS = ("translation_speed", "quality_race", "beam_speed", "precision_table", "data_pipeline")
"""Names of the scripts; the results of one are the files that begin with its name."""

Result = Mapping[str, Any]


def main() -> None:
    """Writes the page where it differs."""
    text = page(recorded(RESULTS))
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.write_text(text, encoding="utf-8")
        print(f"written: {PAGE.relative_to(ROOT)}")


def recorded(folder: Path) -> dict[str, list[Result]]:
    """What was measured, by question."""
    return {
        name: [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob(f"{name}*.json"))]
        for name in QUESTIONS
    }


def page(found: Mapping[str, Sequence[Result]]) -> str:
    """The whole page."""
    sections = {
        "translation_speed": ("Training", training_rows),
        "quality_race": ("Until it is as good", race_rows),
        "beam_speed": ("Translating", beam_rows),
        "precision_table": ("Precisions", precision_rows),
        "data_pipeline": ("The data pipeline alone", pipeline_rows),
    }
    lines = [
        "# How fast it is",
        "",
        "Written by `tools/write_speed.py` from the results in `benchmarks/`: every figure stands in one of them, with",
        "its repetitions. Tokens are real ones of source and target, never slots; figures are medians of three.",
    ]
    for name, (title, rows) in sections.items():
        lines += ["", f"## {title}", ""]
        results = found.get(name) or ()
        if not results:
            lines.append(f"Not measured yet; `python benchmarks/{name}.py` does.")
        for number, result in enumerate(results):
            lines += [*([""] if number else []), *rows(result), "", *source_of(result)]
    return "\n".join(lines) + "\n"


def source_of(result: Result) -> Iterator[str]:
    """Where and how it was measured, and what failed."""
    versions = [f"{key} {result[key]}" for key in ("torch", "transformers") if key in result]
    yield f"{result['card']}, {result['cores']} cores; {', '.join(versions)}; commit {result['commit'][:10]}."
    yield f"`{result['command']}`"
    if "remark" in result:
        yield f"- {result['remark']}"
    for each in result["failed"]:
        yield f"- {each['arm']} gave nothing: {' '.join(each['error'].split())[:160]}"


def training_rows(result: Result) -> Iterator[str]:
    """A row for each preset."""
    peers = "HF Trainer as it comes | HF Trainer, grouped by length | Eole"
    yield f"| preset | trimtab, tokens/s | waits for data | {peers} | times the best |"
    yield "|---|---|---|---|---|---|---|"
    arms = result["arms"]
    for preset in dict.fromkeys(name.split()[0] for name in arms):
        ours, *peers = (arms.get(f"{preset} {arm}") for arm in ("trimtab", "hf", "hf_grouped", "eole"))
        rates = [each["tokens_per_second"] for each in peers if each]
        times = f"{ours['tokens_per_second'] / max(rates):.1f}" if ours and rates else ""
        waits = f"{ours['data_wait']:.1%}" if ours and "data_wait" in ours else ""
        cells = [preset, rate(ours), waits, *(peer(each) for each in peers), times]
        yield f"| {' | '.join(cells)} |"


def rate(arm: Result | None) -> str:
    """Tokens a second, with those of the slowest and the fastest repetition."""
    if not arm:
        return ""
    each = arm.get("each") or [arm["tokens_per_second"]]
    return f"{thousands(arm['tokens_per_second'])} ({thousands(min(each))} to {thousands(max(each))})"


def peer(arm: Result | None) -> str:
    """The same with the number of sentences in a batch."""
    return f"{rate(arm)}, batches of {arm['batch']}" if arm else ""


def thousands(number: float) -> str:
    """A number of thousands, or of millions."""
    return f"{number / 1e6:.2f}M" if number >= 999_500 else f"{number / 1e3:.3g}k"


def race_rows(result: Result) -> Iterator[str]:
    """A row for each set of lines."""
    theirs, training = result["peer"], result["arms"].get("training")
    after = f"{theirs['training_seconds']:.0f} s ({theirs['card']})"
    yield "| dev lines | trimtab, BLEU / chrF | after | HF Trainer, BLEU / chrF | after |"
    yield "|---|---|---|---|---|"
    for kind, scores in theirs["scores"].items():
        ours = result["arms"].get(kind)
        if ours and training:
            mine = f"{ours['BLEU']['value']:.1f} / {ours['chrF']['value']:.1f}"
            yield (
                f"| {kind} ({ours['lines']:,}) | {mine} | {training['race_seconds']:.0f} s | "
                f"{scores['BLEU']:.1f} / {scores['chrF']:.1f} | {after} |"
            )


def beam_rows(result: Result) -> Iterator[str]:
    """A row for each engine."""
    yield f"{result['lines']:,} lines, beam {result['beam']}, the same weights:"
    yield ""
    yield "| engine | seconds | sentences/s | BLEU / chrF | times as long as trimtab | setting |"
    yield "|---|---|---|---|---|---|"
    for name, arm in result["arms"].items():
        times = result.get("times_as_fast", {}).get(name, 1.0)
        yield (
            f"| {name} | {arm['wall_seconds']:.2f} | {arm['sentences_per_second']:,.0f} | "
            f"{arm['BLEU']:.1f} / {arm['chrF']:.1f} | {times:.1f} | {arm['setting']} |"
        )


def precision_rows(result: Result) -> Iterator[str]:
    """A row for each precision."""
    yield f"{result['steps']} steps of the {result['preset']} preset from the same seed:"
    yield ""
    yield "| precision | loss, last 20 steps | loss, validation | tokens/s | peak GiB |"
    yield "|---|---|---|---|---|"
    for name, arm in result["arms"].items():
        valid = ", ".join(f"{kind} {loss:.4f}" for kind, loss in arm.get("valid_loss", {}).items())
        bits = {True: ", same bits twice", False: ", other bits the second time"}.get(
            arm.get("same_bits_twice"), ""
        )
        yield (
            f"| {name}{bits} | {arm['mean_of_last_20_losses']:.4f} | {valid} | {rate(arm)} | "
            f"{arm.get('peak_gib', '')} |"
        )


def pipeline_rows(result: Result) -> Iterator[str]:
    """A row for each number of workers."""
    names = [name.split(", ") for name in result["arms"]]
    kinds, counts = (list(dict.fromkeys(each)) for each in zip(*names, strict=True)) if names else ([], [])
    yield f"| from raw text | {' | '.join(counts)} | times what the GPU takes in |"
    yield "|---" * (len(counts) + 2) + "|"
    for kind in kinds:
        arms = [result["arms"].get(f"{kind}, {count}") for count in counts]
        need = result.get("times_the_need", {}).get(kind, "")
        cells = (thousands(arm["tokens_per_second"]) if arm else "" for arm in arms)
        yield f"| {kind} | {' | '.join(cells)} | {need} |"


if __name__ == "__main__":
    main()
