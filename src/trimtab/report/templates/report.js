"use strict";
// The page around the charts: arrays, axes, zoom, controls, and what is new on a live page.

class Page {
  constructor() {
    this.charts = new Map();
    this.along = "step";
    this.smoothing = 0.6;
    this.raw = true;
    this.span = null;
  }

  // Both at once: numbers of one state must never be looked up in the bytes of another.
  async take(data) {
    const bytes = await unpacked(data.data);
    this.bytes = bytes;
    this.data = data;
    const targets = new Set(data.runs.map((run) => run.targets));
    this.targets = targets.size === 1 ? [...targets][0] : "targets";
    this.arrays = new Map();
    this.axes = new Map();
  }

  // Bytes lie by weight: first the lowest of each number, then the next.
  array(place) {
    if (!this.arrays.has(place.at)) {
      const size = { f4: 4, f8: 8, u4: 4 }[place.kind], { n, at } = place;
      const plain = new Uint8Array(n * size);
      for (let b = 0; b < size; b++) for (let i = 0; i < n; i++) plain[i * size + b] = this.bytes[at + b * n + i];
      const typed = { f4: Float32Array, f8: Float64Array, u4: Uint32Array }[place.kind];
      this.arrays.set(place.at, Array.from(new typed(plain.buffer), (v) => (Number.isNaN(v) ? null : v)));
    }
    return this.arrays.get(place.at);
  }

  // Strictly rising, as uPlot needs it: time may stand still between steps of one look at the clock.
  axis(run, name) {
    const place = run.axes[name][this.along];
    if (!this.axes.has(place.at)) {
      let last = null;
      this.axes.set(place.at, this.array(place).map((value) => {
        last = last === null ? value ?? 0 : Math.max(value ?? 0, last + Math.max(1e-9, last * 1e-12));
        return last;
      }));
    }
    return this.axes.get(place.at);
  }

  skipPlaces(run) { return this.places(run, run.skips.map(([step]) => step)); }

  // Where steps are on the axis.
  places(run, chosen) {
    if (this.along === "step") return chosen;
    if (!run.axes.steps) return [];
    const steps = this.array(run.axes.steps.step), x = this.axis(run, "steps");
    return chosen.map((step) => x[Math.max(0, steps.findIndex((each) => each >= step))]);
  }

  range(low, high) {
    if (this.span) return this.span;
    const ends = this.data.runs.flatMap((run) => Object.keys(run.axes).flatMap((name) => {
      const x = this.axis(run, name);
      return x.length ? [x[0], x.at(-1)] : [];
    }));
    if (!ends.length) return [low ?? 0, high ?? 1];
    const [first, last] = [Math.min(...ends), Math.max(...ends)];
    return first === last ? [first - 1, last + 1] : [first, last];
  }

  // The first and the last index within what is shown.
  window(x) {
    const [low, high] = this.range(x[0], x.at(-1));
    let first = x.findIndex((each) => each >= low), last = x.length - 1;
    while (last > 0 && x[last] > high) last--;
    first = Math.max(0, first);
    return [Math.min(first, last), Math.max(first, last)];
  }

  zoom(low, high) {
    this.span = low === null || !(high > low) ? null : [low, high];
    document.getElementById("whole").disabled = this.span === null;
    const [first, last] = this.range(0, 1);
    for (const chart of this.charts.values()) {
      if (chart.isStale) continue;
      chart.plot.setScale("x", { min: first, max: last });
      if (chart.details.open) chart.fillTable();
    }
    this.tellResolution();
    this.announce(this.span ? `showing ${along(first, this.along, this.targets)} to ${along(last, this.along, this.targets)}` : "showing the whole run");
  }

  zoomAt(middle, factor) {
    const [low, high] = this.range(0, 1), half = ((high - low) * factor) / 2;
    this.span = null;
    const [first, last] = this.range(0, 1);
    const [a, b] = [Math.max(first, middle - half), Math.min(last, middle + half)];
    if (a <= first && b >= last) this.zoom(null); else this.zoom(a, b);
  }

  height(spec) { return innerWidth < 640 ? 200 : spec.key === "loss" ? 320 : 220; }

  announce(text) { document.getElementById("announcer").textContent = text; }

  // What zooming in cannot show.
  tellResolution() {
    const coarse = this.data.runs.filter((run) => run.width > 1);
    const text = coarse.length
      ? coarse.map((run) => `${this.data.runs.length > 1 ? `${run.name}: ` : ""}Each point stands for ${run.width.toLocaleString("en")} steps and keeps their lowest, highest and mean value, so no spike of a single step is lost. Zooming in cannot show the order of the steps within a point, nor the values between its extremes; metrics.jsonl in the run folder has them.`).join(" ")
      : "Every step is a point of its own.";
    document.getElementById("resolution").textContent = text;
  }

  draw() {
    const root = document.getElementById("charts"), groups = new Map();
    for (const spec of this.data.charts) {
      let chart = this.charts.get(spec.key);
      if (!chart) {
        chart = new Chart(spec, this);
        this.charts.set(spec.key, chart);
        let group = groups.get(spec.group) ?? root.querySelector(`[data-group="${CSS.escape(spec.group)}"]`);
        if (!group) {
          group = element(spec.group === "More" ? "details" : "div", { "data-group": spec.group, class: "group" },
            spec.group === "More" ? element("summary", { text: "More" }) : element("h3", { text: spec.group }), element("div", { class: "grid" }));
          if (spec.group === "More") group.addEventListener("toggle", () => this.charts.forEach((each) => each.resize()));
          const more = root.querySelector('[data-group="More"]');
          more ? more.before(group) : root.append(group);
        }
        groups.set(spec.group, group);
        group.querySelector(".grid").append(chart.figure);
      }
      chart.spec = spec;
    }
    if (!this.charts.size) root.replaceChildren(element("p", { class: "note", text: "No step was written yet." }));
    this.redraw();
    this.tellResolution();
  }

  redraw() { for (const chart of this.charts.values()) chart.redraw(); }

  controls() {
    const at = (id) => document.getElementById(id);
    at("along").addEventListener("change", (event) => { this.along = event.target.value; this.axes.clear(); this.span = null; this.zoomless(); });
    at("smoothing").addEventListener("input", (event) => {
      this.smoothing = +event.target.value;
      at("smoothing-value").textContent = event.target.value;
      cancelAnimationFrame(this.frame);
      this.frame = requestAnimationFrame(() => this.redraw());
    });
    at("raw").addEventListener("change", (event) => { this.raw = event.target.checked; this.redraw(); });
    at("whole").addEventListener("click", () => this.zoom(null));
    at("theme").addEventListener("click", () => {
      const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      this.redraw();
    });
    addEventListener("beforeprint", () => this.charts.forEach((each) => each.draw()));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  zoomless() { document.getElementById("whole").disabled = true; this.redraw(); }

  // Asks the server that sent this page for what is new, a few times a second.
  async follow() {
    const told = document.getElementById("live");
    let tag = "";
    for (;;) {
      try {
        const answer = await fetch("live", { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
        if (answer.status === 200) {
          tag = answer.headers.get("etag") ?? "";
          const news = await answer.json();
          await this.take(news.curves);
          this.draw();
          this.news = news;
        }
        for (const [name, html] of Object.entries(this.news.sections)) this.replace(name, html);
        if (answer.status === 200) document.documentElement.dataset.newest = this.news.newest;
        told.textContent = "live";
        told.className = "live";
      } catch {
        told.textContent = "no connection";
        told.className = "live lost";
      }
      await new Promise((done) => setTimeout(done, document.hidden ? 2000 : 250));
    }
  }

  // The server escapes what comes from data, as in the page itself. What is open stays open, what was scrolled stays
  // where it was, and the keyboard stays where it is. While text of the part is selected, it waits.
  replace(name, html) {
    const part = document.querySelector(`[data-part="${name}"]`), chosen = getSelection();
    if (!part || this.shown?.[name] === html) return;
    if (chosen && !chosen.isCollapsed && part.contains(chosen.anchorNode)) return;
    (this.shown ??= {})[name] = html;
    const before = new Map(named(part).map(([key, each]) => [key, { open: each.open, left: each.scrollLeft, top: each.scrollTop }]));
    const held = named(part).find(([, each]) => each === document.activeElement)?.[0];
    const sorted = [...part.querySelectorAll("table.sortable")].map((each) => {
      const head = each.querySelector("[aria-sort]");
      return head ? [head.cellIndex, head.getAttribute("aria-sort")] : null;
    });
    part.innerHTML = html;
    [...part.querySelectorAll("table.sortable")].forEach((each, n) => {
      if (!sorted[n]) return;
      const button = each.tHead.rows[0].cells[sorted[n][0]]?.querySelector("button");
      button?.click();
      if (sorted[n][1] === "descending") button?.click();
    });
    for (const [key, each] of named(part)) {
      const old = before.get(key);
      if (!old) continue;
      if (each.tagName === "DETAILS") each.open = old.open;
      each.scrollLeft = old.left;
      each.scrollTop = old.top;
      if (key === held) each.focus({ preventScroll: true });
    }
  }
}

async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// What can be opened, scrolled or focused in a part, each by its words: others may come before it.
function named(part) {
  const seen = new Map();
  return [...part.querySelectorAll("details, summary, a, button, pre, [tabindex]")].map((each) => {
    const words = each.dataset.key ?? each.closest("[data-key]")?.dataset.key ?? "";
    const own = each.getAttribute("aria-label") ?? (each.tagName === "PRE" ? "" : (each.querySelector("summary") ?? each).textContent.replace(/[\d.,]+/g, "").slice(0, 80));
    const key = `${each.tagName} ${words} ${own}`, times = seen.get(key) ?? 0;
    seen.set(key, times + 1);
    return [`${key} ${times}`, each];
  });
}

let trimtabPage;
async function start() {
  const page = (trimtabPage = new Page());
  await page.take(JSON.parse(document.getElementById("report-data").textContent));
  page.controls();
  page.draw();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
  if (page.data.live) page.follow();
}

start().catch((error) => {
  document.getElementById("charts").replaceChildren(element("p", { class: "note", text: `The curves cannot be drawn: ${error.message}. They need a browser of 2023 or later; the rest of the page does not.` }));
});
