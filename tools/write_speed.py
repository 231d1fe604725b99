"""Writes docs/speed.md, how fast it is, against whom, on what and by which command, from the results in benchmarks/.

python tools/write_speed.py
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from kernel_rows import loss_rows, share_rows
from quality_rows import averaging_rows, decoder_rows, language_model_rows

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "speed.md"
RESULTS = ROOT / "benchmarks"
QUESTIONS = (
    "translation_speed",
    "quality_race",
    "lm_speed",
    "loss_kernels",
    "beam_speed",
    "formats_on_cpu",
    "precision_table",
    "data_pipeline",
    "averaging",
    "decoder_only_translation",
    "lm_quality",
)
"""Names of the scripts; the results of one are the files that begin with its name."""
BEGINNINGS = {"formats_on_cpu": "formats_"}
"""Where they begin with something else."""

LIBRARIES = ("torch", "transformers", "ctranslate2", "onnxruntime")
QUIET = 0.25
"""Cores that other programs may use while something is timed on a CPU."""
SEARCHES = {
    "exact": "until no open hypothesis can win",
    "enough": "until as many have finished as the beam is wide",
}

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
        name: [
            json.loads(file.read_text(encoding="utf-8"))
            for file in sorted(folder.glob(f"{BEGINNINGS.get(name, name)}*.json"))
        ]
        for name in QUESTIONS
    }


def page(found: Mapping[str, Sequence[Result]]) -> str:
    """The whole page."""
    sections = {
        "translation_speed": ("Training", training_rows),
        "quality_race": ("Quality against training time", race_rows),
        "lm_speed": ("Language models: share of the GPU's peak", share_rows),
        "loss_kernels": ("Cross-entropy over a large vocabulary", loss_rows),
        "beam_speed": ("Translation", beam_rows),
        "formats_on_cpu": ("Export formats on a CPU", format_rows),
        "precision_table": ("Precision", precision_rows),
        "data_pipeline": ("The data pipeline alone", pipeline_rows),
        "averaging": ("Weight averaging", averaging_rows),
        "decoder_only_translation": ("Encoder-decoder or decoder-only", decoder_rows),
        "lm_quality": ("A language model", language_model_rows),
    }
    lines = [
        "# Speed",
        "",
        "`tools/write_speed.py` generates this page from the results in `benchmarks/`. Each figure is the median of",
        "its repetitions, which the result file lists. Tokens are real source and target tokens, without padding.",
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
    versions = [f"{key} {result[key]}" for key in LIBRARIES if key in result]
    card = result.get("processor", result["card"])
    commit, *changed = result["commit"].split(maxsplit=1)
    code = " ".join([commit[:10], *changed])
    yield f"{card}, {result['cores']} cores; {', '.join(versions)}; commit {code}."
    yield f"`{result['command']}`"
    if "remark" in result:
        yield f"- {result['remark']}"
    for each in result["failed"]:
        yield f"- {each['arm']} gave nothing: {' '.join(each['error'].split())[:160]}"


def training_rows(result: Result) -> Iterator[str]:
    """A row for each preset."""
    peers = "HF Trainer, default order | HF Trainer, grouped by length | Eole"
    yield f"| preset | trimtab, tokens/s | time waiting for data | {peers} | speedup over the fastest of them |"
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
    """The same with the size of a batch: sentences for the Trainer, tokens for Eole."""
    if not arm:
        return ""
    if "batch" in arm:
        return f"{rate(arm)}, batches of {arm['batch']}"
    tokens, _, pure = arm["tried"].partition(":")
    return f"{rate(arm)}, batches of {int(tokens):,} tokens" + (", weights in bf16" if pure else "")


def thousands(number: float) -> str:
    """A number of thousands, or of millions."""
    return f"{number / 1e6:.2f}M" if number >= 999_500 else f"{number / 1e3:.3g}k"


def race_rows(result: Result) -> Iterator[str]:
    """A row for each set of lines."""
    theirs, training = result["peer"], result["arms"].get("training")
    after = f"{theirs['training_seconds']:.0f} s ({theirs['card']})"
    yield "| dev lines | trimtab, BLEU / chrF | training time | HF Trainer, BLEU / chrF | training time |"
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
    heads = ("engine", "seconds, warm", "first pass", "sentences/s", "BLEU / chrF")
    yield f"| {' | '.join(heads)} | time relative to trimtab | setting |"
    yield "|---|---|---|---|---|---|---|"
    for name, arm in result["arms"].items():
        times = result.get("times_as_fast", {}).get(name, 1.0)
        yield (
            f"| {name} | {arm['wall_seconds']:.2f} | {arm['first_seconds']:.2f} | {arm['sentences_per_second']:,.0f} | "
            f"{arm['BLEU']:.1f} / {arm['chrF']:.1f} | {times:.1f} | {arm['setting']} |"
        )


def format_rows(result: Result) -> Iterator[str]:
    """What was translated, a row for each form, and how exact the exports are."""
    model = result["model"]
    yield (
        f"{model['preset'] or 'own sizes'}: {model['parameters'] / 1e6:.1f}M parameters, vocabulary of "
        f"{model['vocabulary']:,}; {result['lines']:,} lines, beam {result['beam']}, {result['threads']} threads; "
        f"each pass in a separate process."
    )
    yield ""
    heads = (
        "search ends",
        "output tokens/s",
        "lines/s",
        "load time",
        "memory: floor, loaded, peak",
        "on disk",
    )
    yield f"| form | {' | '.join(heads)} | BLEU / chrF | lines that differ from PyTorch | batch |"
    yield "|---" * (len(heads) + 4) + "|"
    for name, arm in result["arms"].items():
        cells = [
            name,
            SEARCHES[arm["search"]],
            *format_speeds(arm),
            f"{arm['floor_mib']:,.0f}, {arm['loaded_mib']:,.0f}, {arm['peak_mib']:,.0f} MiB",
            f"{arm['disk_mib']:,.1f} MiB",
            f"{arm['BLEU']['value']:.1f} / {arm['chrF']['value']:.1f}",
            f"{arm['unlike_pytorch']:.1%}" if "unlike_pytorch" in arm else "",
            arm["setting"],
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from format_remarks(result)


def format_speeds(arm: Result) -> list[str]:
    """Rates and loading; nothing where others had too much of the machine for them to mean something."""
    if arm["cores_used_by_others"] > QUIET:
        return ["machine busy", "", ""]
    slowest, fastest = min(arm["each"]), max(arm["each"])
    return [
        f"{arm['tokens_per_second']:,.0f} ({slowest:,.0f} to {fastest:,.0f})",
        f"{arm['lines_per_second']:,.1f}",
        f"{arm['load_seconds']:.1f} s",
    ]


def format_remarks(result: Result) -> Iterator[str]:
    """The proofs, how quiet the machine was, and what is compared with what."""
    for name, gate in result["exports"].items():
        loss, worst = gate["loss"], f"{gate['worst_token']:.0e}"
        found = f"beam search changes {gate['translated_otherwise']} lines"
        if loss:
            found = f"chrF {loss['chrf']:.1f} against the trainer's text, {loss['changed']:.1%} of the lines changed"
        yield f"- {name}: on {gate['lines']} lines a token's log-probability differs by {worst}; {found}."
    others = [arm["cores_used_by_others"] for arm in result["arms"].values()]
    if others:
        busy = f"{min(others):.1f} to {max(others):.1f}"
        yield f"- Other programs used {busy} of the {result['cores']} cores meanwhile; BLEU {signature_of(result)}."
    yield (
        "- Memory is resident memory: with the libraries alone, with the model loaded, and at its peak during "
        "translation. The batch size is in source tokens with padding for trimtab and CTranslate2 alone, in sentences "
        "for `generate`; it is the fastest of those we tried."
    )


def signature_of(result: Result) -> str:
    """That of BLEU, which is one for all forms."""
    return next(iter(result["arms"].values()))["BLEU"]["signature"]


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
    yield f"| from raw text, tokens/s | {' | '.join(counts)} | relative to what the GPU consumes |"
    yield "|---" * (len(counts) + 2) + "|"
    for kind in kinds:
        arms = [result["arms"].get(f"{kind}, {count}") for count in counts]
        need = result.get("times_the_need", {}).get(kind, "")
        cells = (thousands(arm["tokens_per_second"]) if arm else "" for arm in arms)
        yield f"| {kind} | {' | '.join(cells)} | {need} |"


if __name__ == "__main__":
    main()
