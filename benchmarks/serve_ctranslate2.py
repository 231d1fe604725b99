"""The peer of `serve_load.py`: CTranslate2 behind Python's own HTTP server, a thread for each connection.

    python benchmarks/serve_ctranslate2.py EXPORT --threads 2 --beam 4

EXPORT is a folder of `trimtab export RUN --to ctranslate2`. Each request is one call of `translate_batch`, as the model
card of the export shows it; the library itself runs as many requests at once as it has workers. Prints where it
answers.
"""

import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import ctranslate2
import sentencepiece


class Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    translate = None

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            status, answer = 200, {"translations": self.translate(body["lines"])}
        except RuntimeError as error:  # a line that is longer than the model has positions
            status, answer = 500, {"error": str(error)}
        answer = json.dumps(answer, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *words):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("export", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--beam", type=int, default=4)
    args = parser.parse_args()
    source, target = (
        sentencepiece.SentencePieceProcessor(model_file=str(args.export / f"{side}.spm"))
        for side in ("source", "target")
    )
    model = ctranslate2.Translator(str(args.export), inter_threads=args.threads, intra_threads=1)

    def translate(lines):
        rows = [source.encode(line, out_type=str) for line in lines]
        filled = [number for number, pieces in enumerate(rows) if pieces]
        longest = max((len(rows[number]) for number in filled), default=0)
        found = model.translate_batch(
            [rows[number] for number in filled],
            beam_size=args.beam,
            max_decoding_length=2 * longest + 11,
            min_decoding_length=0,
            disable_unk=True,
        )
        texts = [""] * len(lines)
        for number, each in zip(filled, found, strict=True):
            texts[number] = target.decode(each.hypotheses[0])
        return texts

    Handler.translate = staticmethod(translate)
    server = Server(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_address[1]}"
    print(f"ctranslate2 {ctranslate2.__version__} answers at {url}", file=sys.stderr, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
