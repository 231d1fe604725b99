"""The page in Debian's Chromium, driven by Playwright: `just slow`, where both are installed."""

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.report.folder_of_a_run import (
    HOSTILE,
    RECIPE,
    evaluation_line,
    finding_line,
    step_line,
    write_run,
)
from trimtab.lab.report import lab_html
from trimtab.report.page import page_html, report_of, write_page
from trimtab.report.run_data import open_run
from trimtab.report.sweep import sweep_html
from trimtab.report.watch import start_watching

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
playwright = pytest.importorskip("playwright.sync_api", reason="drives a browser: pip install playwright")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="drives a browser: apt-get install chromium"),
]
READY = "() => document.documentElement.dataset.ready"
DRAWN = "key => { const c = trimtabPage.charts.get(key); return c.plot && !c.isStale; }"
BLUE = """key => {
  const {ctx} = trimtabPage.charts.get(key).plot, {width, height} = ctx.canvas;
  const {data} = ctx.getImageData(0, 0, width, height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 60 && data[i + 2] - data[i] > 40) count++;
  return count;
}"""
SPAN = "() => { const {min, max} = trimtabPage.charts.get('loss').plot.scales.x; return [min, max]; }"


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Any]:
    """A browser with a profile of its own."""
    profile = tmp_path_factory.mktemp("profile")
    with playwright.sync_playwright() as tool:
        context = tool.chromium.launch_persistent_context(
            str(profile), executable_path=CHROMIUM, args=FLAGS, viewport={"width": 1280, "height": 900}
        )
        context.set_default_timeout(60_000)
        yield context
        context.close()


@pytest.fixture
def opened(browser):
    """Opens a page that is ready; it fails where a script does, and keeps every request that it makes."""
    pages = []

    def run(url: str) -> Any:
        page = browser.new_page()
        page.faults, page.asked = [], []
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(url)
        page.wait_for_function(READY)
        pages.append(page)
        return page

    yield run
    for page in pages:
        assert page.faults == []
        page.close()


@pytest.fixture
def report(opened, tmp_path):
    """Opens the report of runs from the disk."""

    def run(*runs: Path) -> Any:
        write_page([open_run(each) for each in runs], tmp_path / "report.html")
        return opened((tmp_path / "report.html").as_uri())

    return run


def drawn(page, key="loss"):
    page.locator(f"#chart-{key}").scroll_into_view_if_needed()
    page.wait_for_function(DRAWN, arg=key)
    page.wait_for_timeout(200)


def test_curves_are_drawn_and_nothing_is_loaded(report, tmp_path):
    page = report(write_run(tmp_path / "my"))
    for key in ("loss", "chrf", "grad_norm"):
        drawn(page, key)
        assert page.evaluate(BLUE, key) > 100
    assert {url.partition(":")[0] for url in page.asked} <= {"file", "data", "blob"}


def test_text_from_data_runs_nothing(report, tmp_path):
    names = [{HOSTILE: 1.0, **step_line(step)} for step in (1, 2)]
    page = report(write_run(tmp_path / "my", metrics=names))
    assert page.title() == "my – trimtab"
    assert page.locator(".quarantined .text").first.inner_text().startswith("<script>")
    page.locator("details.group > summary").click()
    page.wait_for_timeout(300)
    assert page.title() == "my – trimtab"
    assert page.locator("#charts img, #charts script").count() == 0


def test_zoom_reaches_every_chart_and_ends_with_the_whole_run(report, tmp_path):
    page = report(write_run(tmp_path / "my"))
    drawn(page)
    box = page.locator("#chart-loss .u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 40, steps=4)
    page.mouse.up()
    low, high = page.evaluate(SPAN)
    assert 60 < low < 90
    assert 130 < high < 170
    drawn(page, "grad_norm")
    assert page.evaluate("() => trimtabPage.charts.get('grad_norm').plot.scales.x.min") == pytest.approx(low)
    page.locator("#whole").click()
    assert page.evaluate(SPAN) == [1, 300]


def test_everything_is_reached_by_keyboard(report, tmp_path):
    page = report(write_run(tmp_path / "my"))
    drawn(page)
    plot = page.locator("#chart-loss .plot")
    plot.focus()
    page.keyboard.press("End")
    assert page.locator("#announcer").inner_text().startswith("step 300: training")
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowRight")
    assert page.locator("#announcer").inner_text().startswith("step 11: training")
    page.keyboard.press("+")
    assert page.evaluate(SPAN)[1] < 200
    page.keyboard.press("0")
    assert page.evaluate(SPAN) == [1, 300]
    page.keyboard.press("l")
    assert page.evaluate("() => trimtabPage.charts.get('loss').log")
    page.keyboard.press("t")
    page.wait_for_timeout(200)
    table = page.locator("#chart-loss table")
    assert table.locator("tbody tr").count() == 50
    page.locator("#chart-loss .pages button").nth(1).press("Enter")
    assert table.locator("tbody th").first.inner_text() == "51"
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement === document.body"):
            return
    raise AssertionError("Tab does not come to the end of the page")


def test_the_controls_change_what_is_drawn(report, tmp_path):
    page = report(write_run(tmp_path / "my"))
    drawn(page)
    page.locator("#along").select_option("seconds")
    assert page.evaluate(SPAN) == pytest.approx([0.9, 270])
    page.locator("#along").select_option("tokens")
    assert page.evaluate(SPAN) == pytest.approx([500, 150_000])
    shown = "() => trimtabPage.charts.get('loss').plan.filter((each) => each.show).map((each) => each.part)"
    assert page.evaluate(shown) == ["single", "mean", "mean", "mean"]
    page.locator("#raw").uncheck()
    assert page.evaluate(shown) == ["mean", "mean", "mean"]
    page.locator("#chart-loss .key").first.click()
    page.wait_for_timeout(200)
    assert page.evaluate(BLUE, "loss") < 50
    assert page.locator("#chart-loss .key").first.get_attribute("aria-pressed") == "false"
    page.locator("#theme").click()
    assert page.evaluate("() => document.documentElement.dataset.theme") in ("dark", "light")


def test_a_comparison_draws_each_run(report, tmp_path):
    page = report(*(write_run(tmp_path / name) for name in "ab"))
    drawn(page)
    assert page.locator("#chart-loss .key").all_inner_texts()[0].startswith("a, training")
    assert page.evaluate("() => trimtabPage.charts.get('loss').spec.series.length") == 6


def test_every_spike_of_one_step_is_on_the_pixels(report, tmp_path):
    from benchmarks.report_million import HEIGHT, LOSS_JS
    from benchmarks.report_million import write_run as write_long_run

    chosen = write_long_run(tmp_path / "long", 30_000)
    page = report(tmp_path / "long")
    drawn(page)
    assert HEIGHT == 30
    assert all(count > 0 for count in page.evaluate(LOSS_JS, chosen))


def test_a_live_page_shows_new_steps_without_being_asked(opened, tmp_path):
    run = write_run(tmp_path / "my", steps=20)
    with start_watching(run, port=0) as server:
        page = opened(server.url)
        drawn(page)
        page.locator("#samples details").first.locator("summary").click()
        with open(run / "metrics.jsonl", "a") as file:
            file.write(json.dumps(step_line(21)) + "\n")
        page.wait_for_function("() => document.documentElement.dataset.newest === '21'")
        assert (
            page.evaluate(SPAN)[1] == 21
            or page.evaluate("() => trimtabPage.charts.get('loss').data[0].at(-1)") >= 21
        )
        assert page.locator("#samples details").first.evaluate("each => each.open")
        shutil.rmtree(run)
        page.wait_for_function("() => document.body.innerText.includes('its folder is gone')")
    page.wait_for_function("() => document.getElementById('live').textContent === 'no connection'")


def test_a_live_page_keeps_what_its_reader_does(opened, tmp_path):
    run = write_run(tmp_path / "my", steps=200, findings=[finding_line(100, code="S902")])
    with start_watching(run, port=0) as server:
        page = opened(server.url)
        drawn(page)
        plot = page.locator("#chart-loss .plot")
        plot.focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        before = page.evaluate("() => { window.plot = trimtabPage.charts.get('loss').plot; return 1; }")
        grow(page, run, 201)
        assert before
        assert page.evaluate("() => trimtabPage.charts.get('loss').plot === window.plot")
        assert page.evaluate("() => trimtabPage.charts.get('loss').at") == 1
        assert page.evaluate("() => document.activeElement.className") == "plot"
        finding = page.locator(".finding > summary").first
        finding.focus()
        page.keyboard.press("Enter")
        with open(run / "findings.jsonl", "a") as file:
            file.write(json.dumps(finding_line(150, code="S202", name="rate", severity="error")) + "\n")
        grow(page, run, 202)
        held = "() => [document.activeElement.tagName, document.activeElement.textContent.includes('S902')]"
        assert page.evaluate(held) == ["SUMMARY", True]
        opened_ones = (
            "() => [...document.querySelectorAll('.finding')].filter((e) => e.open).map((e) => e.dataset.key)"
        )
        assert sorted(page.evaluate(opened_ones)) == ["S202", "S902"]
        page.evaluate("() => getSelection().selectAllChildren(document.querySelector('#overview .what'))")
        grow(page, run, 203)
        assert page.evaluate("() => !getSelection().isCollapsed && getSelection().toString().length > 5")
        page.evaluate("() => getSelection().removeAllRanges()")
        page.wait_for_function(
            "() => document.querySelector('#overview .what').textContent.includes('step 203')"
        )


def grow(page, run, step):
    """One step more, until the page shows it."""
    with open(run / "metrics.jsonl", "a") as file:
        file.write(json.dumps(step_line(step)) + "\n")
    page.wait_for_function(f"() => document.documentElement.dataset.newest === '{step}'")


RED = """key => {
  const {ctx, bbox} = trimtabPage.charts.get(key).plot;
  const {data} = ctx.getImageData(bbox.left, bbox.top, bbox.width, 14);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 60 && data[i] - data[i + 2] > 60) count++;
  return count;
}"""


def test_numbers_that_are_not_finite_are_marked(report, tmp_path):
    lines = [step_line(step, **({"loss": "nan"} if step == 150 else {})) for step in range(1, 301)]
    page = report(write_run(tmp_path / "my", metrics=lines))
    drawn(page)
    assert page.evaluate(RED, "loss") > 10
    assert "not finite (1)" in page.locator("#chart-loss .readout").inner_text()
    assert "1 not finite" in page.locator("#chart-loss-text").inner_text()


def test_a_run_of_one_step_and_steps_between_gaps_are_seen(report, tmp_path):
    page = report(write_run(tmp_path / "one", steps=1, evaluations=[], health=[]))
    drawn(page)
    assert page.evaluate(BLUE, "loss") > 10
    lines = [step_line(step, **({"loss": "nan"} if step != 5 else {})) for step in range(1, 11)]
    page = report(write_run(tmp_path / "gaps", metrics=lines, evaluations=[], health=[]))
    drawn(page)
    assert page.evaluate(BLUE, "loss") > 10


def many_sets(folder):
    """A run with a hundred validation sets whose names are long."""
    rows = [
        evaluation_line(step, set=f"set {n} {'long ' * 9}") for step in (100, 200, 300) for n in range(100)
    ]
    return write_run(folder, evaluations=rows)


def test_of_a_hundred_sets_six_are_drawn_and_others_when_asked_for(report, tmp_path):
    page = report(many_sets(tmp_path / "my"))
    drawn(page)
    shown = "() => trimtabPage.charts.get('loss').plan.filter((each) => each.show && each.points).length"
    assert page.evaluate(shown) == 6
    page.locator("#chart-loss .more-keys > summary").click()
    page.locator("#chart-loss .more-keys .key").last.press("Enter")
    page.wait_for_timeout(200)
    assert page.evaluate(shown) == 7
    assert page.locator("#chart-loss .more-keys").evaluate("each => each.open")
    assert page.evaluate("() => document.activeElement.ariaPressed") == "true"
    head = page.locator("#scores thead button").first
    head.press("Enter")
    head.press("Enter")
    assert page.locator("#scores tbody th").first.inner_text().startswith("set 99")


def test_nothing_of_a_hostile_run_is_run(report, tmp_path):
    rows = [{"step": step, "set": HOSTILE, HOSTILE: 1.0, "loss": 2.0} for step in (1, 2)]
    names = [step_line(step, **{HOSTILE: 1.0, f"{HOSTILE}!": 2.0}) for step in (1, 2)]
    finding = finding_line(
        1, code=HOSTILE, message=HOSTILE, why=HOSTILE, fix=f"`{HOSTILE}`", severity="error"
    )
    folder = write_run(
        tmp_path / "<img src=x onerror=alert(1)>", metrics=names, evaluations=rows, findings=[finding]
    )
    page = report(folder, folder)
    page.on("dialog", lambda dialog: page.faults.append(dialog.message))
    page.evaluate("() => document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    end = "each.key(new KeyboardEvent('keydown', {key: 'End'}))"
    page.evaluate(f"() => trimtabPage.charts.forEach((each) => {{ each.draw(); {end}; }})")
    page.wait_for_timeout(300)
    assert page.title().startswith("<img src=x onerror=alert(1)>")
    assert page.locator("img, #charts script, [onerror], [onclick]").count() == 0
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len({*ids})
    assert {url.partition(":")[0] for url in page.asked} <= {"file", "data", "blob"}


def comparison(folder):
    """Two runs, one with everything and one of images with odd numbers."""
    odd = [step_line(step, **({"loss": "nan"} if step > 290 else {})) for step in range(1, 301)]
    recipe = RECIPE.replace("translation", "diffusion")
    other = write_run(folder / "b", metrics=odd, recipe=recipe, samples=[])
    (other / "samples").mkdir()
    (other / "samples" / "step-00000300.png").write_bytes(small_png())
    return write_run(folder / "a"), other


def small_png():
    """16 by 16 pixels."""
    written = io.BytesIO()
    Image.new("L", (16, 16), 128).save(written, format="PNG")
    return written.getvalue()


def page_of_sweep(folder):
    for number, rate in enumerate(("0.002", "0.02", "0.2")):
        write_run(folder / "runs" / str(number), recipe=RECIPE.replace("0.002", rate))
    return sweep_html(folder / "runs")


def page_of_lab(_):
    return lab_html(Path(__file__).parents[2] / "experiments")


def page_of_many_sets(folder):
    return page_html(report_of([open_run(many_sets(folder / "my"))]))


def page_of_comparison(folder):
    return page_html(report_of([open_run(each) for each in comparison(folder)]))


@pytest.mark.parametrize("made", [page_of_comparison, page_of_many_sets, page_of_sweep, page_of_lab])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(browser, tmp_path, made, scheme, width):
    axe = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.exists():
        pytest.skip("judges accessibility: npm install --no-save axe-core@4.14.1")
    (tmp_path / "page.html").write_text(made(tmp_path), encoding="utf-8", errors="backslashreplace")
    page = browser.new_page()
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto((tmp_path / "page.html").as_uri())
    page.evaluate("() => document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    if made in (page_of_comparison, page_of_many_sets):
        page.wait_for_function(READY)
        page.evaluate("() => trimtabPage.charts.forEach((each) => each.draw())")
    page.evaluate(axe.read_text(encoding="utf-8") + "; 1")
    found = page.evaluate("() => axe.run()")
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == []
    assert found["passes"]
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    page.close()
