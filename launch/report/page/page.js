// The figures and tables of the page of `muzero2048 compare`. It is copied into the page, after plotly.js.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const element = (id) => document.getElementById(id);
  const decoded = [];
  const LIGHT = ["#1f6fd1", "#d9480f", "#2b8a3e", "#862e9c", "#b8860b", "#0b7285", "#c2255c", "#5c940d", "#495057"];
  const DARK = ["#6ea8ff", "#ff9a5c", "#69db7c", "#da8bf0", "#ffd43b", "#4cc9d9", "#faa2c1", "#c0eb75", "#ced4da"];
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];
  const SCORE = "eval/score_mean", TIME = "time of training";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 700px)"), touch = window.matchMedia("(pointer: coarse)");
  const HEIGHT = 440, PANEL_HEIGHT = 280, COLUMNS = 3;
  const PAPER_POINTS = 60; // of the line of a paper's result
  const LETTER = 6.5, LINE = 19, LETTERS_OF_PHONE = 44; // of the legend: pixels of a letter and of a line
  const hidden = {}; // by the id of a figure: its lines that the legend hides
  const OPTIONS = {
    responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"],
    showSendToCloud: false, plotlyServerURL: "", // the page sends nothing to anyone
  };

  // Array `number` of the data: float32 in base64.
  function array(number) {
    if (number === null) return null;
    if (!decoded[number]) {
      const bytes = Uint8Array.from(atob(data.arrays[number]), (letter) => letter.charCodeAt(0));
      decoded[number] = Array.from(new Float32Array(bytes.buffer));
    }
    return decoded[number];
  }

  // The line style of curve `number` if colours alone tell curves apart: another one after each round of colours.
  const dashAfter = (number) => DASHES[Math.floor(number / LIGHT.length) % DASHES.length];

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
      margin: { l: 60, r: 12, t: 30, b: 50 }, hovermode: "closest", xaxis: axis(x, logx), yaxis: axis(y, logy),
      legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom" },
      dragmode: touch.matches ? false : "zoom", // a finger on the figure scrolls the page
      hoverlabel: { namelength: -1 }, modebar: { bgcolor: "rgba(0,0,0,0)" },
    };
  }

  // The line style of a line of an experiment beside others of the same experiment, which have its colour.
  const dashOf = ({ colour, dash }) => DASHES[(Math.floor(colour / LIGHT.length) + dash) % DASHES.length];

  // Traces of a line and its band, or the lines of its few seeds; the legend hides all. A logarithmic axis has no place for numbers up to 0: the line
  // is interrupted there, and the band goes down to the lowest number that the axis can show.
  function lineTraces(label, x, [line, lower, higher], paint, dash, group, logy = false, seeds = null) {
    const traces = [], least = Math.min(...line.filter((value) => value > 0));
    const y = logy ? line.map((value) => (value > 0 ? value : null)) : line;
    const [low, high] = [lower, higher].map((ends) => (logy && ends ? ends.map((end) => Math.max(end, least)) : ends));
    for (const seed of seeds?.length > 1 ? seeds : []) {
      traces.push({
        x, y: seed, line: { color: paint, width: 0.8 }, mode: "lines", hoverinfo: "skip", showlegend: false, legendgroup: group,
      });
    }
    if (low && high && !seeds) {
      traces.push({
        x: x.concat([...x].reverse()), y: high.concat([...low].reverse()), fill: "toself", fillcolor: paint + "2e",
        line: { width: 0 }, mode: "lines", hoverinfo: "skip", showlegend: false, legendgroup: group,
      });
    }
    traces.push({
      x, y, name: label, legendgroup: group, mode: y.length > 60 ? "lines" : "lines+markers", marker: { size: 5 },
      line: { color: paint, width: 2, dash },
      customdata: lower && higher ? lower.map((end, i) => [end, higher[i]]) : undefined,
      hovertemplate: low && high
        ? "%{y:,.6~g} (%{customdata[0]:,.6~g} to %{customdata[1]:,.6~g})<br>at %{x:,.6~g}"
        : "%{y:,.6~g}<br>at %{x:,.6~g}",
    });
    return traces;
  }

  // The evaluations after training, with their intervals: one trace for each line of them, and one for all single ones
  // of a curve, since each trace costs time.
  function pointTraces(axis, curves) {
    const single = new Map(), traces = [];
    for (const { curve, label, places } of data.points.filter((point) => curves.includes(point.curve))) {
      const named = places.map((place) => ({ place, label }));
      const isAlong = new Set(places.map((place) => place[0])).size > 2; // at several places of the training
      if (isAlong) traces.push(pointTrace(curve, named, axis, "markers+lines"));
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

  // Draw a figure without the lines that its legend hides; what was hidden stays hidden under other settings.
  function show(id, traces, shape, height) {
    const figure = element(id);
    for (const trace of traces) {
      trace.visible = visibility(id, trace);
      trace.name = folded(trace.name || "");
    }
    shape.height = height + legendHeight(figure.clientWidth, traces);
    figure.style.height = `${shape.height}px`;
    const drawn = Plotly.react(figure, traces, shape, OPTIONS);
    if (hidden[id]) return;
    hidden[id] = new Set();
    drawn.then(() => {
      figure.on("plotly_legendclick", ({ curveNumber }) => toggle(id, lineOf(figure.data[curveNumber])));
      figure.on("plotly_legenddoubleclick", ({ curveNumber }) => isolate(id, lineOf(figure.data[curveNumber])));
      figure.on("plotly_afterplot", () => openLegend(id));
      openLegend(id);
    });
  }

  // A name in several lines if it is too long for a phone.
  function folded(name) {
    if (!narrow.matches) return name;
    const lines = [""];
    for (const word of name.split(" ")) {
      if (lines.at(-1) && lines.at(-1).length + word.length > LETTERS_OF_PHONE) lines.push("");
      lines.push(`${lines.pop()} ${word}`.trim());
    }
    return lines.join("<br>");
  }

  // About the height of a legend, in which plotly gives all names the width of the longest.
  function legendHeight(width, traces) {
    const names = traces.filter((trace) => trace.showlegend !== false).map((trace) => trace.name.split("<br>"));
    const letters = Math.max(0, ...names.flat().map((line) => line.length));
    const columns = Math.max(1, Math.floor(width / (LETTER * letters + 50)));
    return LINE * Math.ceil(names.reduce((sum, lines) => sum + lines.length, 0) / columns);
  }

  const lineOf = (trace) => trace.legendgroup;
  const visibility = (id, trace) => (hidden[id] && hidden[id].has(lineOf(trace)) ? "legendonly" : true);

  function toggle(id, line) {
    if (!hidden[id].delete(line)) hidden[id].add(line);
    return hide(id);
  }

  // Hide all lines but one; if they are hidden already, show all.
  function isolate(id, line) {
    const others = element(id).data.map(lineOf).filter((other) => other !== line);
    const isAlone = others.every((other) => hidden[id].has(other));
    hidden[id] = new Set(isAlone ? [] : others);
    return hide(id);
  }

  function hide(id) {
    Plotly.restyle(id, { visible: element(id).data.map((trace) => visibility(id, trace)) });
    return false; // plotly shall not do it too
  }

  // The entries of a legend are reached with the Tab key, and Enter or the space bar is a click.
  function openLegend(id) {
    const named = new Map(element(id).data.filter((trace) => trace.showlegend !== false)
      .map((trace) => [trace.name, lineOf(trace)]));
    element(id).querySelectorAll(".legend .traces").forEach((entry) => {
      const name = entry.querySelector(".legendtext").dataset.unformatted, line = named.get(name);
      const words = { tabindex: 0, role: "checkbox", "aria-label": name.replaceAll("<br>", " "), "aria-checked": !hidden[id].has(line) };
      for (const [word, value] of Object.entries(words)) entry.setAttribute(word, String(value));
      entry.onkeydown = (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle(id, line);
      };
    });
  }

  // Results of papers as lines over the whole axis: their training is not that of these runs.
  function paperTraces(metric, traces) {
    let least = Infinity, most = -Infinity;
    for (const { x } of traces) for (const place of x) [least, most] = [Math.min(least, place), Math.max(most, place)];
    const parts = Array.from({ length: PAPER_POINTS }, (_, i) => i / (PAPER_POINTS - 1)); // each point can be hovered
    const x = parts.map((part) => (element("logx").checked && least > 0 ? least * (most / least) ** part : least + (most - least) * part));
    return data.papers.filter(({ values }) => metric in values).map(({ label, values }, number) => ({
      x, y: parts.map(() => values[metric]), mode: "lines", name: label, legendgroup: label,
      line: { color: colour(8), width: 1, dash: DASHES[(number + 1) % DASHES.length] }, hovertemplate: "%{y:,.6~g}",
    }));
  }

  function curveTraces(number, metric, axis, kind) {
    const curve = data.curves[number], series = curve.series[metric];
    const band = (kind === "iqm" && series.iqm) || series.mean;
    const dash = data.keys.length > 1 ? DASHES[curve.dash % DASHES.length] : dashAfter(curve.colour);
    const x = array(series.x[axis]), group = `curve${number}`;
    const seeds = series.seeds && series.seeds.map(array);
    return lineTraces(curve.label, x, band.map(array), colour(curve.colour), dash, group, element("logy").checked, seeds);
  }

  // What the bands of the figure are: the interquartile mean exists for scores and rates of several seeds alone.
  function bandInWords(metric, kind) {
    const all = data.curves.map((curve) => curve.series[metric]).filter(Boolean);
    if (all.every(({ seeds }) => seeds)) return "no bands: fewer than three seeds each, whose lines are thin";
    const some = all.some(({ iqm }) => iqm), every = all.every(({ iqm }) => iqm);
    if (kind !== "iqm") return "bands: 95% intervals, Student's over three seeds or more";
    if (!some) return "bands: 95% intervals of the mean; the interquartile mean exists for scores and rates of several seeds";
    return `interquartile means with bootstrap intervals${every ? "" : "; curves of one seed: their mean"}`;
  }

  // The panels of the figure, with the numbers of their curves: one panel, or one for each value of a key.
  function splitPanels(metric) {
    const key = Number(element("panels").value) - 1, panels = new Map();
    data.curves.forEach((curve, number) => {
      if (!curve.series[metric]) return;
      const title = key < 0 ? "" : curve.words[key];
      panels.set(title, (panels.get(title) || []).concat([number]));
    });
    return [...panels].map(([title, curves]) => ({ title, curves }));
  }

  const axesOf = (panel) => ({ xaxis: panel ? `x${panel + 1}` : "x", yaxis: panel ? `y${panel + 1}` : "y" });

  // Divide the layout of one panel among several with the same axes; return the height of the figure without its legend.
  function splitLayout(shape, panels) {
    if (panels.length < 2) return HEIGHT;
    const columns = narrow.matches ? 1 : Math.min(COLUMNS, Math.ceil(Math.sqrt(panels.length)));
    const rows = Math.ceil(panels.length / columns), { xaxis, yaxis } = shape;
    shape.grid = { rows, columns, pattern: "independent", xgap: 0.2, ygap: 0.25 };
    shape.annotations = panels.map(({ title }, panel) => {
      const { xaxis: x, yaxis: y } = axesOf(panel);
      const isLowest = panel + columns >= panels.length, isFirst = panel % columns === 0;
      shape[x.replace("x", "xaxis")] = { ...xaxis, title: isLowest ? xaxis.title : {}, matches: panel ? "x" : undefined };
      shape[y.replace("y", "yaxis")] = { ...yaxis, title: isFirst ? yaxis.title : {}, matches: panel ? "y" : undefined };
      return { text: `<b>${title}</b>`, showarrow: false, xref: `${x} domain`, yref: `${y} domain`,
        x: 0, xanchor: "left", y: 1, yanchor: "bottom" };
    });
    return rows * PANEL_HEIGHT;
  }

  // What a metric is, in words: its meaning up to the first comma, colon or bracket.
  const words = (meaning) => meaning.split(/[,;:(]/)[0].trim();

  // Show hours in the unit of the tables (launch/quantities.py, `duration`); return the name of the axis.
  function scaleHours(traces) {
    const most = Math.max(...traces.flatMap(({ x }) => x));
    const [unit, factor] = most < 1 / 6 ? ["seconds", 3600] : most < 3 ? ["minutes", 60] : ["hours", 1];
    for (const trace of traces) trace.x = trace.x.map((x) => factor * x);
    return TIME.replace("time", unit);
  }

  function draw() {
    const metric = element("metric").value, axis = Number(element("axis").value), kind = element("band").value;
    const [, unit, meaning] = data.metrics.find(([name]) => name === metric);
    const panels = splitPanels(metric), traces = [];
    for (const { curves } of panels) {
      const here = curves.flatMap((number) => curveTraces(number, metric, axis, kind));
      if (metric === SCORE) here.push(...pointTraces(axis, curves));
      traces.push(here);
    }
    if (element("papers").checked) {
      const papers = paperTraces(metric, traces.flat());
      traces.forEach((here, panel) => here.push(...papers.map((trace) => ({ ...trace, showlegend: panel === 0 }))));
    }
    traces.forEach((here, panel) => here.forEach((trace) => Object.assign(trace, axesOf(panel))));
    const logs = [element("logx").checked, element("logy").checked];
    const place = data.axes[axis] === TIME ? scaleHours(traces.flat()) : data.axes[axis];
    const shape = layout(place, `${words(meaning)} [${unit}]`, ...logs);
    show("curves", traces.flat(), shape, splitLayout(shape, panels));
    element("meaning").textContent = `${meaning} (${bandInWords(metric, kind)})`;
    element("curves").setAttribute("aria-label", `${meaning}, against ${place}; the tables have the numbers`);
  }

  // The figures below the first one, which have no choices.
  function drawBelow() {
    if (data.searches.length) {
      const lines = data.searches.flatMap((line) => {
        const [x, ...rest] = line.band.map(array);
        return lineTraces(line.label, x, rest, colour(line.colour), dashOf(line), line.label);
      });
      show("searches", lines, layout("microseconds a move", "mean score", true, false), HEIGHT);
    }
    drawDistributions();
  }

  // Shares of games by score, in bins that grow with the score, and by largest tile.
  function drawDistributions() {
    if (!data.distributions.length) return;
    const scores = data.distributions.map(({ label, scores, shares, ...style }) => ({
      x: scores, y: shares.concat([0]), name: label, legendgroup: label, mode: "lines",
      line: { shape: "hv", color: colour(style.colour), width: 1.5, dash: dashOf(style) }, hovertemplate: "%{y:.1%} of games from %{x:,.6~g}",
    }));
    const tiles = data.distributions.map(({ label, tiles, ...style }) => ({
      x: Object.keys(tiles), y: Object.values(tiles), name: label, legendgroup: label, type: "bar", showlegend: false,
      marker: { color: colour(style.colour), opacity: 1 / (1 + style.dash / 2) },
      hovertemplate: "%{y:.1%} of games end with %{x}",
    }));
    const order = [...new Set(data.distributions.flatMap((one) => Object.keys(one.tiles)))].sort((a, b) => a - b);
    const plain = layout("largest tile", "share of games", false, false);
    Object.assign(plain.xaxis, { type: "category", categoryorder: "array", categoryarray: order });
    show("scores", scores, layout("score", "share of games", true, false), HEIGHT);
    show("tiles", tiles, plain, HEIGHT);
  }

  function fill(select, entries, chosen) {
    for (const [value, text] of entries) select.add(new Option(text, value, false, value === chosen));
  }

  function compareCells(one, other) {
    const [a, b] = [Number(one), Number(other)];
    return Number.isNaN(a) || Number.isNaN(b) ? one.localeCompare(other) : a - b;
  }

  // A click on a heading sorts the rows, or the bodies if rows of the table belong together: first up, then down.
  function makeSortable(table) {
    table.querySelectorAll("th").forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "descending";
        table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "ascending" : "descending");
        const grouped = table.matches("#groups, .papers table");
        const parts = [...(grouped ? table.tBodies : table.tBodies[0].rows)];
        const key = (part) => (grouped ? part.rows[0] : part).cells[column].dataset.value;
        parts.sort((one, other) => (down ? 1 : -1) * compareCells(key(one), key(other)));
        parts.forEach((part) => part.parentNode.append(part));
      });
    });
  }

  // The figure's settings stand in the address, as in #metric=eval/score_mean&axis=2&logx=1, so that a link keeps them.
  const SELECTS = ["metric", "axis", "band", "panels"], CHECKS = ["logx", "logy", "papers"];

  function remember() {
    const words = SELECTS.map((id) => `${id}=${element(id).value}`);
    const place = words.concat(CHECKS.map((id) => `${id}=${Number(element(id).checked)}`)).join("&");
    history.replaceState(null, "", `#${place}`); // without the event hashchange, which draws too
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
  const choices = data.metrics.map(([name, , meaning]) => [name, `${words(meaning)} · ${name}`]);
  fill(element("metric"), choices, names.includes(SCORE) ? SCORE : names[0]);
  fill(element("axis"), data.axes.map((label, number) => [String(number), label]), String(data.axis));
  fill(element("panels"), ["one", ...data.keys.map((key) => `by ${key}`)].map((text, i) => [String(i), text]), "0");
  recall();
  element("axis").addEventListener("change", chooseScale);
  for (const id of [...SELECTS, ...CHECKS]) {
    element(id).addEventListener("change", () => { remember(); draw(); });
  }
  window.addEventListener("hashchange", () => { recall(); draw(); });
  for (const change of [dark, narrow]) change.addEventListener("change", () => { draw(); drawBelow(); });
  document.querySelectorAll("table").forEach(makeSortable);
  element("first")?.addEventListener("change", ({ target }) => {
    document.querySelectorAll("#differences tbody tr").forEach((row) => { row.hidden = row.dataset.first !== target.value; });
  });
  document.querySelectorAll(".fold").forEach((button) => button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    button.closest("tbody").querySelectorAll(".seed").forEach((row) => { row.hidden = !open; });
  }));
  draw();
  setTimeout(drawBelow); // the page is shown before
})();
