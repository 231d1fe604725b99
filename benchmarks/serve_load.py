"""A server under load: is every answer right, does memory stay flat, how fast is it, and what do hostile requests do?

    python benchmarks/serve_load.py --minutes 10 --out benchmarks/serve_load.json
        [--run RUN] [--clients 64] [--peer-minutes 2] [--threads 2] [--beam 4] [--lines 2000] [--arms ...]

Without --run, `recipes/demo.yaml` is trained first, into --work (default runs/serve_load), or the run that is there is
taken. Clients send one to eight lines of the demo's own texts at a time, as a list, a text, or a stream, each as soon
as it has its last answer. Every answer is compared with what `trimtab translate` gives for the same lines. Where both
differ, the model's own scores of the two decide: within rounding it is a tie that the order of additions decided
(`ties`), else it is wrong. An answer that does not come, or not whole, is lost.

Beside them, hostile clients send bad JSON, huge bodies, wrong lengths, halves of requests, other sites' names, and
leave in the middle; each of these has one status that it must get. At the end SIGTERM comes while requests run: these
must be answered, and the server must end with code 143.

The arms: `trimtab serve RUN`, `trimtab serve --stop enough` of the same run exported for CTranslate2, and CTranslate2
behind Python's own HTTP server (`serve_ctranslate2.py`), which gets no hostile clients and no line that is longer than
its model can read. Server and clients share the machine's cores.
"""

import argparse
import asyncio
import json
import lzma
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

from record import Record

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "src" / "trimtab" / "demo" / "data"
TRIMTAB = [sys.executable, "-m", "trimtab"]
MOST_LINES, MOST_WORDS = 8, 14
"""Most lines of a request, and most words of a line."""
PATIENCE_S = 130
ENOUGH = ["--stop", "enough"]
"""The stopping rule of CTranslate2's own search."""
TIE = 1e-3
"""Difference of two scores, summed log-probabilities, that rounding can make."""
HOSTILE_CLIENTS = 4
GROWTH = 1.05
"""Memory at the end beside that in the middle, at most; in the first minutes batches of all shapes are still new."""
WARM_SECONDS = 120


def main():
    args = arguments()
    record = Record(
        args.out,
        question="a server under load: right, whole, flat, fast?",
        device="cpu",
        clients=args.clients,
        hostile_clients=HOSTILE_CLIENTS,
        beam=args.beam,
        threads=args.threads,
    )
    run = args.run or trained(args)
    export = exported(run, args.work)
    lines = texts(args.lines)
    servers = {
        "trimtab": ([*TRIMTAB, "serve", str(run)], run, args.minutes),
        "exported": ([*TRIMTAB, "serve", str(export), *ENOUGH], export, args.peer_minutes),
        "ctranslate2": (
            [sys.executable, str(ROOT / "benchmarks" / "serve_ctranslate2.py"), str(export)],
            export,
            args.peer_minutes,
        ),
    }
    for name in args.arms.split(","):
        command, model, minutes = servers[name]
        record.arm(name, lambda: arm(name, command, model, lines, minutes=minutes, args=args))  # noqa: B023
    served = [found for name, found in record.arms.items() if name != "ctranslate2"]
    is_well = all(map(well, served)) and not record.result["failed"]
    print("all well" if is_well else "NOT WELL", flush=True)
    return 0 if is_well else 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--peer-minutes", type=float, default=2.0)
    parser.add_argument("--out", required=True)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/serve_load"))
    parser.add_argument("--train", nargs="*", default=[], metavar="KEY=VALUE", help="of recipes/demo.yaml")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--arms", default="trimtab,exported,ctranslate2")
    parser.add_argument("--lines", type=int, default=2000, help="from which clients choose")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def well(found):
    """Whether what the issue asks for was seen."""
    return not (
        found["wrong"]
        or found["lost"]
        or found["refused"]
        or found["hostile_unexpected"]
        or found["exit_code"] != 143
        or not found["rss_mib"]["flat"]
    )


# What is served


def trained(args):
    run = args.work / "run"
    if not (run / "checkpoints").is_dir():
        recipe = str(ROOT / "recipes" / "demo.yaml")
        subprocess.run([*TRIMTAB, "train", recipe, *args.train, "--out", str(run)], check=True)
    return run


def exported(run, work):
    folder = work / "ctranslate2"
    if not (folder / "trimtab" / "export.json").exists():
        work.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [*TRIMTAB, "export", str(run), "--to", "ctranslate2", "--out", str(folder)], check=True
        )
    return folder


def texts(count):
    """Short lines of the sample, half of them never trained on; at the end an empty one and a very long one."""
    held = [line.split("\t")[0] for line in _lines(DEMO / "heldout.tsv.xz") + _lines(DEMO / "valid.tsv.xz")]
    seen = [line.split("\t")[1] for line in _lines(DEMO / "train.tsv.xz")]
    fitting = [line for line in [*held[: count // 2], *seen] if len(line.split()) <= MOST_WORDS]
    return [*list(dict.fromkeys(fitting))[: count - 2], "", " ".join(seen[:30])]


def _lines(path):
    return lzma.decompress(path.read_bytes()).decode("utf-8").splitlines()


def offline(model, lines, *, args, more):
    """What `trimtab translate` gives, by line."""
    given = "".join(line + "\n" for line in lines)
    command = [
        *TRIMTAB,
        "translate",
        str(model),
        "--beam",
        str(args.beam),
        "--threads",
        str(args.threads),
        *more,
    ]
    done = subprocess.run(command, input=given.encode(), stdout=subprocess.PIPE, check=True)
    return dict(zip(lines, done.stdout.decode().split("\n"), strict=False))


# One server


def arm(name, command, model, lines, *, minutes, args):
    is_ours = name != "ctranslate2"
    more = ENOUGH if ENOUGH[0] in command else []
    right = offline(model, lines if is_ours else lines[:-2], args=args, more=more)
    options = [
        "--threads",
        str(args.threads),
        "--beam",
        str(args.beam),
        *(["--port", "0"] if is_ours else []),
    ]
    log = args.work / f"{name}.log"
    with log.open("w", encoding="utf-8") as stderr:
        server = subprocess.Popen([*command, *options], stderr=stderr)
    try:
        url = ready(server, log)
        load = Load(url, server.pid, right, is_ours=is_ours, clients=args.clients, seed=args.seed)
        found = asyncio.run(load.run(minutes * 60))
        exit_code = server.wait(60)
    finally:
        server.kill()
        server.wait()
    if is_ours:
        found["wrong"], found["ties"] = judged(model, load.differing) if load.differing else (0, 0)
        found["exit_code"] = exit_code
    else:
        found["differing"] = sum(load.differing.values())
    return found


def ready(server, log):
    for _ in range(1200):
        if found := re.search(r"at (http://\S+)", log.read_text(encoding="utf-8")):
            return found[1]
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {log.read_text(encoding='utf-8')[-500:]}")


def judged(model, differing):
    """How many answers are wrong, and how many are ties, by the model's own scores."""
    import trimtab

    pairs = list(differing)
    sources = [line for line, *_ in pairs for _ in range(2)]
    targets = [text for _, *both in pairs for text in both]
    scores = [each.log_probability for each in trimtab.score(str(model), sources, targets)]
    wrong = ties = 0
    for pair, expected, got in zip(pairs, scores[::2], scores[1::2], strict=True):
        is_tie = abs(expected - got) <= TIE  # of what the model cannot read there is no number, and no tie
        ties, wrong = ties + differing[pair] * is_tie, wrong + differing[pair] * (not is_tie)
        if not is_tie:
            print("WRONG", expected, got, [text[:200] for text in pair], flush=True)
    return wrong, ties


class Load:
    """Clients of one server, and what became of their requests."""

    def __init__(self, url, pid, right, *, is_ours, clients, seed):
        self.place, self.pid, self.right, self.is_ours = urlsplit(url), pid, right, is_ours
        self.clients, self.seed = clients, seed
        self.lines = list(right)
        self.times, self.kinds, self.hostile, self.unexpected = [], Counter(), Counter(), Counter()
        self.differing = Counter()
        self.num_lines = self.lost = self.refused = 0
        self.rss = []
        self.is_over = False
        self.health = None

    async def run(self, seconds):
        begun = time.monotonic()
        clients = [asyncio.create_task(self.client(number)) for number in range(self.clients)]
        others = [asyncio.create_task(self.sample(begun))]
        if self.is_ours:
            others += [asyncio.create_task(self.villain(number)) for number in range(HOSTILE_CLIENTS)]
        await asyncio.sleep(seconds)
        taken = time.monotonic() - begun
        figures = self.figures(taken)
        if self.is_ours:
            self.health = (await self.exchange(request("GET", "/health")))[1]
            figures["health"] = {key: self.health[key] for key in ("requests", "lines_per_batch", "batches")}
        self.is_over = True
        os.kill(self.pid, signal.SIGTERM)  # while all clients wait for an answer
        for task in others:
            task.cancel()
        await asyncio.gather(*clients, *others, return_exceptions=True)
        return {**figures, "lost": self.lost, "refused": self.refused}

    def figures(self, seconds):
        times = sorted(self.times)
        shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
        return {
            "seconds": round(seconds, 1),
            "requests": len(times),
            "lines": self.num_lines,
            "lines_per_second": round(self.num_lines / seconds, 1),
            "requests_per_second": round(len(times) / seconds, 1),
            "latency_ms": {
                **{name: round(1000 * times[int(share * len(times))], 1) for name, share in shares.items()},
                "max": round(1000 * times[-1], 1),
            },
            "kinds": dict(self.kinds),
            "hostile": dict(sorted(self.hostile.items())),
            "hostile_unexpected": dict(self.unexpected),
            "rss_mib": self.memory(seconds),
        }

    def memory(self, seconds):
        """Memory of the server over the time; the trend is that of the second half."""
        half = self.rss[len(self.rss) // 2 :]
        trend = 0.0
        if len(half) > 2:
            trend = 60 * statistics.linear_regression(*zip(*half, strict=True)).slope
        values = [value for _, value in self.rss]
        thin = self.rss[:: max(1, len(self.rss) // 60)]
        return {
            "flat": seconds < WARM_SECONDS or values[-1] <= GROWTH * half[0][1],
            "first": values[0],
            "middle": half[0][1],
            "last": values[-1],
            "most": max(values),
            "mib_per_minute_in_the_second_half": round(trend, 3),
            "samples": [[round(at), value] for at, value in thin],
        }

    async def sample(self, begun):
        while True:
            status = Path(f"/proc/{self.pid}/status").read_text()
            self.rss.append(
                (time.monotonic() - begun, round(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024, 1))
            )
            await asyncio.sleep(1)

    # Clients that behave

    async def client(self, number):
        draw = random.Random(1000 * self.seed + number)
        streams = None
        while not self.is_over:
            lines = draw.choices(self.lines, k=draw.randint(1, MOST_LINES))
            kind = draw.choice(["lines", "text", "stream"]) if self.is_ours else "lines"
            body = {"lines": lines} if kind != "text" else {"text": "\n".join(lines)}
            sent = request("POST", "/translate", {**body, **({"stream": True} if kind == "stream" else {})})
            begun = time.monotonic()
            try:
                if streams is None:
                    streams = await self.connect()
                status, answer = await asyncio.wait_for(talk(streams, sent), PATIENCE_S)
            except (OSError, asyncio.IncompleteReadError, TimeoutError, ValueError) as error:
                if not self.is_over:
                    print("lost:", type(error).__name__, error, flush=True)
                    self.lost += 1
                elif self.was_cut_off(error):
                    self.lost += 1
                streams = await self.closed(streams)
                continue
            if status != 200:
                if not (self.is_over and status == 503):
                    print("refused:", status, answer, flush=True)
                    self.refused += 1
                    streams = await self.closed(streams)
                continue
            self.kinds[kind] += 1
            self.check(kind, lines, answer)
            if not self.is_over:
                self.times.append(time.monotonic() - begun)
                self.num_lines += len(lines)
        await self.closed(streams)

    def was_cut_off(self, error):
        """Whether an answer broke off while the server stopped; a connection that takes nothing new is no answer."""
        return self.is_ours and isinstance(error, asyncio.IncompleteReadError) and bool(error.partial)

    def check(self, kind, lines, answer):
        if kind == "text":
            found = answer["translation"].split("\n")
        elif kind == "stream":
            *events, end = answer
            found = [each["translation"] for each in events]
            if end != "[DONE]" or [each["line"] for each in events] != list(range(1, len(lines) + 1)):
                self.lost += 1
                return
        else:
            found = answer["translations"]
        if len(found) != len(lines):
            self.lost += 1
            return
        for line, text in zip(lines, found, strict=True):
            if text != self.right[line]:
                self.differing[line, self.right[line], text] += 1

    # Clients that do not

    async def villain(self, number):
        draw = random.Random(7000 * self.seed + number)
        while not self.is_over:
            name, sent, wanted = draw.choice(HOSTILE)
            try:
                status, answer = await self.exchange(sent(), leaves=wanted is None)
            except (OSError, asyncio.IncompleteReadError, TimeoutError, ValueError) as error:
                status, answer = type(error).__name__, None
            if self.is_over:
                return
            said = (
                isinstance(answer, dict)
                and {"what", "got", "allowed", "fix"} <= answer.get("error", {}).keys()
            )
            self.hostile[name] += 1
            if status != wanted or (wanted is not None and not said):
                self.unexpected[f"{name}: {status}"] += 1
            await asyncio.sleep(draw.uniform(0.05, 0.3))

    async def exchange(self, sent, *, leaves=False):
        """One request on a connection of its own. A client that leaves does so somewhere in its request."""
        streams = await self.connect()
        try:
            if leaves:
                streams[1].write(sent[: random.randint(0, len(sent))])
                await streams[1].drain()
                await asyncio.sleep(random.uniform(0, 0.05))
                streams[1].transport.abort()
                return None, None
            return await asyncio.wait_for(talk(streams, sent), PATIENCE_S)
        finally:
            await self.closed(streams)

    async def connect(self):
        return await asyncio.open_connection(self.place.hostname, self.place.port)

    async def closed(self, streams):
        if streams is not None:
            streams[1].close()
        if self.is_over:
            await asyncio.sleep(0)


def request(method, path, value=None, *lines, host="localhost", body=None, length=None):
    """The bytes of a request."""
    body = json.dumps(value).encode() if body is None else body
    own = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Content-Type: application/json", *lines]
    own.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join([*own, "", ""]).encode("latin-1") + body


async def talk(streams, sent):
    """Sends a request and reads the whole answer: its status, and its JSON or its events."""
    reader, writer = streams
    writer.write(sent)
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    status = int(head.split()[1])
    if found := re.search(r"content-length: (\d+)", head):
        body = await reader.readexactly(int(found[1]))
    else:
        body = b""
        while size := int(await reader.readuntil(b"\r\n"), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readexactly(2)
    if "text/event-stream" not in head:
        return status, json.loads(body)
    events = [each.removeprefix("data: ") for each in body.decode().split("\n\n") if each]
    return status, [each if each == "[DONE]" else json.loads(each) for each in events]


LINE = {"lines": ["Open the file."]}
HOSTILE = [
    ("bad JSON", lambda: request("POST", "/translate", body=b'{"lines": ['), 400),
    ("deep JSON", lambda: request("POST", "/translate", body=b"[" * 50_000), 400),
    ("not UTF-8", lambda: request("POST", "/translate", body=b'{"lines": ["\xff\xfe"]}'), 400),
    ("unknown key", lambda: request("POST", "/translate", {"linse": []}), 400),
    ("wrong type", lambda: request("POST", "/translate", {"lines": 7}), 400),
    ("tag that is none", lambda: request("POST", "/translate", {**LINE, "tags": ["<x>"]}), 400),
    ("huge body", lambda: request("POST", "/translate", body=b"a" * 3_000_000), 413),
    ("huge length", lambda: request("POST", "/translate", body=b"", length=10**15), 413),
    ("wrong length", lambda: request("POST", "/translate", LINE, length="-5"), 400),
    ("two lengths", lambda: request("POST", "/translate", LINE, "Content-Length: 3"), 400),
    ("no length", lambda: request("POST", "/translate", body=b""), 400),
    ("many lines", lambda: request("POST", "/translate", {"lines": ["a"] * 5000}), 413),
    ("long line", lambda: request("POST", "/translate", {"text": "a" * 100_000}), 413),
    ("other site's name", lambda: request("POST", "/translate", LINE, host="evil.example"), 403),
    ("other site's page", lambda: request("POST", "/translate", LINE, "Origin: http://evil.example"), 403),
    ("path traversal", lambda: request("GET", "/../../etc/passwd"), 404),
    ("method", lambda: request("DELETE", "/translate", LINE), 405),
    ("form", lambda: request("POST", "/translate", LINE, "Content-Type: text/plain"), 415),
    ("no HTTP", lambda: b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),
    ("huge head", lambda: request("POST", "/translate", LINE, "X: " + "a" * 100_000), 431),
    ("slow", lambda: request("POST", "/translate", LINE, length=1000), 408),
    ("leaves", lambda: request("POST", "/translate", {"lines": ["A long line. " * 20] * 20}), None),
    ("leaves a stream", lambda: request("POST", "/translate", {**LINE, "stream": True}), None),
]


if __name__ == "__main__":
    sys.exit(main())
