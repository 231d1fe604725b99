"""Tables of results that tell how well something learns: averages of weights, a decoder alone, a language model."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Result = Mapping[str, Any]
SHOWN = 60
"""Words of a generated text that the page shows; the result file has all of it."""


def averaging_rows(result: Result) -> Iterator[str]:
    """A row for each kind of weights: mean over the seeds, lowest and highest, and its gain over the single best."""
    length = (
        f"{result['training_steps']:,} steps"
        if "training_steps" in result
        else f"{result['training_seconds']:g} s"
    )
    spread, seeds = result["spread"], len(result["arms"])
    yield f"{result['set']} dev lines, beam {result['beam']}; {length} of training, {seeds} {seeds_of(seeds)}:"
    yield ""
    yield "| weights | BLEU | change from the single best | chrF | change | loss | change |"
    yield "|---|---|---|---|---|---|---|"
    for kind, measures in spread.items():
        cells = [kind]
        for name, digits, finer in (("bleu", 1, 2), ("chrf", 1, 2), ("loss", 4, 4)):
            cells += [over(measures[name], digits), gained(measures[name]["against single best"], finer)]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from side_by_side(result)


def seeds_of(count: int) -> str:
    """The word for so many."""
    return "seed" if count == 1 else "seeds"


def over(told: Result, digits: int) -> str:
    """Mean, lowest and highest of the seeds."""
    return f"{told['mean']:.{digits}f} ({told['min']:.{digits}f} to {told['max']:.{digits}f})"


def gained(told: Result, digits: int) -> str:
    """The same of differences, with their signs."""
    return f"{told['mean']:+.{digits}f} ({told['min']:+.{digits}f} to {told['max']:+.{digits}f})"


def decoder_rows(result: Result) -> Iterator[str]:
    """A row for each model: its size, what it read, and its scores on each set."""
    arms: Sequence[Result] = list(result["arms"].values())
    sets = list(dict.fromkeys(name for arm in arms for name in arm["sets"]))
    timed = not result["side_by_side"]
    heads = ["model", "seed", "parameters", "tokens", "steps", *(["tokens/s"] if timed else [])]
    heads += [f"{name}: BLEU / chrF, loss" for name in sets]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for arm in arms:
        cells = [
            arm["kind"].replace("_", "-"),
            str(arm["seed"]),
            f"{arm['parameters'] / 1e6:.2f}M",
            f"{arm['tokens'] / 1e6:.1f}M",
            f"{arm['steps']:,}",
            *([f"{arm['tokens_per_second'] / 1e3:.3g}k"] if timed else []),
            *(scores(arm["sets"].get(name)) for name in sets),
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield (
        f"- Beam {result['beam']}; `prefix` reads the source in both directions, `causal` from left to right; one "
        "vocabulary for all."
    )
    yield from side_by_side(result)


def scores(told: Result | None) -> str:
    """BLEU and chrF, where the lines were translated, and the nats a target token."""
    if told is None:
        return ""
    texts = f"{told['BLEU']['value']:.1f} / {told['chrF']['value']:.1f}, " if "BLEU" in told else ""
    return f"{texts}{told['loss']:.4f}"


def side_by_side(result: Result) -> Iterator[str]:
    """Why there are no speeds."""
    if result["side_by_side"]:
        yield "- Trained side by side on one card, so that nothing is said of speed."


def language_model_rows(result: Result) -> Iterator[str]:
    """The training, a row for each set, and what it writes."""
    arms = result["arms"]
    training = arms.get("training")
    if training:
        yield (
            f"{training['parameters'] / 1e6:.1f}M parameters, {training['tokens'] / 1e6:.1f}M tokens in "
            f"{training['training_seconds']:.0f} s of training, compiling within them: "
            f"{training['tokens_per_second'] / 1e3:.3g}k tokens/s."
        )
        yield ""
    if "valid" in arms:
        yield "| text | tokens | bytes | perplexity per token | perplexity per byte | bits per byte |"
        yield "|---|---|---|---|---|---|"
        for name, told in arms["valid"]["sets"].items():
            yield (
                f"| {name} | {told['tokens']:,} | {told['bytes']:,} | {told['perplexity']:.2f} | "
                f"{told['byte_perplexity']:.4f} | {told['bits_per_byte']:.4f} |"
            )
        yield ""
    if "texts" in arms:
        yield (
            f"The first {SHOWN} words of its texts, sampled with temperature {arms['texts']['temperature']:g} and "
            f"top-p {arms['texts']['top_p']:g}:"
        )
        yield ""
        for each in arms["texts"]["texts"]:
            yield f"- **{plain(each['prompt'])}** {shortened(plain(each['text']))}"


def plain(text: str) -> str:
    """One line of text that Markdown leaves as it is."""
    return "".join(f"\\{sign}" if sign in "\\`*_<>[]|#" else sign for sign in " ".join(text.split()))


def shortened(text: str) -> str:
    """Its first words."""
    words = text.split(" ")
    return " ".join(words[:SHOWN]) + (" ..." if len(words) > SHOWN else "")
