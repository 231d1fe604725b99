"""Reads images of text lines with ONNX Runtime: `python read_lines.py line1.png line2.png`.

An export writes this file into its folder as `read_lines.py`. It needs numpy, Pillow and onnxruntime, and nothing else.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from PIL import Image, ImageOps

BLANK = 0


class LineReader:
    """The graphs of a folder. Several threads may use it at once."""

    def __init__(
        self, folder: Path | str, *, threads: int = 1, spinning: bool = False, head: str | None = None
    ) -> None:
        """`threads` is how many threads compute one image; a server that reads several at once does best with 1.
        `spinning` lets threads that wait for work keep their cores busy: single calls take less time, and everything
        else on the machine more. `head` is `ctc` or `attention`, where the model has both."""
        folder = Path(folder)
        self.settings = json.loads((folder / "recognizer.json").read_text(encoding="utf-8"))
        heads = self.settings["heads"]
        if head is not None and head not in heads:
            raise ValueError(f"head: got {head!r}; the model has {' and '.join(heads)}")
        self.head = head or heads[0]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spinning else "0")
        names = ["encoder", *(["decoder"] if "attention" in heads else [])]
        self.encoder, *rest = (
            onnxruntime.InferenceSession(
                str(folder / f"{name}.onnx"), options, providers=["CPUExecutionProvider"]
            )
            for name in names
        )
        self.decoder: Any = rest[0] if rest else None

    def read(self, image: Path | str | np.ndarray) -> tuple[str, float]:
        """The text of an image (a path, or what `pixels_of` gives) and its confidence: the geometric mean of the
        probabilities of its characters, or of its columns where CTC reads them."""
        pixels = image if isinstance(image, np.ndarray) else self.pixels_of(image)
        ids, scores = self.by_columns(pixels) if self.head == "ctc" else self.by_decoder(pixels)
        names = self.settings["characters"]
        text = "".join(
            names[each - self.settings["special"]] for each in ids if each >= self.settings["special"]
        )
        return text, float(np.exp(np.mean(scores)))

    def pixels_of(self, path: Path | str) -> np.ndarray:
        """A file as the graph takes it, `height width channels`: upright, on white where it is transparent."""
        with Image.open(path) as opened:
            image = ImageOps.exif_transpose(opened)
        if image.mode.startswith("I;16"):  # Pillow would cut 16 bits off at 255
            image = Image.fromarray((np.asarray(image) // 257).astype(np.uint8))
        if "A" in image.mode or "a" in image.mode or "transparency" in image.info:
            over = image.convert("RGBA")
            image = Image.alpha_composite(Image.new("RGBA", over.size, "white"), over)
        if image.mode not in ("1", "L", "RGB"):
            image = image.convert("RGB")
        pixels = np.asarray(image.convert("L" if self.settings["channels"] == 1 else "RGB"))
        return pixels[..., None] if pixels.ndim == 2 else pixels

    def columns(self, pixels: np.ndarray) -> np.ndarray:
        """The log-probability of each id in each column, `columns ids`, by the CTC head."""
        return self.encoder.run(["log_probabilities"], {"image": pixels})[0]

    def by_columns(self, pixels: np.ndarray) -> tuple[list[int], Any]:
        """The best path of CTC: the likeliest id of each column, without blanks and what repeats the one before."""
        found = self.columns(pixels)
        best = found.argmax(1)
        kept = (best != BLANK) & np.concatenate([[True], best[1:] != best[:-1]])
        return best[kept].tolist(), found.max(1)

    def encoded(self, pixels: np.ndarray) -> dict[str, Any]:
        """What the decoder keeps of an image, by name; stays where ONNX Runtime has it."""
        names = [each.name for each in self.encoder.get_outputs() if each.name.startswith("source.")]
        binding = self.encoder.io_binding()
        binding.bind_cpu_input("image", pixels)
        for name in names:
            binding.bind_output(name)
        self.encoder.run_with_iobinding(binding)
        return dict(zip(names, binding.get_outputs(), strict=True))

    def by_decoder(self, pixels: np.ndarray) -> tuple[list[int], Any]:
        """A greedy search: the likeliest character after those before, until the end of the text."""
        settings, source = self.settings, self.encoded(pixels)
        cache, last, ids, scores = self.no_past(), settings["start"], [], []
        never = [settings[name] for name in ("pad", "start", "unknown")]
        for left in range(settings["max_tokens"], 0, -1):
            logits, cache = self.step(np.array([last]), source, cache)
            found = log_softmax(logits[-1])
            found[never] = -np.inf
            last = settings["end"] if left == 1 else int(found.argmax())
            scores.append(found[last])
            if last == settings["end"]:
                break
            ids.append(last)
        return ids, scores

    def no_past(self) -> dict[str, Any]:
        """The cache of a decoder that has written nothing."""
        shape = (1, self.settings["kv_heads"], 0, self.settings["head_size"])
        names = [each.name for each in self.decoder.get_inputs() if each.name.startswith("past.")]
        return {name: onnxruntime.OrtValue.ortvalue_from_numpy(np.empty(shape, np.float32)) for name in names}

    def step(
        self, tokens: np.ndarray, source: dict[str, Any], cache: dict[str, Any]
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The logits after each of these ids, `tokens ids`, and the cache with them in it, which is never copied."""
        binding = self.decoder.io_binding()
        patches = source["source.0.keys"].shape()[2]
        binding.bind_cpu_input("tokens", tokens.astype(np.int64).reshape(1, 1, -1))
        binding.bind_cpu_input("real", np.ones((1, patches), bool))
        for name, value in {**source, **cache}.items():
            binding.bind_ortvalue_input(name, value)
        outputs = ["logits", *(name.replace("past.", "present.") for name in cache)]
        for name in outputs:
            binding.bind_output(name)
        self.decoder.run_with_iobinding(binding)
        logits, *present = binding.get_outputs()
        return logits.numpy()[0, 0], dict(zip(cache, present, strict=True))


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Natural log-probabilities, along the last axis."""
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def main() -> None:
    """Prints path, tab, text for each image; exit status 1 if one cannot be read."""
    reader, failed = LineReader(Path(__file__).parent), False
    for name in sys.argv[1:]:
        try:
            text, _ = reader.read(name)
        except Exception as error:  # decoders of images raise errors of any kind
            sys.stderr.write(f"{name}: {' '.join(str(error).split())}\n")
            failed = True
            continue
        sys.stdout.write(f"{name}\t{text}\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
