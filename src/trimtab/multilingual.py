"""`trimtab init multilingual`: a recipe for many translation directions from a folder of corpora, found by their names.

It does for one recipe what Mammoth's configuration generator does.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from os.path import relpath
from pathlib import Path, PurePath

from trimtab.config.language_codes import plain_code
from trimtab.data.cache import default_cache
from trimtab.data.language_similarity import grouped, profile
from trimtab.data.lines import open_lines
from trimtab.errors import InputError, Problem, input_error
from trimtab.progress import Progress, Silent

COMPRESSED = (".gz", ".xz", ".zst")
VALID = {"dev", "valid", "val", "validation", "tune", "tuning"}
TEST = {"test", "tst", "eval", "devtest", "heldout"}
MOST_FILES = 200_000
MIN_PAIRS_FOR_BASE = 500_000
"""Pairs of all languages together from which the base preset is proposed."""
LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[_-][A-Za-z0-9]{2,8})*")
YAML_KEYWORDS = {"no", "yes", "on", "off", "true", "false", "null", "y", "n", "nan"}
"""What a reader of YAML may take for something else, such as the code of Norwegian."""
WITHOUT_SPACES = {"zh", "ja", "th", "lo", "km", "my"}
BLEU_TOKENIZERS = {"zh": "zh", "ja": "char", "th": "char", "ko": "char"}
"""Of languages without spaces, or with spaces between phrases, as far as they need no other package."""


@dataclass(frozen=True, slots=True)
class FoundPair:
    """Two aligned files."""

    name: str
    """What tells it from others: its path without language and ending."""
    languages: tuple[str, str]
    paths: tuple[Path, Path]
    is_valid: bool
    lines: int


@dataclass(frozen=True, slots=True)
class Layout:
    """What the recipe trains."""

    languages: tuple[str, ...]
    directions: dict[str, tuple[str, str]]
    """Of the aligned files, by name."""
    groups: tuple[tuple[str, ...], ...]
    """Languages that share layers of the decoder."""
    texts: tuple[tuple[str, str, Path, int], ...]
    """Files to restore: the name and the language of each, and its number of lines."""

    @property
    def all_directions(self) -> dict[str, tuple[str, str]]:
        """The directions, and then those from a language to itself."""
        return self.directions | {f"{each}-{each}": (each, each) for _, each, _, _ in self.texts}

    def group_of(self, language: str) -> str | None:
        """The name of the layers that a language shares with others of its group."""
        group = next((each for each in self.groups if language in each), ())
        return "_".join(re.sub(r"[^A-Za-z0-9]", "", each) for each in group) if len(group) > 1 else None


def multilingual_recipe(
    languages: Sequence[str],
    *,
    data: Path | str,
    temperature: float = 5.0,
    groups: int | None = None,
    denoise: bool = False,
    out: Path | str | None = None,
    progress: Progress | None = None,
) -> str:
    """A recipe with a modular model that translates in both directions between the languages for which there are
    aligned files under `data`: `train.en` beside `train.de`, or `corpus.en-de.en.gz` beside `corpus.en-de.de.gz`.

    Files whose path says dev or valid are validation sets, those that say test are left out. Lines are counted once and
    kept in the cache. Paths in the recipe start from the folder of `out`, or from the working directory.

    With `groups`, the languages are clustered into this number of groups by the character n-grams of their words, and
    those of a group share decoder layers. With `denoise`, each language also has a direction to itself, which restores
    corrupted lines (Lewis et al. 2020, arXiv 1910.13461).

    Raises InputError for fewer than two languages, a language that is named twice, a folder without aligned files of a
    language, files with different numbers of lines, and groups that are not fewer than the languages.
    """
    languages = _checked(languages)
    if groups is not None and not 1 < groups < len(languages):
        raise input_error(
            "init multilingual: wrong number of groups",
            got=f"{groups} groups of {len(languages)} languages",
            allowed="at least 2 groups, and fewer than there are languages",
            fix="leave `--groups` out, or name more languages",
        )
    folder = Path(data)
    if not folder.is_dir():
        raise input_error(
            f"--data {folder}: no such folder",
            got="a file" if folder.exists() else "no file or folder at this path",
            allowed="the folder that the corpora are in",
            fix="name it",
        )
    pairs = _found(folder, languages, progress or Silent())
    trained = [pair for pair in pairs if not pair.is_valid]
    present = {language for pair in trained for language in pair.languages}
    if missing := [language for language in languages if language not in present]:
        raise input_error(
            f"{folder}: no aligned files for {', '.join(missing)}",
            got=", ".join(sorted({"-".join(pair.languages) for pair in trained})) or "no aligned files",
            allowed="two files in one folder with the same name but for the language: train.en and train.de",
            fix="name the files so, or leave the language out",
        )
    start = Path.cwd() if out is None else Path(out).absolute().parent
    layout = Layout(
        languages=tuple(languages),
        directions={f"{one}-{other}": (one, other) for pair in trained for one, other in _ways(pair)},
        groups=() if groups is None else tuple(_groups(trained, languages, groups)),
        texts=tuple(_texts(trained, languages)) if denoise else (),
    )
    return "\n".join(_recipe(layout, pairs, temperature=temperature, start=start)) + "\n"


def _checked(languages: Sequence[str]) -> list[str]:
    first: dict[str, str] = {}
    for language in languages:
        if LANGUAGE.fullmatch(language) is None:
            raise input_error(
                f"{language!r} is no language code",
                got=language,
                allowed="codes such as de or pt_BR, as they are in the names of the files",
                fix="write `trimtab init multilingual en de pt --data DIR`",
            )
        other = first.setdefault(plain_code(language), language)
        if other != language or languages.count(language) > 1:
            raise input_error(
                f"{language}: the language is named twice",
                got=" ".join(languages),
                allowed="each language once",
                fix=f"leave {language} out" if other != language else f"write {language} once",
            )
    if len(languages) < 2:
        raise input_error(
            "init multilingual: a direction has two languages",
            got=" ".join(languages) or "none",
            allowed="at least two languages",
            fix="write `trimtab init multilingual en de pt --data DIR`",
        )
    return list(languages)


def _found(folder: Path, languages: Sequence[str], progress: Progress) -> list[FoundPair]:
    """Aligned files of these languages, in the order of their names; InputError names all that are not aligned."""
    sides: dict[tuple[str, str], dict[str, Path]] = {}
    for path in _files(folder):
        for key, language in _readings(path.relative_to(folder), languages):
            sides.setdefault(key, {}).setdefault(language, path)
    pairs: list[FoundPair] = []
    problems: list[Problem] = []
    for (name, _), found in sorted(sides.items()):
        role = _role(name)
        if role == "test":
            continue
        for one, other in combinations([each for each in languages if each in found], 2):
            progress.message(f"counting the lines of {found[one]} and {found[other]}")
            counts = [len(open_lines(found[each], cache=default_cache())) for each in (one, other)]
            if counts[0] != counts[1]:
                problems.append(
                    Problem(
                        what=f"{found[one]} and {found[other]}: not aligned",
                        got=f"{counts[0]:,} and {counts[1]:,} lines",
                        allowed="as many lines in both",
                        fix="repair them, or move them out of the folder",
                    )
                )
            elif counts[0]:
                label = name if len(found) == 2 else f"{name} {one}-{other}"
                pairs.append(
                    FoundPair(label, (one, other), (found[one], found[other]), role == "valid", counts[0])
                )
    if problems:
        raise InputError(*problems)
    return pairs


def _files(folder: Path) -> Iterator[Path]:
    for number, path in enumerate(sorted(folder.rglob("*"))):
        if number >= MOST_FILES:
            raise input_error(
                f"--data {folder}: too many files",
                got=f"more than {MOST_FILES:,}",
                allowed="a folder of corpora",
                fix="name a folder further down",
            )
        if any("\ud800" <= letter <= "\udfff" for letter in str(path)):
            what, fix = f"--data {folder}: a file has a name that a recipe cannot contain", "rename the file"
            raise input_error(what, got=ascii(path.name), allowed="names in UTF-8", fix=fix)
        if path.is_file():
            yield path


def _readings(path: PurePath, languages: Sequence[str]) -> Iterator[tuple[tuple[str, str], str]]:
    """What a file may be: the name that it shares with its other side, and its language.

    The language is the ending before that of the compression (`train.en.xz`). With `.src` and `.tgt`, or `.source` and
    `.target`, it is a half of a word such as `en-de` in the name.
    """
    name = path.name
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    stem, dot, ending = name.rpartition(".")
    if not dot or not stem:
        return
    whole = (path.parent / stem).as_posix()
    if ending in languages:
        yield (whole, ""), ending
        return
    side = {"src": 0, "source": 0, "tgt": 1, "target": 1, "trg": 1}.get(ending)
    if side is None:
        return
    for word in re.split(r"[./_]", whole):
        halves = word.split("-")
        if len(halves) == 2 and all(half in languages for half in halves) and halves[0] != halves[1]:
            yield (whole, word), halves[side]
            return


def _role(name: str) -> str:
    words = set(re.split(r"[./_\- ]", name.lower()))
    if words & TEST:
        return "test"
    return "valid" if words & VALID else "train"


def _texts(pairs: Sequence[FoundPair], languages: Sequence[str]) -> Iterator[tuple[str, str, Path, int]]:
    """The files of each language, each once."""
    for language in languages:
        files: dict[Path, int] = {}
        for pair in pairs:
            if language in pair.languages:
                files[pair.paths[pair.languages.index(language)]] = pair.lines
        for number, (path, lines) in enumerate(files.items(), 1):
            yield f"{language} alone {number}", language, path, lines


def _groups(pairs: Sequence[FoundPair], languages: Sequence[str], count: int) -> Iterator[tuple[str, ...]]:
    files = {language: [path for _, _, path, _ in _texts(pairs, [language])] for language in languages}
    cache = default_cache()
    profiles = {
        language: profile(open_lines(path, cache=cache) for path in paths)
        for language, paths in files.items()
    }
    yield from grouped(profiles, count)


def _recipe(layout: Layout, pairs: Sequence[FoundPair], *, temperature: float, start: Path) -> Iterator[str]:
    languages = layout.languages
    trained = [pair for pair in pairs if not pair.is_valid]
    held = [pair for pair in pairs if pair.is_valid]
    total = sum(pair.lines for pair in trained)
    large = total >= MIN_PAIRS_FOR_BASE
    directions = layout.all_directions
    yield f"# Made by `trimtab init multilingual {' '.join(languages)}`."
    yield f"# {total:,} pairs of lines, {len(directions)} directions."
    yield from _INTRODUCTION
    yield "data:"
    yield "  # Both directions are read from the same files."
    yield "  train:"
    for pair in trained:
        source, target = (scalar(_path(path, start)) for path in pair.paths)
        there, back = (scalar("-".join(way)) for way in _ways(pair))
        both = "both_directions: true" + (f", reverse_direction: {back}" if there.count("-") > 1 else "")
        files = f"name: {scalar(pair.name)}, source: {source}, target: {target}"
        yield f"    - {{{files}, direction: {there}, {both}}}  # {pair.lines:,} lines"
    if layout.texts:
        yield "  # Monolingual text: the model learns to restore corrupted lines."
    for name, language, path, lines in layout.texts:
        text, direction = scalar(_path(path, start)), scalar(f"{language}-{language}")
        yield f"    - {{name: {scalar(name)}, text: {text}, direction: {direction}}}  # {lines:,} lines"
    yield "  # Above 1, small corpora are read more often than their size says (arXiv 1907.05019)."
    yield f"  temperature: {temperature:g}"
    yield from _valid(held, layout.directions, start)
    pieces = 32000 if large else 16000
    tokenizer = f"kind: sentencepiece, model: unigram, vocabulary_size: {pieces}, character_coverage: 0.9999"
    yield f"  tokenizer: {{{tokenizer}}}"
    yield "  transforms:"
    yield "    - {kind: ratio, max: 4.0}"
    yield from _denoising(layout)
    yield "  max_tokens: 200"
    yield ""
    yield from _model(layout, large=large)
    yield from _REST if held else [line for line in _REST if not line.startswith("evaluate")]


def scalar(text: str) -> str:
    """A text as YAML, in quotes wherever it might be read as something else."""
    is_plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_./+-]*", text) is not None
    return text if is_plain and text.lower() not in YAML_KEYWORDS else json.dumps(text, ensure_ascii=False)


def _ways(pair: FoundPair) -> tuple[tuple[str, str], tuple[str, str]]:
    one, other = pair.languages
    return (one, other), (other, one)


def _path(path: Path, start: Path) -> str:
    return PurePath(relpath(path.absolute(), start)).as_posix()


def _denoising(layout: Layout) -> Iterator[str]:
    """Words are removed where spaces are between them, else pieces."""
    for unit, spaced in (("words", True), ("pieces", False)):
        names = [
            scalar(name)
            for name, language, _, _ in layout.texts
            if (plain_code(language).partition("-")[0] not in WITHOUT_SPACES) == spaced
        ]
        if names:
            yield f"    - {{kind: denoise, unit: {unit}, only: [{', '.join(names)}]}}"


def _valid(held: Sequence[FoundPair], directions: dict[str, tuple[str, str]], start: Path) -> Iterator[str]:
    if not any(f"{a}-{b}" in directions for pair in held for a, b in _ways(pair)):
        yield "  # No files were found whose name says dev or valid: name some here, or nothing chooses a checkpoint."
        yield "  valid: {}"
        return
    yield "  valid:"
    names: set[str] = set()
    for pair in held:
        for number, (source, target) in enumerate(_ways(pair)):
            direction = f"{source}-{target}"
            if direction not in directions:
                continue
            files = pair.paths if number == 0 else pair.paths[::-1]
            name = direction if direction not in names else f"{direction} {pair.name}"
            names.add(name)
            read, written = (scalar(_path(path, start)) for path in files)
            own = "" if name == direction else f", direction: {direction}"
            cuts = BLEU_TOKENIZERS.get(plain_code(target).partition("-")[0])
            own += f", bleu_tokenizer: {cuts}" if cuts else ""
            yield f"    {scalar(name)}: {{source: {read}, target: {written}{own}}}"


def _model(layout: Layout, *, large: bool) -> Iterator[str]:
    encoder, shared, own = (6, 3, 3) if large else (3, 1, 2)
    yield "# All languages share the encoder and the lower layers of the decoder, which tags tell what to write; each"
    yield "# has upper layers of its own."
    if layout.groups:
        texts = "; ".join(", ".join(group) for group in layout.groups)
        yield f"# In between are layers that groups of languages with similar texts share: {texts}."
    yield "model:"
    yield "  kind: modular"
    yield f"  preset: {'base' if large else 'small'}"
    yield f"  encoder_components: {{shared: {encoder}}}"
    targets = dict.fromkeys(target for _, target in layout.all_directions.values())
    groups = dict.fromkeys(name for name in map(layout.group_of, targets) if name)
    parts = [f"shared: {shared}", *(f"{scalar(name)}: 1" for name in groups)]
    parts += [f"{scalar(each)}: {own - 1 if layout.group_of(each) else own}" for each in targets]
    yield f"  decoder_components: {{{', '.join(parts)}}}"
    yield "  directions:"
    for name, (source, target) in layout.all_directions.items():
        group = layout.group_of(target)
        named = f"source: {scalar(source)}, target: {scalar(target)}, " if name.count("-") > 1 else ""
        decoder = ", ".join(scalar(each) for each in ("shared", group, target) if each)
        stacks = f"encoder: [shared], decoder: [{decoder}]"
        yield f"    {scalar(name)}: {{{named}{stacks}, tags: [<2{target}>]}}"
    yield ""


_INTRODUCTION = """\
#
#   trimtab data inspect recipe.yaml       what is in the files, and what would be dropped
#   trimtab train recipe.yaml              the run; it becomes the folder runs/recipe
#   trimtab translate runs/recipe --direction en-de < text.en > text.de
#
# docs/how_to/many_languages.md explains components, directions and what can be done with each.

task: translation
""".splitlines()

_REST = """\
loss: {kind: cross_entropy, label_smoothing: 0.1}

step:
  # Target tokens of all directions together that one update of the weights is made from.
  tokens_per_step: 32768
  optimizer: {kind: adamw, learning_rate: 7.0e-4, betas: [0.9, 0.98], weight_decay: 0.01}
  schedule: {kind: linear_warmup, warmup: 500 steps}
  # The norm of the whole gradient. {kind: component} clips each component by itself, which changes its direction.
  clip: {kind: global_norm, at: 1.0}

length: 20000 steps
evaluate: {every: 1000 steps, metrics: [chrf], lines: 200}
checkpoint: {every: 1000 steps, keep: 3}
seed: 1""".splitlines()
