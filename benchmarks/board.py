"""Which decoder foresees held-out text best after 60 seconds of training on one card: trimtab's or autoresearch's?

    python benchmarks/board.py pack --mono CORPORA/mono --autoresearch CLONE --data board_data
    python benchmarks/board.py run --data board_data --out board.json [--minutes 9] [--seeds 5] [--gpus 1]
    python benchmarks/board.py run --data board_data --out board.json --tiny

`pack` needs a clone of github.com/karpathy/autoresearch, and its packages rustbpe and tiktoken. It writes one folder of
about 25 MB that a machine without a network can use: the text of all languages of CORPORA/mono, its documents shuffled;
a vocabulary of 8,192 pieces for each side, trained on that text (autoresearch's by its own prepare.py); and copies of
its train.py and prepare.py in which EDITS are made: 12 layers, this clock, this seed, PyTorch's attention in place of a
kernel from a hub, rows of half as many sequences at once, and the score of `board_peer.py`. The copies stay in that
folder, which belongs to nobody's repository. `run` needs torch, tiktoken and pyarrow, and a GPU.

The seeds are paired: `run` trains both sides with one seed, then with the next, each in a process of its own, and
writes `--out` after each. It begins no run that would not end within `--minutes`; the same command continues. With
`--gpus 2` two runs go on side by side. Ten runs of 60 seconds do not fit into ten minutes of one card: use two cards,
or call it twice. `--set KEY=VALUE` changes the recipe of trimtab's side. A third arm, `trimtab_adamw`, is the same
decoder with AdamW (`--arms`), and shows what Muon does.

The score is bits per byte of all held-out documents, read in rows of 2,048 tokens. Where the rules differ, they favour
autoresearch: its clock stops for the first eleven steps, in which it compiles and learns, while trimtab's compiles
within the 60 seconds (from a cache that a run before the first one fills); and the end symbol of each document counts
in trimtab's score alone. autoresearch's windows of half a row are whole rows here.

`--tiny` trains trimtab's side for three seconds on a CPU and edits autoresearch's scripts without running them.
"""

import argparse
import ast
import json
import lzma
import os
import random
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import board_peer

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "site")]  # as benchmarks/lab_on_gpu.py packs them

ARMS = ("autoresearch", "trimtab")
PIECES = 8192
PEER = "autoresearch"
SHARDS = {"train.txt.xz": "shard_00000.parquet", "dev.txt.xz": "shard_06542.parquet"}
"""Names that its prepare.py gives to the text that it trains on, and to the one that it holds out."""
DOCUMENTS_OF_A_GROUP = 1000

EDITS = {
    "train.py": (
        (r"(?ms)^from kernels import get_kernel$.*?^fa3 = .*?$", "import board_peer as fa3"),
        (r"(?m)^(from prepare import .*)$", r"\1\nTIME_BUDGET = fa3.SECONDS"),
        (r"(?m)^DEPTH = \d+", "DEPTH = 12"),
        (r"(?m)^DEVICE_BATCH_SIZE = \d+", "DEVICE_BATCH_SIZE = 64"),
        (r"torch\.manual_seed\(42\)", "torch.manual_seed(fa3.SEED)"),
        (r"torch\.cuda\.manual_seed\(42\)", "torch.cuda.manual_seed(fa3.SEED)"),
        (
            r"evaluate_bpb\(model, tokenizer, DEVICE_BATCH_SIZE\)",
            "fa3.bits_per_byte(model, tokenizer.encode, start=tokenizer.get_bos_token_id())",
        ),
    ),
    "prepare.py": ((r"(?m)^import rustbpe$", "rustbpe = None"),),
}
"""What is replaced in a copy, each exactly once. Training a vocabulary, which needs rustbpe, is done by then."""

RECIPE = {
    "task": "language_model",
    "data": {
        "train": [{"text": "train.txt.xz"}],
        "valid": {"held_out": {"text": "dev.txt.xz"}},
        "tokenizer": {"kind": "byte_level_bpe", "path": "tokenizer"},
        "max_tokens": 2048,
        "workers": 4,
    },
    "model": {
        "kind": "decoder", "dim": 768, "heads": 6, "layers": 12, "feed_forward": 2048, "qk_norm": True,
    },
    "step": {
        "tokens_per_step": 131072,
        "tokens_per_micro_batch": 65536,
        "optimizer": {"kind": "muon", "learning_rate": 3.0e-3, "betas": [0.9, 0.95], "weight_decay": 0.1},
        "schedule": {"kind": "linear_warmup", "warmup": "20 steps"},
        "clip": {"kind": "global_norm", "at": 1.0},
        "compile": "on",
    },
    "evaluate": {"every": "1000000 steps", "samples": 0},
    "checkpoint": {"every": "1000000 steps", "keep": 1},
}  # fmt: skip
ADAMW = {"kind": "adamw", "learning_rate": 2.0e-3, "betas": [0.9, 0.95], "weight_decay": 0.1}
TINY = {
    "data.workers": 0,
    "data.max_tokens": 64,
    "model.dim": 32,
    "model.heads": 2,
    "model.layers": 1,
    "model.feed_forward": 64,
    "step.tokens_per_step": 512,
    "step.tokens_per_micro_batch": 512,
    "step.compile": "off",
}


def main():
    args = arguments()
    return args.call(args)


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    packing = commands.add_parser("pack")
    packing.add_argument(
        "--mono", type=Path, required=True, help="folders of languages with train.txt.xz and dev.txt.xz"
    )
    packing.add_argument(
        "--autoresearch", type=Path, help="a clone; without it, trimtab's side alone can run"
    )
    packing.set_defaults(call=pack)
    running = commands.add_parser("run")
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--minutes", type=float, default=9.0)
    running.add_argument("--seeds", type=int, default=5)
    running.add_argument("--gpus", type=int, default=1)
    running.add_argument("--arms", nargs="+", default=list(ARMS), choices=[*ARMS, "trimtab_adamw"])
    running.add_argument("--tiny", action="store_true")
    running.set_defaults(call=run)
    one = commands.add_parser("one", help="a single run of trimtab, which `run` calls")
    one.add_argument("--arm", required=True)
    one.add_argument("--seed", type=int, required=True)
    one.add_argument("--tiny", action="store_true")
    one.set_defaults(call=lambda args: print(json.dumps(trained(args))))
    for each in (packing, running, one):
        each.add_argument("--data", type=Path, required=True)
    for each in (running, one):
        each.add_argument("--seconds", type=float, default=60.0)
        each.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE")
    return parser.parse_args(given)


def pack(args):
    """Writes the folder that `run` reads."""
    args.data.mkdir(parents=True, exist_ok=True)
    for name in SHARDS:
        texts = [text for path in sorted(args.mono.glob(f"*/{name}")) for text in board_peer.documents(path)]
        random.Random(0).shuffle(texts)
        with lzma.open(args.data / name, "wt", encoding="utf-8", preset=1) as file:
            file.write("\n\n".join(text.strip("\n") for text in texts) + "\n")
        print(f"{name}: {len(texts)} documents, {(args.data / name).stat().st_size / 1e6:.1f} MB packed")
    if not (args.data / "tokenizer").exists():
        command = [
            sys.executable,
            "-m",
            "trimtab",
            "tokenizer",
            "train",
            "--input",
            str(args.data / "train.txt.xz"),
        ]
        command += [
            "--model",
            "byte_level_bpe",
            "--vocabulary-size",
            str(PIECES),
            "--out",
            str(args.data / "tokenizer"),
        ]
        subprocess.run(command, check=True, env=environment())
    if args.autoresearch is not None:
        pack_peer(args.autoresearch, args.data)


def pack_peer(clone, data):
    """Its vocabulary, trained by its own script, and the edited copies."""
    place = data / PEER
    place.mkdir(exist_ok=True)
    write_shards(data)
    shutil.copyfile(clone / "prepare.py", place / "prepare.py")
    if not (data / "home/.cache/autoresearch/tokenizer/tokenizer.pkl").exists():
        call = [sys.executable, "-c", "import prepare; prepare.train_tokenizer()"]
        subprocess.run(call, check=True, cwd=place, env=environment(HOME=str((data / "home").absolute())))
    for name in EDITS:
        text = (clone / name).read_text(encoding="utf-8")
        (place / name).write_text(edited(text, name), encoding="utf-8")
    shutil.rmtree(data / "home/.cache/autoresearch/data")  # `run` writes it again


def edited(text, name):
    """A script with the edits made."""
    for pattern, replacement in EDITS[name]:
        text, count = re.subn(pattern, replacement, text)
        if count != 1:
            raise SystemExit(
                f"{name}: not the script that this board knows\n  got     {count} places for {pattern}\n"
                "  allowed one\n  fix     check out a commit of March 2026, such as 228791f"
            )
    return text


def write_shards(data):
    """The text in the files that autoresearch reads, where they are not there yet."""
    folder = data / "home/.cache/autoresearch/data"
    folder.mkdir(parents=True, exist_ok=True)
    for name, shard in SHARDS.items():
        if not (folder / shard).exists():
            import pyarrow
            import pyarrow.parquet

            table = pyarrow.table({"text": board_peer.documents(data / name)})
            pyarrow.parquet.write_table(table, folder / shard, row_group_size=DOCUMENTS_OF_A_GROUP)


def run(args):
    """Trains what is missing, as long as there is time, and compares."""
    begun = time.monotonic()
    import torch
    from record import about

    found = json.loads(args.out.read_text()) if args.out.exists() else {}
    device = torch.device("cpu" if args.tiny else "cuda")
    runs = found.get("runs", {})
    result = {
        **about("bits per byte of held-out text after a minute of training on one card", device),
        "seconds_of_training": 3.0 if args.tiny else args.seconds,
        "set": args.set,
        "runs": runs,
    }
    if found and (found["seconds_of_training"], found["set"]) != (result["seconds_of_training"], args.set):
        raise SystemExit(f"{args.out}: its runs were made with other settings; name another file with --out")
    has_peer = (args.data / PEER).is_dir()
    arms = [arm for arm in args.arms if arm != PEER or (has_peer and not args.tiny)]
    if args.tiny and has_peer:
        for name in EDITS:
            ast.parse((args.data / PEER / name).read_text(), name)
        print("autoresearch's scripts are edited and can be read; they need a GPU to run")
    elif PEER in arms:
        write_shards(args.data)
    left = [
        (arm, seed) for seed in range(1, args.seeds + 1) for arm in arms if str(seed) not in runs.get(arm, {})
    ]
    if not args.tiny and any(arm != PEER for arm, _ in left) and not (args.data / "inductor").exists():
        print("filling the cache of compiled kernels")
        single(args, "trimtab", 0, 0, seconds=8.0)
    carry_out(args, left, result, begun=begun)
    print(json.dumps(result.get("comparison", {}), indent=1))
    unfinished = [each for each in left if str(each[1]) not in runs.get(each[0], {})]
    print(f"{len(unfinished)} runs are left: repeat the command" if unfinished else "complete")
    return 0


def carry_out(args, left, result, *, begun):
    """Runs on as many cards as there are, the next on the card that is free first."""
    cards, waiting, longest = Queue(), list(left), [result["seconds_of_training"] + (5 if args.tiny else 60)]
    for card in range(args.gpus):
        cards.put(card)

    def work():
        while waiting and time.monotonic() - begun + longest[0] < 60 * args.minutes:
            arm, seed = waiting.pop(0)
            card, started = cards.get(), time.monotonic()
            try:
                score = single(args, arm, seed, card)
            finally:
                cards.put(card)
            longest[0] = max(longest[0], time.monotonic() - started)
            result["runs"].setdefault(arm, {})[str(seed)] = score
            result["comparison"] = compared(result["runs"])
            part = args.out.with_suffix(".part")
            part.write_text(json.dumps(result, indent=1) + "\n")
            part.replace(args.out)
            print(f"{time.monotonic() - begun:4.0f} s  {arm} {seed}: {score}", flush=True)

    with ThreadPoolExecutor(args.gpus) as pool:
        for future in [pool.submit(work) for _ in range(args.gpus)]:
            future.result()


def single(args, arm, seed, card, *, seconds=None):
    """What one run in a process of its own says of itself."""
    seconds = seconds or (3.0 if args.tiny else args.seconds)
    place = args.data.absolute()
    env = environment(CUDA_VISIBLE_DEVICES="" if args.tiny else str(card))
    env |= {"TORCHINDUCTOR_CACHE_DIR": str(place / "inductor"), "TRITON_CACHE_DIR": str(place / "triton")}
    if arm == PEER:
        shutil.copyfile(board_peer.__file__, place / PEER / "board_peer.py")
        env |= {
            "BOARD_SECONDS": f"{seconds:g}",
            "BOARD_SEED": str(seed),
            "BOARD_DEV": str(place / "dev.txt.xz"),
        }
        env["HOME"] = str(place / "home")
        command, folder = [sys.executable, "train.py"], place / PEER
    else:
        command, folder = (
            [sys.executable, str(Path(__file__).resolve()), "one", "--data", str(place)],
            Path.cwd(),
        )
        command += ["--arm", arm, "--seed", str(seed), "--seconds", f"{seconds:g}"]
        command += (["--tiny"] if args.tiny else []) + (["--set", *args.set] if args.set else [])
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{arm} {seed} failed\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return peer_score(done.stdout) if arm == PEER else json.loads(done.stdout.splitlines()[-1])


def environment(**more):
    """Of a process that finds trimtab, here and where it was packed."""
    paths = [str(ROOT / "src"), str(ROOT / "site"), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))} | more


def peer_score(output):
    """What autoresearch prints at its end."""
    said = dict(re.findall(r"(?m)^(\w+):\s+([\d.]+)$", output))
    return {
        "bits_per_byte": float(said["val_bpb"]),
        "steps": int(said["num_steps"]),
        "tokens": round(1e6 * float(said["total_tokens_M"])),
        "training_seconds": float(said["training_seconds"]),
        "parameters": round(1e6 * float(said["num_params_M"])),
    }


def trained(args):
    """One run of trimtab, and its score."""
    import tempfile

    from timed_run import unchecked

    from trimtab.checkpoint.journal import read_journal
    from trimtab.config.load import load_recipe
    from trimtab.launch import train

    changes = {
        "data.root": str(args.data),
        "data.tokenizer.path": str(args.data / "tokenizer"),
        "seed": args.seed,
    }
    changes |= {"length": f"{args.seconds:g} seconds"}
    changes |= {"step.optimizer": ADAMW} if args.arm == "trimtab_adamw" else {}
    changes |= TINY if args.tiny else {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recipe.yaml"
        path.write_text(json.dumps(RECIPE | {"length": "1 steps"}))
        loaded = load_recipe(
            path, [f"{key}={json.dumps(value)}" for key, value in changes.items()] + args.set
        )
        with unchecked():
            state = train(loaded, out=Path(folder) / "run").state
        score = [*read_journal(Path(folder) / "run/evaluations.jsonl")][-1]
    return {
        "bits_per_byte": score["bits_per_byte"],
        "steps": state.step,
        "tokens": state.tokens,
        "training_seconds": round(state.seconds, 1),
    }


def compared(runs):
    """By how many bits per byte each arm of trimtab is below autoresearch, seed by seed; Muon and AdamW likewise."""
    from trimtab.lab.statistics import paired

    found = {}
    for arm, other in (("trimtab", PEER), ("trimtab_adamw", PEER), ("trimtab", "trimtab_adamw")):
        seeds = sorted(runs.get(arm, {}).keys() & runs.get(other, {}).keys(), key=int)
        if len(seeds) < 2:
            continue
        test = paired(
            [runs[other][seed]["bits_per_byte"] - runs[arm][seed]["bits_per_byte"] for seed in seeds]
        )
        wins = arm if test.low > 0 else other if test.high < 0 else "neither"
        found[f"{arm} against {other}"] = {
            "bits_per_byte_less": round(test.mean, 5),
            "interval": [round(test.low, 5), round(test.high, 5)],
            "p": test.p,
            "seeds": len(seeds),
            "wins": wins,
        }
    return found


if __name__ == "__main__":
    sys.exit(main())
