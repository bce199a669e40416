// The figures and tables of the page of `muzero2048 compare`. It is copied into the page, after plotly.js.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const element = (id) => document.getElementById(id);
  const decoded = [];
  const LIGHT = ["#1f6fd1", "#d9480f", "#2b8a3e", "#862e9c", "#b8860b", "#0b7285", "#c2255c", "#5c940d", "#495057"];
  const DARK = ["#6ea8ff", "#ff9a5c", "#69db7c", "#da8bf0", "#ffd43b", "#4cc9d9", "#faa2c1", "#c0eb75", "#ced4da"];
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];
  const SCORE = "eval/score_mean";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const OPTIONS = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] };

  // Array `number` of the data: float32 in base64.
  function array(number) {
    if (number === null) return null;
    if (!decoded[number]) {
      const bytes = Uint8Array.from(atob(data.arrays[number]), (letter) => letter.charCodeAt(0));
      decoded[number] = Array.from(new Float32Array(bytes.buffer));
    }
    return decoded[number];
  }

  function colour(number) {
    const colours = dark.matches ? DARK : LIGHT;
    return colours[number % colours.length];
  }

  function layout(x, y, logx, logy) {
    const style = getComputedStyle(document.body);
    const ink = style.getPropertyValue("--ink").trim(), rule = style.getPropertyValue("--rule").trim();
    const axis = (title, log) => ({
      title: { text: title }, type: log ? "log" : "linear", gridcolor: rule, zerolinecolor: rule, automargin: true,
    });
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, family: style.fontFamily },
      margin: { l: 60, r: 12, t: 12, b: 50 }, hovermode: "closest", xaxis: axis(x, logx), yaxis: axis(y, logy),
      legend: { orientation: "h", y: -0.22 }, hoverlabel: { namelength: -1 }, modebar: { bgcolor: "rgba(0,0,0,0)" },
    };
  }

  // Traces of a line and its band; the legend hides both.
  function lineTraces(label, x, [y, low, high], paint, dash, group) {
    const traces = [];
    if (low && high) {
      traces.push({
        x: x.concat([...x].reverse()), y: high.concat([...low].reverse()), fill: "toself", fillcolor: paint + "2e",
        line: { width: 0 }, mode: "lines", hoverinfo: "skip", showlegend: false, legendgroup: group,
      });
    }
    traces.push({
      x, y, name: label, legendgroup: group, mode: y.length > 60 ? "lines" : "lines+markers", marker: { size: 5 },
      line: { color: paint, width: 2, dash }, customdata: low && high ? low.map((end, i) => [end, high[i]]) : undefined,
      hovertemplate: low && high
        ? "%{y:,.6~g} (%{customdata[0]:,.6~g} to %{customdata[1]:,.6~g})<br>at %{x:,.6~g}"
        : "%{y:,.6~g}<br>at %{x:,.6~g}",
    });
    return traces;
  }

  // The evaluations after training, with their intervals: one trace for each line of them, and one for all single ones
  // of a curve, since each trace costs time.
  function pointTraces(axis) {
    const single = new Map(), traces = [];
    for (const { curve, label, places } of data.points) {
      const named = places.map((place) => ({ place, label }));
      if (places.length > 2) traces.push(pointTrace(curve, named, axis, "markers+lines"));
      else single.set(curve, (single.get(curve) || []).concat(named));
    }
    for (const [curve, named] of single) traces.push(pointTrace(curve, named, axis, "markers"));
    return traces;
  }

  function pointTrace(curve, named, axis, mode) {
    return {
      x: named.map(({ place }) => place[axis]), y: named.map(({ place }) => place[3]), mode,
      name: "", legendgroup: `curve${curve}`, showlegend: false, line: { dash: "dot", width: 1 },
      marker: { color: colour(data.curves[curve].colour), size: 8, symbol: "diamond-open" },
      error_y: {
        type: "data", symmetric: false, thickness: 1, width: 3,
        array: named.map(({ place }) => place[5] - place[3]),
        arrayminus: named.map(({ place }) => place[3] - place[4]),
      },
      customdata: named.map(({ place, label }) => [place[4], place[5], place[6], label]),
      hovertemplate:
        "%{customdata[3]}<br>%{y:,.6~g} (%{customdata[0]:,.6~g} to %{customdata[1]:,.6~g}), %{customdata[2]:,} games",
    };
  }

  // Results of papers as lines over the whole axis: their training is not that of these runs.
  function paperTraces(metric, traces) {
    let least = Infinity, most = -Infinity;
    for (const { x } of traces) for (const place of x) [least, most] = [Math.min(least, place), Math.max(most, place)];
    return data.papers.filter(({ values }) => metric in values).map(({ label, values }) => ({
      x: [least, most], y: [values[metric], values[metric]], mode: "lines", name: label,
      line: { color: colour(8), width: 1, dash: "dash" }, hovertemplate: "%{y:,.6~g}",
    }));
  }

  function draw() {
    const metric = element("metric").value, axis = Number(element("axis").value), kind = element("band").value;
    const [, unit, meaning] = data.metrics.find(([name]) => name === metric);
    const traces = [];
    data.curves.forEach((curve, number) => {
      const series = curve.series[metric];
      if (!series) return;
      const band = (kind === "iqm" && series.iqm) || series.mean;
      const dash = DASHES[curve.dash % DASHES.length];
      traces.push(...lineTraces(
        curve.label, array(series.x[axis]), band.map(array), colour(curve.colour), dash, `curve${number}`));
    });
    if (metric === SCORE) traces.push(...pointTraces(axis));
    if (element("papers").checked) traces.push(...paperTraces(metric, traces));
    const logs = [element("logx").checked, element("logy").checked];
    Plotly.react("curves", traces, layout(data.axes[axis], `${metric} [${unit}]`, ...logs), OPTIONS);
    element("meaning").textContent = meaning;
    element("curves").setAttribute("aria-label", `${meaning}, against ${data.axes[axis]}; the tables have the numbers`);
    if (data.searches.length) {
      const lines = data.searches.flatMap(({ label, band }, number) => {
        const [x, ...rest] = band.map(array);
        return lineTraces(label, x, rest, colour(number), "solid", label);
      });
      Plotly.react("searches", lines, layout("microseconds a move", "mean score", true, false), OPTIONS);
    }
    drawDistributions();
  }

  // Shares of games by score, in bins that grow with the score, and by largest tile.
  function drawDistributions() {
    if (!data.distributions.length) return;
    const scores = data.distributions.map(({ label, scores, shares }, number) => ({
      x: scores, y: shares.concat([0]), name: label, mode: "lines",
      line: { shape: "hv", color: colour(number), width: 1.5 }, hovertemplate: "%{y:.1%} of games from %{x:,.6~g}",
    }));
    const tiles = data.distributions.map(({ label, tiles, rates }, number) => ({
      x: tiles, y: rates, name: label, type: "bar", marker: { color: colour(number) }, showlegend: false,
      hovertemplate: "%{y:.1%} of games end with %{x}",
    }));
    const order = [...new Set(data.distributions.flatMap((one) => one.tiles))].sort((a, b) => a - b);
    const plain = layout("largest tile", "share of games", false, false);
    Object.assign(plain.xaxis, { type: "category", categoryorder: "array", categoryarray: order });
    Plotly.react("scores", scores, layout("score", "share of games", true, false), OPTIONS);
    Plotly.react("tiles", tiles, plain, OPTIONS);
  }

  function fill(select, entries, chosen) {
    for (const [value, text] of entries) select.add(new Option(text, value, false, value === chosen));
  }

  function compareCells(one, other) {
    const [a, b] = [Number(one), Number(other)];
    return Number.isNaN(a) || Number.isNaN(b) ? one.localeCompare(other) : a - b;
  }

  // A click on a heading sorts the rows, or the bodies of the table if it has several: first up, then down.
  function makeSortable(table) {
    table.querySelectorAll("th").forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "descending";
        table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "ascending" : "descending");
        const grouped = table.tBodies.length > 1;
        const parts = [...(grouped ? table.tBodies : table.tBodies[0].rows)];
        const key = (part) => (grouped ? part.rows[0] : part).cells[column].dataset.value;
        parts.sort((one, other) => (down ? 1 : -1) * compareCells(key(one), key(other)));
        parts.forEach((part) => part.parentNode.append(part));
      });
    });
  }

  // The figure's settings stand in the address, as in #metric=eval/score_mean&axis=2&logx=1, so that a link keeps them.
  const SELECTS = ["metric", "axis", "band"], CHECKS = ["logx", "logy", "papers"];

  function remember() {
    const words = SELECTS.map((id) => `${id}=${element(id).value}`);
    location.replace(`#${words.concat(CHECKS.map((id) => `${id}=${Number(element(id).checked)}`)).join("&")}`);
  }

  function recall() {
    const words = new URLSearchParams(location.hash.slice(1));
    for (const id of SELECTS) {
      const options = [...element(id).options].map((option) => option.value);
      if (options.includes(words.get(id))) element(id).value = words.get(id);
    }
    chooseScale();
    for (const id of CHECKS) if (words.has(id)) element(id).checked = words.get(id) === "1";
  }

  // The x-axis is logarithmic if the ends of the curves are far apart.
  function chooseScale() {
    const axis = Number(element("axis").value);
    const ends = data.curves.filter((curve) => curve.series[SCORE])
      .map((curve) => array(curve.series[SCORE].x[axis]).at(-1)).filter((end) => end > 0);
    element("logx").checked = ends.length > 1 && Math.max(...ends) > 10 * Math.min(...ends);
  }

  const names = data.metrics.map(([name]) => name);
  fill(element("metric"), names.map((name) => [name, name]), names.includes(SCORE) ? SCORE : names[0]);
  fill(element("axis"), data.axes.map((label, number) => [String(number), label]), String(data.axis));
  recall();
  element("axis").addEventListener("change", chooseScale);
  for (const id of [...SELECTS, ...CHECKS]) {
    element(id).addEventListener("change", () => { remember(); draw(); });
  }
  window.addEventListener("hashchange", () => { recall(); draw(); });
  dark.addEventListener("change", draw);
  document.querySelectorAll("table").forEach(makeSortable);
  document.querySelectorAll(".fold").forEach((button) => button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    button.closest("tbody").querySelectorAll(".seed").forEach((row) => { row.hidden = !open; });
  }));
  draw();
})();
