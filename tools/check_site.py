"""Judges the built site as a browser shows it, and writes what it found to a file.

    just site-check

Follows every link of every page of `build/site/html`, then opens a page of each kind in Chromium, served from this
machine, at three widths, light and dark: violations that axe-core finds, requests to other hosts, pages that are wider
than the window, and errors of scripts. The keyboard alone has to reach the content, search for a rule and open it.
Exit code 1 if anything is wrong.
"""

import argparse
import functools
import http.server
import json
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

ROOT = Path(__file__).parent.parent
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
VIEWS = ((360, "light"), (1440, "light"), (820, "dark"))
"""Width in pixels and color scheme in which each page is opened."""
SAMPLE = {
    "first page": "index.html",
    "tour": "start/translator.html",
    "guide with images": "how_to/reports.html",
    "recipe": "recipe.html",
    "commands": "commands.html",
    "functions": "api/trimtab.html",
    "list of rules": "rules/index.html",
    "rule": "rules/S104.html",
    "tips": "tips/S0.html",
    "experiments": "lab.html",
    "measurements": "speed.html",
    "decision": "decisions/0035-the-site.html",
    "changes": "changelog.html",
    "not found": "404.html",
}
SHORTEN = """() => {
  const cut = (all, count) => [...all].slice(count).forEach(each => each.remove());
  cut(document.querySelectorAll("article > *"), 40);
  for (const each of document.querySelectorAll("article tbody")) cut(each.children, 12);
  for (const each of document.querySelectorAll("nav > ul")) cut(each.children, 25);
}"""
"""A long page repeats the same elements hundreds of times, and axe-core takes minutes for all of them."""
SEARCH_MS = 4_000
"""Time for the index to load and for the first answer, on a slow machine."""
LEFT_OUT = ("https:", "http:", "mailto:", "data:", "javascript:")


class Page(HTMLParser):
    """Where a page leads, what it loads, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes note of one element."""
        given = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        loaded = given.get("src") or (
            given.get("href") if tag == "link" and given.get("rel") != "canonical" else None
        )
        if loaded:
            self.loads.append(loaded)


def main() -> int:
    """Checks, prints, writes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--site", type=Path, default=ROOT / "build" / "site" / "html")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--shots", type=Path, help="folder for a picture of each page")
    given = parser.parse_args()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(given.site.rglob("*.html"))}
    result: dict[str, Any] = {
        "pages": len(pages),
        "links": sum(len(page.links) for page in pages.values()),
        "broken links": list(_broken(pages, given.site)),
        "loaded from other hosts": list(_loaded_elsewhere(pages, given.site)),
    }
    with _served(given.site) as base:
        result |= _in_browser(base, given.shots)
    given.out.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    wrong = {name: each for name, each in result.items() if isinstance(each, list) and each}
    print(json.dumps(wrong, indent=2, ensure_ascii=False) if wrong else f"{len(pages)} pages, nothing wrong")
    return bool(wrong)


def _broken(pages: dict[Path, Page], site: Path) -> Iterator[str]:
    for path, page in pages.items():
        if path.name == "404.html":  # served for any address, so its links begin at the host
            continue
        for link in (each for each in page.links + page.loads if not each.startswith(LEFT_OUT)):
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            where = f"{path.relative_to(site).as_posix()}: {link}"
            if not target.is_file():
                yield where
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{where} (no such anchor)"


def _loaded_elsewhere(pages: dict[Path, Page], site: Path) -> Iterator[str]:
    for path, page in pages.items():
        for each in page.loads:
            if each.startswith(("http:", "https:", "//")):
                yield f"{path.relative_to(site).as_posix()}: {each}"


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def _in_browser(base: str, shots: Path | None) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    found: dict[str, list[str]] = {
        "requests to other hosts": [],
        "wider than the window": [],
        "errors of scripts": [],
    }
    violations: list[str] = []
    opened = 0
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        version = browser.version
        for width, scheme in VIEWS:
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            for kind, name in SAMPLE.items():
                where = f"{name} at {width}, {scheme}"
                page = context.new_page()
                page.on("request", lambda each, w=where: _note_request(each.url, base, w, found))
                page.on("pageerror", lambda each, w=where: found["errors of scripts"].append(f"{w}: {each}"))
                page.goto(urljoin(base, name))
                page.wait_for_timeout(150)
                if page.evaluate("document.scrollingElement.scrollWidth > innerWidth"):
                    found["wider than the window"].append(where)
                if shots is not None:
                    shots.mkdir(parents=True, exist_ok=True)
                    page.screenshot(path=str(shots / f"{kind}_{width}_{scheme}.png".replace(" ", "_")))
                violations += _violations(page, where)
                page.close()
                opened += 1
            context.close()
        keyboard = _by_keyboard(browser, base)
        browser.close()
    return {
        "chromium": version,
        "axe-core": json.loads((AXE.parent / "package.json").read_text(encoding="utf-8"))["version"],
        "kinds of pages": len(SAMPLE),
        "views": ", ".join(f"{width} {scheme}" for width, scheme in VIEWS),
        "pages opened": opened,
        "judged of a page": "its first 40 blocks, 12 rows of a table, 25 entries of a list of pages",
        "axe violations": violations,
        "by keyboard": keyboard,
        **found,
    }


def _note_request(url: str, base: str, where: str, found: dict[str, list[str]]) -> None:
    if not url.startswith((base, "data:", "blob:")):
        found["requests to other hosts"].append(f"{where}: {url}")


def _violations(page: Any, where: str) -> list[str]:
    page.evaluate(SHORTEN)
    page.evaluate(AXE.read_text(encoding="utf-8") + "; 1")
    told = page.evaluate("() => axe.run({resultTypes: ['violations'], preload: false})")
    return [
        f"{where}: {each['id']}: {each['nodes'][0]['target'][0]} ({len(each['nodes'])} places)"
        for each in told["violations"]
    ]


def _by_keyboard(browser: Any, base: str) -> list[str]:
    """What the keyboard alone cannot do."""
    wrong = []
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(urljoin(base, "how_to/fit.html"))
    page.wait_for_timeout(500)
    page.keyboard.press("Tab")
    if "skip" not in str(page.evaluate("document.activeElement.className")):
        wrong.append("the first Tab does not reach a link to the content")
    seen = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        shown = page.evaluate(
            "() => { const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();"
            " return [e.outerHTML.slice(0, 60), s.outlineStyle, r.width]; }"
        )
        seen.add(shown[0])
        if shown[1] == "none" and shown[2]:
            wrong.append(f"no mark of the focus: {shown[0]}")
    if len(seen) < 10:
        wrong.append(f"Tab reaches only {len(seen)} elements")
    page.keyboard.press("Control+k")
    page.wait_for_timeout(500)
    page.keyboard.type("warmup-longer-than-run")
    page.wait_for_timeout(SEARCH_MS)
    page.keyboard.press("Enter")
    page.wait_for_timeout(SEARCH_MS)
    if not urlsplit(page.url).path.endswith("/S104.html"):
        wrong.append(f"searching for a rule and Enter leads to {urlsplit(page.url).path}")
    context.close()
    return wrong


if __name__ == "__main__":
    sys.exit(main())
