"use strict";
// One chart: what is drawn, the cursor by keyboard, the numbers as text and as a table. Needs uPlot.

const COLOURS = ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7"];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const SYNC = uPlot.sync("trimtab");
const ROWS_OF_A_PAGE = 50;

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(Math.min(3, digits - 1));
  if (Number.isInteger(value) || size >= 1e4) return Math.round(value).toLocaleString("en");
  return String(+value.toPrecision(Math.max(digits, 3)));
}

function clock(seconds) {
  const s = Math.round(seconds), two = (n) => String(n).padStart(2, "0");
  const [h, m] = [Math.floor(s / 3600), Math.floor(s / 60) % 60];
  return h ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
}

function along(value, axis, targets) {
  if (value === null || value === undefined) return "–";
  if (axis === "seconds") return clock(value);
  return axis === "step" ? `step ${Math.round(value).toLocaleString("en")}` : `${number(value)} ${targets}`;
}

// An exponential mean that is right from its first point on; gaps stay gaps.
function smooth(values, weight) {
  if (!weight) return values;
  let mean = 0, sum = 0;
  return values.map((value) => {
    if (value === null) return null;
    mean = weight * mean + (1 - weight) * value;
    sum = weight * sum + (1 - weight);
    return mean / sum;
  });
}

class Chart {
  constructor(spec, page) {
    this.spec = spec;
    this.page = page;
    this.log = spec.log;
    this.hidden = new Set();
    this.known = 0;
    this.hideNew();
    this.at = null;
    this.tablePage = 0;
    const plain = `chart-${spec.key.replace(/[^\w-]/g, "_")}`;
    const id = document.getElementById(plain) || [...page.charts.values()].some((each) => each.figure.id === plain) ? `${plain}-${page.charts.size}` : plain;
    this.readout = element("div", { class: "readout" });
    this.scale = element("button", { type: "button", onclick: () => this.setLog(!this.log) });
    this.box = element("div", {
      class: "plot", tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-labelledby": `${id}-title`,
      "aria-describedby": `${id}-text`, onkeydown: (event) => this.key(event),
    });
    this.table = element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": `${spec.title} as a table` });
    this.details = element("details", { class: "numbers", ontoggle: () => this.fillTable() },
      element("summary", { text: "As a table" }), this.table);
    this.text = element("p", { id: `${id}-text`, class: "visually-hidden" });
    this.figure = element("figure", { id, class: spec.key === "loss" ? "chart wide" : "chart" },
      element("figcaption", {},
        element("h4", { id: `${id}-title`, text: spec.title }), element("small", { text: spec.unit }), this.scale),
      this.readout, this.box, this.text, this.details);
    this.setLog(this.log, false);
    this.isNear = false;
    this.isStale = true;
    new ResizeObserver(() => this.resize()).observe(this.box);
    // Drawn when it comes near the window, so that a page of thirty charts is ready at once.
    new IntersectionObserver(([entry]) => {
      this.isNear = entry.isIntersecting;
      if (this.isNear && this.isStale) this.draw();
    }, { rootMargin: "300px" }).observe(this.figure);
  }

  // Of many validation sets some are shown when asked for; bounds of the guards of several runs would lie over one another.
  hideNew() {
    const many = this.page.data.runs.length > 1;
    this.spec.series.slice(this.known).forEach((each, n) => { if (each.hidden || (many && each.bound)) this.hidden.add(this.known + n); });
    this.known = this.spec.series.length;
  }

  // Every series of uPlot with where it comes from. A curve of many steps a point is three: highest, lowest, mean.
  build() {
    const { page, spec } = this;
    const tables = [], plan = [], bands = [];
    spec.series.forEach((series, index) => {
      const run = page.data.runs[series.run];
      const x = page.axis(run, series.axis);
      const mean = page.array(series.mean), isTraining = series.axis === "steps" && !series.bound;
      const colour = this.colour(series, index), base = { series, colour };
      const visible = !this.hidden.has(index);
      const columns = [], weight = isTraining && spec.smooth ? page.smoothing : 0;
      const add = (values, part, options) => {
        const column = this.log ? values.map((v) => (v > 0 ? v : null)) : values;
        columns.push(column);
        // A number between two gaps is on no line.
        const lone = part === "mean" && !options.points && column.some((v, i) => v !== null && (column[i - 1] ?? null) === null && (column[i + 1] ?? null) === null);
        plan.push({ ...base, index, part, ...options, lone, show: visible && options.show !== false });
      };
      if (series.highest) {
        add(page.array(series.highest), "highest", { width: 1, alpha: 0.55, show: page.raw });
        add(page.array(series.lowest), "lowest", { width: 1, alpha: 0.55, show: page.raw });
        if (visible && page.raw) bands.push({ series: [plan.length - 1, plan.length], fill: fade(colour, 0.18) });
      } else if (isTraining) add(mean, "single", { width: 1, alpha: weight ? 0.45 : 0, show: page.raw || !weight });
      add(smooth(mean, weight), "mean", {
        width: series.bound ? 1 : 2, alpha: 1, auto: !series.bound, points: Boolean(series.points),
        dash: series.bound ? [4, 4] : DASHES[spec.series.length > 1 && page.data.runs.length > 1 ? series.run % 4 : 0],
      });
      tables.push([x, ...columns]);
    });
    this.plan = plan;
    this.bands = bands;
    return tables.length ? uPlot.join(tables) : [[]];
  }

  colour(series, index) {
    if (series.bound) return css("--muted");
    const many = this.page.data.runs.length > 1;
    const sets = [...new Set(this.spec.series.filter((s) => !s.bound).map((s) => s.label))];
    return css(COLOURS[(many ? series.run : sets.indexOf(series.label) + (series.points ? 0 : 0)) % COLOURS.length]);
  }

  // Draws now if anybody can see it, and otherwise when somebody can.
  redraw() {
    this.isStale = true;
    if (this.isNear) this.draw();
  }

  draw() {
    this.isStale = false;
    const { page } = this;
    this.hideNew();
    const data = this.build();
    // A live page brings numbers several times a second: the plot stays, with its cursor and a drag that has begun.
    const marks = [page.data.runs.map((run) => [run.skips.length > 0, Boolean(run.clips)]), this.spec.lines, this.spec.series.map((each) => each.num_odd)];
    const form = JSON.stringify([this.plan.map(({ series, ...each }) => [each, series.label]), this.bands, marks, this.log, page.along, css("--ink"), page.height(this.spec)]);
    if (this.plot && form === this.form) return this.renew(data);
    this.form = form;
    this.data = data;
    const ink = css("--ink-soft"), grid = css("--grid");
    const font = "12px system-ui, sans-serif";
    const options = {
      width: Math.max(200, this.box.clientWidth), height: page.height(this.spec), pxAlign: false,
      cursor: { sync: { key: SYNC.key, scales: ["x", null] }, drag: { x: true, y: false }, points: { size: 7 } },
      legend: { show: false },
      scales: { x: { time: false, range: (u, low, high) => page.range(low, high) },
        y: { distr: this.log ? 3 : 1, range: (u, low, high) => (this.log ? decades(low, high) : padded(low, high)) } },
      axes: [
        { stroke: ink, font, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid },
          values: (u, ticks) => ticks.map((t) => (page.along === "seconds" ? clock(t) : short(t))) },
        { stroke: ink, font, size: 56, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid },
          values: (u, ticks) => ticks.map((t) => (t === null ? "" : short(t))) },
      ],
      series: [{}, ...this.plan.map((each) => ({
        show: each.show, stroke: fade(each.colour, each.alpha), width: each.width, dash: each.dash, auto: each.auto !== false,
        // Not everything is measured at each evaluation; a gap in the log of steps is one.
        spanGaps: Boolean(each.points),
        points: { show: Boolean(each.points || each.lone), size: 6, fill: each.colour, stroke: each.colour, filter: each.lone ? lonePoints : undefined },
      }))],
      bands: this.bands,
      hooks: {
        setCursor: [(u) => this.moved(u)],
        setSelect: [(u) => { if (u.select.width > 3) page.zoom(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false); }],
        draw: [(u) => this.drawMarks(u)],
      },
    };
    options.cursor.drag.setScale = false;
    options.cursor.bind = { dblclick: () => () => { page.zoom(null); return null; } };
    this.plot?.destroy();
    this.plot = new uPlot(options, data, this.box);
    this.plot.root.querySelectorAll("canvas").forEach((each) => each.setAttribute("aria-hidden", "true"));
    SYNC.sub(this.plot);
    this.legend();
    this.say();
    this.show(null);
    if (this.details.open) this.fillTable();
  }

  renew(data) {
    const { plot } = this, at = this.at === null || this.at === undefined ? null : this.data[0][this.at];
    this.data = data;
    plot.setData(data);
    this.at = at === null ? null : data[0].findIndex((x) => x >= at);
    if (this.at === -1) this.at = null;
    if (this.at !== null) plot.setCursor({ left: plot.valToPos(data[0][this.at], "x"), top: Math.max(0, plot.cursor.top) });
    this.say();
    this.show(this.at);
    if (this.details.open) this.fillTable();
  }

  // The clip line, skipped steps and numbers that are not finite: drawn over the curves, and said in the text beside them.
  drawMarks(u) {
    const { ctx, bbox } = u, { page, spec } = this;
    const ratio = devicePixelRatio || 1;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const line of spec.lines) {
      const y = Math.round(u.valToPos(line.value, "y", true));
      if (y < bbox.top || y > bbox.top + bbox.height || (this.log && line.value <= 0)) continue;
      ctx.strokeStyle = css("--warn");
      ctx.setLineDash([2 * ratio, 3 * ratio]);
      ctx.lineWidth = ratio;
      ctx.beginPath(); ctx.moveTo(bbox.left, y); ctx.lineTo(bbox.left + bbox.width, y); ctx.stroke();
    }
    ctx.setLineDash([]);
    spec.series.forEach((series, index) => {
      if (!series.odd || this.hidden.has(index)) return;
      ctx.strokeStyle = css("--bad");
      ctx.lineWidth = 2 * ratio;
      page.places(page.data.runs[series.run], series.odd).forEach((x) => {
        const at = u.valToPos(x, "x", true), top = bbox.top + 7 * ratio, size = 4 * ratio;
        if (at < bbox.left - 5 || at > bbox.left + bbox.width + 5) return;
        ctx.beginPath(); ctx.moveTo(at - size, top - size); ctx.lineTo(at + size, top + size);
        ctx.moveTo(at + size, top - size); ctx.lineTo(at - size, top + size); ctx.stroke();
      });
    });
    if (spec.key === "loss" || spec.key === "grad_norm") {
      ctx.fillStyle = css("--warn");
      page.data.runs.forEach((run) => page.skipPlaces(run).forEach((x) => {
        const at = u.valToPos(x, "x", true);
        if (at < bbox.left - 5 || at > bbox.left + bbox.width + 5) return;
        const top = bbox.top + bbox.height, size = 4.5 * ratio;
        ctx.beginPath(); ctx.moveTo(at - size, top); ctx.lineTo(at + size, top); ctx.lineTo(at, top - 2 * size); ctx.fill();
      }));
    }
    if (spec.key === "grad_norm") this.drawClips(u);
    ctx.restore();
  }

  drawClips(u) {
    const { ctx, bbox } = u, { page } = this, ratio = devicePixelRatio || 1;
    ctx.fillStyle = css("--clip");
    page.data.runs.forEach((run, number) => {
      if (!run.clips) return;
      const x = page.axis(run, "steps"), counts = page.array(run.clips);
      x.forEach((value, index) => {
        const share = counts[index] / run.width;
        if (!share) return;
        const left = u.valToPos(index ? x[index - 1] : value, "x", true), right = u.valToPos(value, "x", true);
        if (right < bbox.left || left > bbox.left + bbox.width) return;
        ctx.globalAlpha = 0.25 + 0.75 * share;
        ctx.fillRect(left, bbox.top + number * 5 * ratio, Math.max(ratio, right - left), 4 * ratio);
      });
    });
    ctx.globalAlpha = 1;
  }

  legend() {
    const { page, spec } = this, many = page.data.runs.length > 1;
    this.values = [];
    this.where = element("span", { class: "where" });
    const buttons = this.buttons = spec.series.map((series, index) => {
      const value = element("span", { class: "value" });
      this.values.push(value);
      const label = many ? `${page.data.runs[series.run].name}, ${series.label}` : series.label;
      const swatch = element("span", { class: series.bound ? "swatch dashed" : "swatch", "aria-hidden": "true" });
      swatch.style.setProperty("--n", this.colour(series, index));
      return element("button", { type: "button", class: "key", "aria-pressed": String(!this.hidden.has(index)), onclick: () => {
        this.hidden.has(index) ? this.hidden.delete(index) : this.hidden.add(index);
        this.draw();
        this.buttons[index].focus();
      } }, swatch, element("bdi", { text: label, title: label }), value);
    });
    const others = buttons.filter((_, index) => spec.series[index].hidden);
    const more = others.length ? [element("details", { class: "more-keys" }, element("summary", { text: `${others.length} more` }), ...others)] : [];
    const lines = spec.lines.map((line) => element("span", { class: "key line" },
      element("span", { class: "swatch dotted", "aria-hidden": "true" }), element("span", { text: line.label })));
    const skips = (spec.key === "loss" || spec.key === "grad_norm") && page.data.runs.some((run) => run.skips.length)
      ? [element("span", { class: "key line" }, element("span", { class: "mark", "aria-hidden": "true", text: "▲" }), element("span", { text: "skipped step" }))] : [];
    if (spec.key === "grad_norm" && page.data.runs.some((run) => run.clips))
      skips.push(element("span", { class: "key line" }, element("span", { class: "swatch clip", "aria-hidden": "true" }), element("span", { text: "clipped" })));
    const odd = spec.series.reduce((sum, each) => sum + (each.num_odd ?? 0), 0);
    if (odd) skips.push(element("span", { class: "key line" }, element("span", { class: "mark bad", "aria-hidden": "true", text: "✕" }), element("span", { text: `not finite (${odd.toLocaleString("en")})` })));
    const open = this.readout.querySelector("details")?.open ?? false;
    this.readout.replaceChildren(...buttons.filter((each) => !others.includes(each)), ...more, ...lines, ...skips, this.where);
    if (more.length) more[0].open = open;
  }

  moved(u) {
    if (this.isStale) return;  // the cursor of another chart, and this one is out of sight
    const index = u.cursor.idx;
    this.at = index;
    this.show(index);
  }

  // The numbers at the cursor, or the newest ones where there is none.
  show(index) {
    const parts = this.spec.series.map(() => ({}));
    const x = this.data[0];
    const here = index ?? x.length - 1;
    this.plan.forEach((each, place) => {
      const column = this.data[place + 1];
      let found = column[here];
      if (found === undefined || found === null) found = nearest(column, here, index === null ? x.length : 200);
      parts[each.index][each.part] = found;
    });
    parts.forEach((part, place) => { this.values[place].textContent = this.words(this.spec.series[place], part, here); });
    this.where.textContent = index === null || index === undefined ? "" : along(x[here], this.page.along, this.page.targets);
  }

  words(series, part, here) {
    const digits = this.spec.digits;
    if (part.highest === undefined) return number(part.single ?? part.mean, digits);
    return `${number(part.mean, digits)} (${number(part.lowest, digits)} to ${number(part.highest, digits)}${this.exact(series, here)})`;
  }

  // At which step of its point the highest value was.
  exact(series, here) {
    const run = this.page.data.runs[series.run], x = this.page.axis(run, "steps");
    const place = x.indexOf(this.data[0][here]);
    if (place < 0 || !series.highest_at) return "";
    const steps = this.page.array(run.axes.steps.step);
    const first = place ? steps[place - 1] + 1 : steps[place] - run.width + 1;
    return ` at step ${Math.max(1, first + this.page.array(series.highest_at)[place]).toLocaleString("en")}`;
  }

  setLog(log, draw = true) {
    this.log = log;
    this.scale.textContent = log ? "log" : "linear";
    this.scale.setAttribute("aria-label", `${this.spec.title}: ${log ? "log" : "linear"} axis, press to change`);
    if (draw) this.draw();
  }

  key(event) {
    if (this.isStale) this.draw();
    const u = this.plot, x = this.data[0];
    if (event.ctrlKey || event.metaKey || event.altKey || !x.length) return;
    const [first, last] = this.page.window(x);
    const step = event.shiftKey ? 10 : 1, here = this.at ?? last;
    const go = (index) => {
      const place = Math.min(last, Math.max(first, index));
      u.setCursor({ left: u.valToPos(x[place], "x"), top: u.bbox.height / (2 * (devicePixelRatio || 1)) });
      this.at = place;
      this.show(place);
      this.page.announce(`${along(x[place], this.page.along, this.page.targets)}: ${this.spec.series.map((s, n) => `${s.label} ${this.values[n].textContent}`).join("; ")}`);
    };
    const act = {
      ArrowLeft: () => go(here - step), ArrowRight: () => go(here + step), Home: () => go(first), End: () => go(last),
      "+": () => this.page.zoomAt(x[here], 0.5), "=": () => this.page.zoomAt(x[here], 0.5), "-": () => this.page.zoomAt(x[here], 2),
      0: () => this.page.zoom(null), Escape: () => this.page.zoom(null),
      l: () => { this.setLog(!this.log); this.page.announce(this.log ? "logarithmic axis" : "linear axis"); },
      t: () => { this.details.open = !this.details.open; },
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act) { event.preventDefault(); act(); }
  }

  say() {
    const told = this.spec.series.filter((s) => !s.bound).map((series) => {
      const values = this.page.array(series.mean).filter((v) => v !== null);
      const tops = this.page.array(series.highest ?? series.mean).filter((v) => v !== null);
      const odd = series.num_odd ? `; ${series.num_odd.toLocaleString("en")} not finite` : "";
      if (!values.length) return `${series.label}: no numbers${odd}`;
      const most = tops.reduce((a, b) => Math.max(a, b), -Infinity), least = values.reduce((a, b) => Math.min(a, b), Infinity);
      return `${series.label}: from ${number(values[0])} to ${number(values.at(-1))}, lowest ${number(least)}, highest ${number(most)}${odd}`;
    });
    this.text.textContent = `${told.join(". ")}. Arrow keys move the cursor.`;
  }

  fillTable() {
    if (!this.details.open) return;
    if (this.isStale) this.draw();
    const x = this.data[0], [first, last] = this.page.window(x);
    const pages = Math.max(1, Math.ceil((last - first + 1) / ROWS_OF_A_PAGE));
    this.tablePage = Math.min(this.tablePage, pages - 1);
    const begin = first + this.tablePage * ROWS_OF_A_PAGE;
    const name = (each) => `${this.page.data.runs.length > 1 ? `${this.page.data.runs[each.series.run].name} ` : ""}${each.series.label}${each.part === "mean" || each.part === "single" ? (each.part === "mean" && each.series.axis === "steps" && this.page.smoothing && !each.series.bound ? " smoothed" : "") : ` ${each.part}`}`;
    const head = element("tr", {}, element("th", { scope: "col", text: { step: "step", tokens: this.page.targets, seconds: "time" }[this.page.along] }),
      ...this.plan.map((each) => element("th", { scope: "col", class: "num", text: name(each) })));
    const rows = [];
    for (let i = begin; i <= Math.min(last, begin + ROWS_OF_A_PAGE - 1); i++)
      rows.push(element("tr", {}, element("th", { scope: "row", text: this.page.along === "seconds" ? clock(x[i]) : number(x[i]) }),
        ...this.plan.map((_, place) => element("td", { class: "num", text: this.data[place + 1][i] == null ? "" : number(this.data[place + 1][i], 6) }))));
    const turn = (by) => () => { this.tablePage += by; this.fillTable(); this.table.focus(); };
    const held = [...this.table.querySelectorAll("button")].indexOf(document.activeElement);
    this.table.replaceChildren(
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)),
      element("p", { class: "pages" },
        element("button", { type: "button", text: "Earlier rows", disabled: this.tablePage === 0, onclick: turn(-1) }),
        element("span", { text: ` ${this.tablePage + 1} of ${pages} ` }),
        element("button", { type: "button", text: "Later rows", disabled: this.tablePage >= pages - 1, onclick: turn(1) })));
    if (held >= 0) this.table.querySelectorAll("button")[held].focus();
  }

  resize() {
    if (this.plot && !this.isStale && this.box.clientWidth > 0 && this.box.clientWidth !== this.plot.width)
      this.plot.setSize({ width: this.box.clientWidth, height: this.page.height(this.spec) });
  }
}

// The places of numbers that have a gap on both sides; undefined is a place of another curve.
function lonePoints(u, series) {
  const column = u.data[series], places = column.flatMap((v, i) => (v === undefined ? [] : [i]));
  return places.filter((at, n) => column[at] !== null && (column[places[n - 1]] ?? null) === null && (column[places[n + 1]] ?? null) === null);
}

function nearest(column, here, reach) {
  for (let i = here; i >= Math.max(0, here - reach); i--) if (column[i] !== undefined && column[i] !== null) return column[i];
  return null;
}

function padded(low, high) {
  if (low === null || high === null) return [0, 1];
  // A mean of equal numbers differs from them by its rounding.
  if (high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high))) return [low - (Math.abs(low) || 1) * 0.1, high + (Math.abs(high) || 1) * 0.1];
  const rest = (high - low) * 0.05;
  return [low >= 0 && low - rest < 0 ? 0 : low - rest, high + rest];
}

// Whole decades: less than one would leave the axis without a number.
function decades(low, high) {
  if (!(low > 0) || !(high > 0)) return [0.1, 1];
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  return [10 ** first, 10 ** Math.max(last, first + 1)];
}

function short(value) {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-3)) return value.toExponential(0);
  for (const [unit, of] of [["T", 1e12], ["B", 1e9], ["M", 1e6], ["k", 1e3]]) if (size >= of) return `${+(value / of).toPrecision(4)}${unit}`;
  return String(+value.toPrecision(5));
}

function fade(colour, alpha) {
  if (alpha === 0) return "transparent";
  if (alpha === 1 || !/^#[0-9a-f]{6}$/i.test(colour)) return colour;
  return colour + Math.round(alpha * 255).toString(16).padStart(2, "0");
}
