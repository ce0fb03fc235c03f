"use strict";
// Makes the drawn line charts movable: the numbers are those of the drawings, by uPlot.
(() => {
  const root = document.documentElement;
  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif';
  const narrow = 560;

  // Three significant digits, as in the tables.
  const three = (x) => (x < 9.995 ? x.toFixed(2) : x < 99.95 ? x.toFixed(1) : x.toFixed(0));
  const latency = (ns) => {
    if (ns < 1000) return ns.toFixed(0) + " ns";
    for (const [unit, name] of [[1e3, "µs"], [1e6, "ms"]]) {
      if (ns / unit < 999.5) return three(ns / unit) + " " + name;
    }
    return three(ns / 1e9) + " s";
  };
  const grouped = (x) => x.toFixed(0).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const percentile = (x) => {
    const digits = Math.max(0, Math.ceil(Math.log10(x)) - 1);
    return "p" + String(Number((100 - 100 / x).toFixed(digits)));
  };
  const written = {
    latency,
    rate: (x) => (x > 0 && x < 99.95 ? x.toFixed(1) : grouped(x)) + "/s",
    time: (x) => (x < 100 ? x.toFixed(1) : grouped(x)) + " s",
    spectrum: percentile,
    number: grouped,
  };

  function axis(ticks, isVertical) {
    const isSmall = () => root.clientWidth <= narrow;
    // Spare labels need room: across, that of the chart; upwards, every chart is tall enough.
    const lacksRoom = (u) => !isVertical && u.width <= narrow;
    return {
      font,
      stroke: () => colour("muted"),
      grid: { stroke: () => colour("grid"), width: 1 },
      ticks: { show: false },
      size: isVertical ? () => (isSmall() ? 54 : 62) : 30,
      gap: 8,
      filter: (_, splits) => splits,
      splits: () => ticks.map((tick) => tick[0]),
      values: (u) => ticks.map((tick) => (tick[2] && lacksRoom(u) ? "" : tick[1])),
    };
  }

  function scale(spec) {
    return { time: false, distr: spec.log ? 3 : 1, range: () => [spec.min, spec.max] };
  }

  function series(line) {
    const faint = (share) => `color-mix(in srgb, ${colour(line.colour)} ${share}%, transparent)`;
    return {
      label: line.label,
      stroke: () => colour(line.colour),
      fill: line.fill ? () => faint(12) : undefined,
      dash: line.dash.length ? line.dash : undefined,
      width: 1.75,
      points: { show: line.dots || line.values.filter((v) => v !== null).length === 1, size: 6 },
    };
  }

  // Numbers within the drawing; those that would overlap share one label.
  function labels(marks, x, room, left, right) {
    const found = [];
    for (const [number, at] of marks) {
      const before = found.at(-1);
      const from = Math.min(Math.max(x(at), left + room / 2), right - room / 2);
      if (before && from - before.from < room) before.last = number;
      else found.push({ first: number, last: number, from });
    }
    return found;
  }

  function underlay(chart) {
    return (u) => {
      const { left, top, width, height } = u.bbox;
      const x = (value) =>
        Math.min(Math.max(u.valToPos(value, "x", true), left), left + width);
      u.ctx.save();
      for (const [from, until, kind, share] of chart.shades) {
        u.ctx.fillStyle = colour(kind);
        u.ctx.fillRect(x(from), top + height * (1 - share), x(until) - x(from), height * share);
      }
      const ratio = devicePixelRatio;
      u.ctx.strokeStyle = u.ctx.fillStyle = colour("muted");
      u.ctx.setLineDash([2 * ratio, 3 * ratio]);
      u.ctx.lineWidth = ratio;
      u.ctx.font = `600 ${11 * ratio}px system-ui, sans-serif`;
      u.ctx.textAlign = "center";
      for (const [, at] of chart.marks) {
        u.ctx.beginPath();
        u.ctx.moveTo(x(at), top);
        u.ctx.lineTo(x(at), top + height);
        u.ctx.stroke();
      }
      const right = left + width;
      for (const { first, last, from } of labels(chart.marks, x, 26 * ratio, left, right)) {
        u.ctx.fillText(first === last ? String(first) : `${first}–${last}`, from, top - 5 * ratio);
      }
      u.ctx.restore();
    };
  }

  function movable(chart) {
    const element = document.getElementById(chart.id);
    if (!element) return null;
    const plot = element.querySelector(".plot");
    const buttons = [...element.querySelectorAll(".legend button")];
    const at = element.querySelector(".at");
    // As tall as the drawing, which may be folded away and then has no height of its own yet.
    const height = parseFloat(getComputedStyle(plot).height) + 48;
    const live = document.createElement("div");
    live.className = "live";
    live.tabIndex = 0;
    live.setAttribute("role", "group");
    live.setAttribute("aria-label", chart.description + ". Arrow keys move the cursor.");
    plot.after(live);
    element.classList.add("is-live");

    // Zeros beside zeros are left out of the lines of failures; where anything is known, they are.
    const reading = (number, place) => {
      const value = chart.lines[number].values[place];
      if (value !== null) return written[chart.y.unit](value);
      return chart.y.unit === "rate" && chart.lines[0].values[place] !== null ? "0/s" : "–";
    };
    const show = (u) => {
      const place = u.cursor.idx;
      const known = place !== null && place !== undefined && u.cursor.left >= 0;
      at.textContent = known ? written[chart.x.unit](chart.xs[place]) : "";
      buttons.forEach((button, number) => {
        button.querySelector("b").textContent = known ? reading(number, place) : "";
      });
    };
    const faint = (line) => () =>
      `color-mix(in srgb, ${colour(chart.lines[line].colour)} 14%, transparent)`;
    const options = {
      width: element.clientWidth,
      height,
      padding: [18, root.clientWidth <= narrow ? 16 : 24, 0, 0],
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false, sync: { key: chart.x.unit } },
      scales: { x: scale(chart.x), y: scale(chart.y) },
      axes: [axis(chart.x.ticks), axis(chart.y.ticks, true)],
      series: [{}, ...chart.lines.map(series)],
      bands: chart.bands.map(([a, b]) => ({ series: [a + 1, b + 1], fill: faint(a) })),
      hooks: { drawClear: [underlay(chart)], setCursor: [show] },
    };
    const u = new uPlot(options, [chart.xs, ...chart.lines.map((line) => line.values)], live);

    buttons.forEach((button, number) =>
      button.addEventListener("click", () => {
        const shown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shown));
        u.setSeries(number + 1, { show: shown });
      }),
    );
    live.addEventListener("keydown", (event) => {
      const last = chart.xs.length - 1;
      const now = u.cursor.idx ?? 0;
      const steps = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last };
      if (!(event.key in steps)) return;
      event.preventDefault();
      const place = Math.min(Math.max(steps[event.key], 0), last);
      const left = u.valToPos(chart.xs[place], "x");
      u.setCursor({ left, top: u.over.clientHeight / 2 }, true, true);
    });
    new ResizeObserver(() => {
      if (element.clientWidth > 0 && element.clientWidth !== u.width) {
        u.setSize({ width: element.clientWidth, height });
      }
    }).observe(element);
    return u;
  }

  const charts = JSON.parse(document.getElementById("charts").textContent);
  const plots = charts.map(movable).filter(Boolean);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    plots.forEach((u) => u.redraw(false)),
  );
})();
