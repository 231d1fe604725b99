"""What help pages say beside the options themselves: examples, and the groups of options and of commands."""

from collections.abc import Mapping, Sequence

from trimtab.cli.help_page import OPTIONS

OTHER = "Other commands"

COMMAND_GROUPS: Mapping[str, Sequence[str]] = {
    "Start": ("demo", "init", "convert"),
    "Data": ("data", "tokenizer"),
    "Train": ("train", "fit", "find", "plan", "check", "report", "watch", "runs", "replay"),
    "Use a model": (
        *("translate", "generate", "classify", "recognise", "detect", "sample", "serve", "evaluate", "score"),
        *("average", "export", "shortlist", "vocabulary"),
    ),
    "Experiment": ("lab",),
    "Look up": ("explain", "rules", "schema", "completion", "doctor"),
}
"""The commands that `trimtab -h` lists, by title."""

OPTION_GROUPS: Mapping[str, Sequence[str]] = {
    "Resume": ("--resume", "--auto-resume", "--reset"),
    "Search": (
        "--beam",
        "--length-penalty",
        "--stop",
        "--n-best",
        "--no-repeat-ngram",
        "--ensemble-mode",
        "--shortlist",
    ),
    "Choice among candidates": ("--mbr", "--candidates", "--rerank", "--reverse-tag"),
    "Source factors": ("--factors",),
    "Forced words": ("--prefix", "--prefix-file", "--glossary"),
    "Sampling": ("--sample", "--temperature", "--top-k", "--top-p", "--epsilon", "--seed"),
    "Metrics": ("--metric", "--ter", "--comet", "--bleu-tokenizer"),
    "Comparison": ("--against", "--hypotheses", "--table"),
    "Rules": ("--select", "--ignore", "--strict", "--baseline", "--write-baseline"),
    "Fixes": ("--fix", "--changes-training", "--diff"),
    "Limits": (
        "--max-body",
        "--max-lines",
        "--max-characters",
        "--max-queue",
        "--max-connections",
        "--timeout",
    ),
    "Machine": ("--device", "--threads", "--batch-tokens", "--max-length"),
}
"""Options of the same title are listed together on each page; an option that is not here is under Options."""

EXAMPLES: Mapping[str, Sequence[str]] = {
    "": (
        "trimtab demo",
        "trimtab init > my.yaml",
        "trimtab train my.yaml --out runs/my",
        "trimtab translate runs/my < text.en > text.de",
    ),
    "demo": ("trimtab demo", "trimtab demo --minutes 1 --out runs/short"),
    "train": (
        "trimtab train my.yaml --smoke",
        "trimtab train my.yaml step.optimizer.learning_rate=3e-4 --out runs/my",
        "trimtab train my.yaml --out runs/my --auto-resume --quiet",
        "trimtab train my.yaml --out runs/my --resume --reset learning_rate step.optimizer.learning_rate=1e-4",
    ),
    "fit": (
        "trimtab fit my.yaml",
        "trimtab fit my.yaml --gpu rtx-4090",
        "trimtab fit my.yaml --gpu all",
        "trimtab fit my.yaml --gpu h100-80gb --ranks 4",
        "trimtab fit my.yaml --memory 24GB --ram 64GB --solve batch",
        "trimtab fit SmolLM2-135M-Instruct --gpu rtx-4090 step.tokens_per_micro_batch=4096",
    ),
    "plan": ("trimtab plan tasks many.yaml --gpus 64",),
    "plan tasks": (
        "trimtab plan tasks many.yaml --gpus 64 step.tokens_per_step=262144",
        "trimtab plan tasks many.yaml --gpus 8 --placement mine.json --json",
    ),
    "find": (
        "trimtab find learning-rate my.yaml",
        "trimtab find noise-scale runs/my@2000",
        "trimtab find micro-batch my.yaml",
    ),
    "find micro-batch": (
        "trimtab find micro-batch my.yaml",
        "trimtab find micro-batch my.yaml --memory 24GB data.max_tokens=512",
    ),
    "find learning-rate": (
        "trimtab find learning-rate my.yaml --plot rates.svg",
        "trimtab find learning-rate runs/my@last --steps 50 --lowest 1e-5 --highest 1e-2 --json",
    ),
    "find noise-scale": (
        "trimtab find noise-scale my.yaml",
        "trimtab find noise-scale runs/my@2000 --steps 32",
    ),
    "find rank": (
        "trimtab find rank lora.yaml",
        "trimtab find rank lora.yaml --memory 24GB data.max_tokens=4096",
    ),
    "translate": (
        "trimtab translate runs/my < text.en > text.de",
        "trimtab translate runs/my --input text.en --output text.de --beam 8",
        "trimtab translate runs/a runs/b --input text.en --n-best 5",
        "trimtab translate runs/many --direction en-de < text.en > text.de",
        "trimtab translate runs/my --adapter runs/medicine < text.en > text.de",
        "trimtab translate opus-mt-en-de --adapter adapter < text.en > text.de",
        "trimtab translate runs/my --mbr chrf < text.en > text.de",
        "trimtab translate runs/tagged --input text.en --output text.de --factors pos=text.pos",
        "trimtab translate runs/my --beam 16 --rerank reverse=runs/back:0.5 < text.en > text.de",
        "trimtab translate runs/my --input text.en --output text.de --glossary terms.tsv --alignments links.txt",
    ),
    "generate": (
        "trimtab generate runs/lm --prompt 'Once upon a time'",
        "trimtab generate runs/lm --input prompts.txt --temperature 0.7 --seed 1",
        "trimtab generate SmolLM2-135M-Instruct --adapter adapter --prompt 'Once upon a time'",
    ),
    "serve": (
        "trimtab serve runs/my",
        "trimtab serve runs/my --port 0 --threads 2 --max-lines 100",
    ),
    "classify": (
        "trimtab classify runs/labels < texts.txt",
        "trimtab classify all-MiniLM-L6-v2 --adapter runs/labels < texts.txt",
        "trimtab classify runs/classes image1.png image2.png",
    ),
    "recognise": (
        "trimtab recognise runs/ocr line1.png line2.png",
        "trimtab recognise runs/ocr scans --json",
        "trimtab recognise runs/ocr --score test/labels.tsv",
    ),
    "detect": (
        "trimtab detect runs/boxes page1.png page2.png",
        "trimtab detect runs/boxes scans --format coco --output results.json --draw drawn",
        "trimtab detect runs/boxes --score test/boxes.json",
    ),
    "sample": (
        "trimtab sample runs/digits --out samples",
        "trimtab sample runs/digits --class 3 --class 7 --count 4 --guidance 3 --seed 2 --out samples",
        "trimtab sample runs/digits --nearest --out samples",
        "trimtab sample runs/autoencoder --out reconstructions",
    ),
    "evaluate": (
        "trimtab evaluate runs/my --source dev.en --reference dev.de",
        "trimtab evaluate runs/my@last --source dev.en --reference dev.de --metric ter --json",
        "trimtab evaluate runs/my --against runs/old --source test.en --reference test.de --table both.tsv",
        "trimtab evaluate --hypotheses out.de --reference test.de",
        "trimtab evaluate runs/lm --text dev.txt",
    ),
    "score": ("trimtab score runs/my --source dev.en --target dev.de",),
    "average": ("trimtab average runs/my@2000 runs/my@2500 runs/my@3000 --out runs/average",),
    "export": (
        "trimtab export runs/my --to ctranslate2 --out my_ct2",
        "trimtab export runs/my --to hf --out my_hf",
        "trimtab export runs/lora --to peft --out adapter",
        "trimtab export runs/ocr --to onnx --out reader",
    ),
    "shortlist": (
        "trimtab shortlist runs/my --out my.shortlist",
        "trimtab shortlist runs/my --source other.en --target other.de --out other.shortlist",
    ),
    "vocabulary": (
        "trimtab vocabulary trim runs/my --keep-text train.en --keep-text train.de --out runs/small",
        "trimtab vocabulary extend runs/my --text law.en --text law.de --add 4000 --out runs/law_start",
    ),
    "vocabulary trim": (
        "trimtab vocabulary trim runs/my --keep-text train.en --keep-text train.de --out runs/small",
        "trimtab vocabulary trim nllb-200-distilled-600M --keep-text train.en --keep-text train.de --out nllb-en-de",
        "trimtab vocabulary trim runs/my --keep-text train.de --size 8000 --out runs/small --json",
    ),
    "vocabulary extend": (
        "trimtab vocabulary extend runs/my --text law.en --text law.de --add 4000 --out runs/law_start",
        "trimtab vocabulary extend SmolLM2-135M --text german.txt --add 8000 --out smollm2-de",
    ),
    "report": (
        "trimtab report runs/my",
        "trimtab report runs/my runs/other --out compare.html",
        "trimtab report --sweep runs",
        "trimtab report --lab experiments",
    ),
    "watch": ("trimtab watch runs/my", "trimtab watch runs/my --port 0"),
    "runs": ("trimtab runs", "trimtab runs experiments --sort best --filter finished", "trimtab runs --json"),
    "replay": ("trimtab replay runs/my --step 1200",),
    "lab": (
        "trimtab lab list",
        "trimtab lab run label_smoothing --parallel 4",
        "trimtab lab show label_smoothing",
    ),
    "lab list": ("trimtab lab list", "trimtab lab list --json"),
    "lab run": (
        "trimtab lab run label_smoothing --scale tiny --seeds 2",
        "trimtab lab run positions rms_norm --parallel 8 --budget 10m",
        "trimtab lab run all --parallel 8",
    ),
    "lab show": ("trimtab lab show label_smoothing",),
    "init": (
        "trimtab init > my.yaml",
        "trimtab init language_model --out lm.yaml",
        "trimtab init multilingual en de pt --data corpora --out many.yaml",
        "trimtab init multilingual en de pt ja zh --data corpora --groups 3 --denoise --out many.yaml",
    ),
    "schema": ("trimtab schema > recipe.schema.json",),
    "rules": ("trimtab rules",),
    "convert": ("trimtab convert config.yaml > my.yaml",),
    "check": (
        "trimtab check my.yaml",
        "trimtab check configs/ --strict --format github",
        "trimtab check my.yaml --fix --diff",
    ),
    "explain": (
        "trimtab explain S104",
        "trimtab explain step.optimizer.learning_rate",
        "trimtab explain 'loss is NaN'",
    ),
    "completion": (
        'eval "$(trimtab completion bash)"',
        'eval "$(trimtab completion zsh)"',
        "trimtab completion fish > ~/.config/fish/completions/trimtab.fish",
    ),
    "doctor": ("trimtab doctor", "trimtab doctor --json"),
    "tokenizer": ("trimtab tokenizer train --input train.en --input train.de --out tokenizer",),
    "tokenizer compare": ("trimtab tokenizer compare runs/a runs/b --input dev.en --input dev.de",),
    "tokenizer train": (
        "trimtab tokenizer train --input train.en --input train.de --out tokenizer",
        "trimtab tokenizer train --input train.en --out tokenizer --vocabulary-size 8000 --model bpe",
        "trimtab tokenizer train --input train.en --input train.de --out tokenizer --model superbpe",
    ),
    "data": (
        "trimtab data inspect my.yaml",
        "trimtab data clean my.yaml --out clean",
        "trimtab data render lines.txt --font /usr/share/fonts/truetype/dejavu --out images",
    ),
    "data render": (
        "trimtab data render lines.txt --font /usr/share/fonts/truetype/dejavu --out images",
        "trimtab data render lines.txt --font fonts --count 10000 --seed 2 --augment --out images",
    ),
    "data inspect": ("trimtab data inspect my.yaml", "trimtab data inspect my.yaml --json --limit 10000"),
    "data clean": (
        "trimtab data clean my.yaml --out clean",
        "trimtab data clean --source web.en --target web.de --source-language en --target-language de --out clean",
        "trimtab data clean --pairs memory.tmx --source en --target de",
    ),
}
"""Command lines that work, for each command; `` is trimtab itself."""


def group_of(options: Sequence[str]) -> str:
    """The title above an option, by one of its names."""
    return next((title for title, those in OPTION_GROUPS.items() if {*those} & {*options}), OPTIONS)


def commands_by_group(names: Sequence[str]) -> dict[str, list[str]]:
    """The commands under their titles; those of no group last."""
    found = {title: [name for name in those if name in names] for title, those in COMMAND_GROUPS.items()}
    known = {name for those in found.values() for name in those}
    found[OTHER] = [name for name in names if name not in known]
    return {title: those for title, those in found.items() if those}
