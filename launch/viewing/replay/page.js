// The page of `muzero2048 replay`. All that it shows is in its data: it knows no rule of the game.
"use strict";
(() => {
  const { makeBoard, makeMoves, make, NAMES } = Board2048;
  const TYPES = { Uint8Array, Int8Array, Int16Array, Int32Array, Float32Array, Float64Array };
  const PAGE = 100; // moves of page up and page down
  const LISTED = 15; // mistakes that a click on "more" adds
  const MARKED = 60; // mistakes that the curves mark
  const SPOKEN_MS = 700; // a position is announced when it stays so long
  const SVG = "http://www.w3.org/2000/svg";
  const element = (id) => document.getElementById(id);
  const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
  const cents = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  const points = (value) => (Math.abs(value) < 1000 ? cents : whole).format(value);

  const data = JSON.parse(element("data").textContent);
  const { cells, made, spawn, reward, gain, hint } = Object.fromEntries(
    Object.entries(data.arrays).map(([name, packed]) => [name, unpack(packed)]));
  const views = Object.fromEntries(Object.entries(data.views).map(([name, view]) => [name, {
    name: view.name, unit: view.unit, action: unpack(view.action), value: unpack(view.value), effort: unpack(view.effort),
    ...(view.tables ? { tables: view.tables, table: unpack(view.table), probability: unpack(view.probability) } : {}),
  }]));
  const size = data.rows * data.columns;

  let game = data.games[data.first], move = 0, timer = 0, speaking = 0, curves = [];

  // An array of numbers; its bytes are little-endian, as those of all machines that run a browser.
  function unpack({ type, data: text }) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new TYPES[type](bytes.buffer);
  }

  // ---- what is stored of a position; `at` counts the positions of all games

  function levelsOf(at) {
    return Array.from({ length: data.rows }, (_, row) =>
      Array.from(cells.subarray(at * size + row * data.columns, at * size + (row + 1) * data.columns)));
  }

  function spawnOf(at) {
    const cell = spawn[at];
    return cell < 0 ? null : { row: Math.floor(cell / data.columns), column: cell % data.columns };
  }

  // The values of a position as `muzero2048 moves --json` has them; null: nobody was asked.
  function adviceOf(view, at) {
    const moves = {};
    let isKnown = false;
    NAMES.forEach((name, action) => {
      const points = reward[4 * at + action], value = view ? view.value[4 * at + action] : NaN;
      if (points < 0) return;
      isKnown ||= Number.isFinite(value) || (view && view.action[at] >= 0);
      moves[name] = {
        reward: points, value: Number.isFinite(value) ? value : null,
        [view && view.unit === "visits" ? "visits" : "ply"]: view ? view.effort[4 * at + action] : 0,
      };
    });
    if (view && !isKnown && Object.keys(moves).length) return null;
    const action = view && view.action[at] >= 0 ? NAMES[view.action[at]] : null;
    if (!view?.tables || view.table[at] < 0) return { action, moves };
    const probabilities = Object.fromEntries(NAMES.map((name, a) => [name, view.probability[4 * at + a]]).filter(([name]) => name in moves));
    return { action, moves, endgame: { table: view.tables[view.table[at]], probabilities } };
  }

  const valueOfMade = (view, at) => (made[at] < 0 ? NaN : view.value[4 * at + made[at]]);

  function bestOf(view, at) {
    let best = -1;
    for (let action = 0; action < 4; action++) {
      const value = view.value[4 * at + action];
      if (Number.isFinite(value) && (best < 0 || value > view.value[4 * at + best])) best = action;
    }
    return best;
  }

  function sums(one) {
    const score = new Float64Array(one.moves + 1);
    score[0] = one.opening;
    for (let t = 0; t < one.moves; t++) score[t + 1] = score[t] + gain[one.start + t];
    return score;
  }

  // ---- the position that is shown

  const board = makeBoard(element("board"));
  const tables = {};
  for (const name of ["own", "judge"]) {
    const view = views[name], isShown = Boolean(view) || (name === "own" && !views.judge);
    element(`${name}-part`).hidden = !isShown;
    if (!isShown) continue;
    tables[name] = makeMoves(element(name));
    const title = name === "own" ? "player" : "judge";
    element(`${name}-name`).textContent = view ? `${title}: ${view.name}` : "points of the moves";
    element(name).classList.add(...(view ? [] : ["without-value"]), ...(view && view.unit !== "points" ? [] : ["without-effort"]));
  }

  let score = sums(game);

  function show() {
    const at = game.start + move, levels = levelsOf(at);
    board.show(levels, spawnOf(at), data.tiles);
    element("score").textContent = whole.format(score[move]);
    element("tile").textContent = data.tiles[Math.max(...levels.flat())];
    element("hint").textContent = data.hints[hint[at]];
    element("hint").parentElement.hidden = !data.hints[hint[at]];
    for (const [name, table] of Object.entries(tables)) {
      const advice = adviceOf(views[name], at);
      table.clear();
      if (advice) table.show(advice);
      const note = element(name).querySelector(".note");
      if (!advice) note.textContent = "not asked here";
      else if (!views[name]) note.textContent = "";
      else if (advice.action === null && Object.keys(advice.moves).length) note.textContent = "no values";
      element(name).querySelectorAll("tbody tr").forEach((row, i) => row.classList.toggle("made", NAMES[i] === NAMES[made[at]]));
    }
    element("verdict").replaceChildren(...verdict(at));
    element("slider").value = move;
    element("slider").setAttribute("aria-valuetext", `move ${move} of ${game.moves}`);
    if (document.activeElement !== element("move")) element("move").value = move;
    for (const curve of curves) curve.moveCursor();
    document.querySelectorAll("#mistakes tr[data-at]").forEach((row) => row.classList.toggle("here", Number(row.dataset.at) === at));
    clearTimeout(speaking);
    speaking = setTimeout(settle, SPOKEN_MS);
  }

  // Announce a position that stays, and keep it in the address.
  function settle() {
    const place = `#game=${game.number}&move=${move}`;
    if (location.hash !== place) history.replaceState(null, "", place);
    if (!timer) element("live").textContent = `move ${move} of ${game.moves}; ${element("verdict").textContent}`;
  }

  function verdict(at) {
    if (made[at] < 0) return [game.over ? "the game is over" : "the record ends here"];
    const strong = (text) => make("b", "", null, text);
    const said = ["● made: ", strong(NAMES[made[at]])];
    const view = views.judge || views.own;
    const best = view ? bestOf(view, at) : -1, loss = view && best >= 0 ? view.value[4 * at + best] - valueOfMade(view, at) : NaN;
    const who = views.judge ? "the judge" : "the player's values";
    if (loss > 0) {
      const lost = make("span", "bad", null, `loses ${points(loss)}`);
      said.push(" · ", lost, ` by ${who}; better: `, strong(NAMES[best]));
    } else if (loss === 0) said.push(` · best by ${who}`);
    return said;
  }

  // ---- moving

  function goTo(wanted) {
    move = Math.max(0, Math.min(game.moves, Math.round(wanted) || 0));
    show();
  }

  function choose(index) {
    game = data.games[index];
    score = sums(game);
    element("game").value = index;
    element("slider").max = element("move").max = game.moves;
    element("of").textContent = `of ${whole.format(game.moves)}`;
    move = 0;
    drawCurves();
  }

  function jump(at) {
    pause();
    const index = data.games.findIndex(({ start, moves }) => start <= at && at <= start + moves);
    if (data.games[index] !== game) choose(index);
    goTo(at - game.start);
  }

  function play() {
    if (move === game.moves) move = 0;
    element("play").setAttribute("aria-pressed", "true");
    element("play").textContent = "Pause";
    let shown = performance.now();
    const step = (now) => {
      const steps = Math.floor((now - shown) * Number(element("speed").value) / 1000);
      if (steps > 0) {
        shown += 1000 * steps / Number(element("speed").value);
        goTo(move + Math.min(steps, PAGE));
      }
      if (move === game.moves) pause();
      else timer = requestAnimationFrame(step);
    };
    timer = requestAnimationFrame(step);
  }

  function pause() {
    cancelAnimationFrame(timer);
    timer = 0;
    element("play").setAttribute("aria-pressed", "false");
    element("play").textContent = "Play";
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { target } = event;
    if (target.closest("select, input[type=number]")) return;
    if (event.key === " " && target.closest("button")) return; // space is the button's own key
    const to = {
      ArrowLeft: move - 1, ArrowRight: move + 1, Home: 0, End: game.moves, PageUp: move - PAGE, PageDown: move + PAGE,
    }[event.key];
    if (to !== undefined) {
      pause();
      goTo(to);
    } else if (event.key === " ") {
      if (timer) pause(); else play();
    } else return;
    event.preventDefault();
  }

  // ---- charts

  function draw(tag, attributes, parent, text) {
    const found = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
    if (text !== undefined) found.textContent = text;
    if (parent) parent.append(found);
    return found;
  }

  // Round numbers from `low` to `high`, about `count` of them.
  function ticksOf(low, high, count) {
    const raw = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((unit) => unit * power).find((one) => one >= raw);
    const found = [];
    for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) found.push(tick || 0); // not -0
    return found;
  }

  // An empty chart in `parent` with axes; returns its scales.
  function makeChart(parent, { title, height, x, y, format, ticks }) {
    const holder = make("div", "chart", parent), width = Math.max(240, Math.floor(parent.clientWidth));
    const [left, right, top, bottom] = [46, 8, 20, 18];
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": title }, holder);
    const scale = (from, to, start, end) => (value) => start + (value - from) / (to - from || 1) * (end - start);
    const chart = {
      svg, width, left, right: width - right, top, bottom: height - bottom, x: scale(...x, left, width - right),
      y: scale(...y, height - bottom, top),
    };
    draw("text", { x: left, y: 12, class: "title" }, svg, title);
    for (const tick of ticks || ticksOf(...y, 3)) {
      draw("line", { x1: left, x2: width - right, y1: chart.y(tick), y2: chart.y(tick), class: "grid" }, svg);
      draw("text", { x: left - 6, y: chart.y(tick) + 4, "text-anchor": "end" }, svg, format(tick));
    }
    for (const tick of ticksOf(...x, width < 500 ? 4 : 8)) {
      const anchor = chart.x(tick) > width - 30 ? "end" : "middle";
      draw("text", { x: chart.x(tick), y: height - 4, "text-anchor": anchor }, svg, short.format(Math.abs(tick)));
    }
    return chart;
  }

  // A line through (i, values[i]); of the values in one pixel it draws the lowest and the highest. A line of steps has
  // no slopes.
  function addLine(chart, values, classes, isSteps = false) {
    let path = "", column = -1, low = 0, high = 0, first = 0, last = 0;
    const flush = () => {
      if (column < 0) return;
      for (const value of first === last && low === high ? [first] : [first, low, high, last]) {
        const y = chart.y(value).toFixed(1);
        if (!path) path = `M${column} ${y}`;
        else path += isSteps ? `H${column}V${y}` : `L${column} ${y}`;
      }
    };
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (!Number.isFinite(value)) continue;
      const here = values.length > chart.width ? Math.round(chart.x(i)) : Number(chart.x(i).toFixed(1));
      if (here !== column) {
        flush();
        [column, low, high, first] = [here, value, value, value];
      }
      low = Math.min(low, value);
      high = Math.max(high, value);
      last = value;
    }
    flush();
    draw("path", { d: path, class: `curve ${classes}` }, chart.svg);
  }

  function rangeOf(...lines) {
    let low = 0, high = 1;
    for (const line of lines) for (const value of line) {
      if (value < low) low = value;
      if (value > high && value < Infinity) high = value;
    }
    return [low, high];
  }

  function drawCurves() {
    const parent = element("curves"), { start, moves } = game, last = moves + 1;
    const x = [0, Math.max(1, moves)];
    parent.replaceChildren();
    const valuesOf = (view) => (view ? Float64Array.from({ length: last }, (_, t) => valueOfMade(view, start + t)) : []);
    const own = valuesOf(views.own), judged = valuesOf(views.judge);
    const rest = game.over ? score.map((points) => score[moves] - points) : [];
    const levels = Uint8Array.from({ length: last }, (_, t) => {
      let most = 0;
      for (let i = (start + t) * size; i < (start + t + 1) * size; i++) if (cells[i] > most) most = cells[i];
      return most;
    });
    const top = Math.max(...levels.slice(-1)), charts = [];
    charts.push(makeChart(parent, { title: "score", height: 110, x, y: rangeOf(score), format: short.format }));
    addLine(charts[0], score, "own");
    if (views.own || views.judge) {
      const y = rangeOf(own, judged, rest);
      charts.push(makeChart(parent, { title: "value: points still expected", height: 150, x, y, format: short.format }));
      addLine(charts[1], rest, "actual");
      addLine(charts[1], judged, "judged");
      addLine(charts[1], own, "own");
      const found = data.mistakes.filter(({ at }) => at >= start && at < start + moves).slice(0, MARKED);
      for (const { at } of found) {
        const place = charts[1].x(at - start);
        draw("line", { x1: place, x2: place, y1: charts[1].bottom - 7, y2: charts[1].bottom, class: "lost" }, charts[1].svg);
      }
    }
    const tiles = Array.from({ length: Math.min(4, top) }, (_, i) => top - i);
    const y = [Math.max(0, top - 4), top];
    const chart = makeChart(parent, { title: "largest tile", height: 96, x, y, format: (level) => data.tiles[level], ticks: tiles });
    addLine(chart, levels.map((level) => Math.max(level, y[0])), "own", true);
    charts.push(chart);
    curves = charts.map((one) => follow(one, moves));
    element("legend").replaceChildren(...[
      views.own && ["own", "value of the move made, by the player"], views.judge && ["judged", "by the judge"],
      (views.own || views.judge) && game.over && ["actual", "rest of the score"],
      data.mistakes.length && ["lost", "a mistake of the list"],
    ].filter(Boolean).map(([classes, text]) => {
      const entry = make("span");
      make("i", classes, entry);
      entry.append(text);
      return entry;
    }));
  }

  // A line at the position that is shown; a click or a drag moves it.
  function follow(chart, moves) {
    const line = draw("line", { y1: chart.top - 4, y2: chart.bottom, class: "cursor" }, chart.svg);
    const seek = (event) => {
      const box = chart.svg.getBoundingClientRect(), place = (event.clientX - box.left) * chart.width / box.width;
      pause();
      goTo((place - chart.left) / (chart.right - chart.left) * moves);
    };
    chart.svg.addEventListener("pointerdown", seek);
    chart.svg.addEventListener("pointermove", (event) => { if (event.buttons & 1) seek(event); });
    const moveCursor = () => {
      line.setAttribute("x1", chart.x(move));
      line.setAttribute("x2", chart.x(move));
    };
    moveCursor();
    return { moveCursor };
  }

  function drawLastMoves() {
    const parent = element("last"), { last } = data;
    parent.replaceChildren();
    if (last.length < 2) return;
    const [x, y] = [[-(last.length - 1), 0], [0, Math.max(1, ...last.map(({ high, mean }) => Math.max(high, mean)))]];
    const title = "empty cells, by moves before the end", format = (tick) => fine.format(tick);
    const chart = makeChart(parent, { title, height: 200, x, y, format });
    const at = (name, row) => `${chart.x(-row.before).toFixed(1)} ${chart.y(row[name]).toFixed(1)}`;
    const around = [...last.map((row) => at("low", row)), ...[...last].reverse().map((row) => at("high", row))];
    draw("path", { d: `M${around.join("L")}Z`, class: "band" }, chart.svg);
    draw("path", { d: `M${last.map((row) => at("mean", row)).join("L")}`, class: "curve own" }, chart.svg);
  }

  function drawCalibration() {
    const parent = element("calibration"), { bins } = data;
    if (!parent) return;
    parent.replaceChildren();
    const y = rangeOf(bins.map(({ actual }) => actual), bins.map(({ predicted }) => predicted));
    const title = "mean rest of the score, by mean value";
    const chart = makeChart(parent, { title, height: 240, x: y, y, format: short.format });
    draw("line", { x1: chart.x(y[0]), y1: chart.y(y[0]), x2: chart.x(y[1]), y2: chart.y(y[1]), class: "curve actual" }, chart.svg);
    const most = Math.max(...bins.map(({ positions }) => positions));
    for (const { predicted, actual, positions } of bins) {
      const dot = draw("circle", { cx: chart.x(predicted), cy: chart.y(actual), class: "dot" }, chart.svg);
      dot.setAttribute("r", 2 + 5 * Math.sqrt(positions / most));
      draw("title", {}, dot, `value ${fine.format(predicted)}, rest ${fine.format(actual)}, ${whole.format(positions)} positions`);
    }
  }

  // ---- the list of mistakes

  function listMistakes() {
    const parent = element("mistakes"), view = views.judge || views.own;
    if (!data.mistakes.length) return;
    const table = make("table", "plain", make("div", "table", parent)), head = make("tr", "", make("thead", "", table));
    for (const title of ["position", "loss", "made", "better"]) make("th", "", head, title).scope = "col";
    const body = make("tbody", "", table), more = make("button", "more", parent);
    more.type = "button";
    const add = () => {
      for (const { at, better, loss } of data.mistakes.slice(body.rows.length, body.rows.length + LISTED)) {
        const row = make("tr", "", body), title = make("th", "", row);
        const one = data.games.find(({ start, moves }) => start <= at && at <= start + moves);
        row.dataset.at = at;
        title.scope = "row";
        const link = make("button", "link", title, `game ${one.number}, move ${at - one.start}`);
        link.type = "button";
        link.addEventListener("click", () => {
          jump(at);
          element("choice").scrollIntoView({ block: "start" });
        });
        const value = (action) => view.value[4 * at + action];
        make("td", "", row, points(loss)).title = loss;
        for (const action of [made[at], better]) {
          const cell = make("td", "move", row, NAMES[action]);
          make("small", "", cell, points(value(action))).title = value(action);
        }
      }
      const left = data.mistakes.length - body.rows.length;
      more.hidden = left === 0;
      more.textContent = `${Math.min(left, LISTED)} more of ${left}`;
    };
    more.addEventListener("click", add);
    add();
  }

  // ---- the start

  function worstMove() {
    const worst = data.mistakes.find(({ at }) => at >= game.start && at < game.start + game.moves);
    return worst ? worst.at - game.start : 0;
  }

  function openAddress() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const index = data.games.findIndex(({ number }) => String(number) === asked.get("game"));
    choose(index >= 0 ? index : data.first);
    goTo(asked.has("game") || asked.has("move") ? Number(asked.get("move")) : worstMove());
  }

  function start() {
    const name = ({ number, score, tile, moves, over }) =>
      `game ${number}: score ${whole.format(score)}, tile ${tile}, ${whole.format(moves)} moves${over ? "" : ", not over"}`;
    element("game").replaceChildren(...data.games.map((one, index) => new Option(name(one), index)));
    element("game").addEventListener("change", (event) => { pause(); choose(Number(event.target.value)); goTo(0); });
    element("move").addEventListener("input", (event) => { if (event.target.value !== "") { pause(); goTo(Number(event.target.value)); } });
    element("slider").addEventListener("input", (event) => { pause(); goTo(Number(event.target.value)); });
    const places = { begin: () => 0, back: () => move - 1, next: () => move + 1, end: () => game.moves };
    for (const [id, place] of Object.entries(places)) {
      element(id).addEventListener("click", () => { pause(); goTo(place()); });
    }
    element("play").addEventListener("click", () => (timer ? pause() : play()));
    document.addEventListener("keydown", onKey);
    listMistakes();
    openAddress();
    drawLastMoves();
    drawCalibration();
    let width = document.body.clientWidth;
    new ResizeObserver(() => {
      if (document.body.clientWidth === width) return;
      width = document.body.clientWidth;
      drawCurves();
      drawLastMoves();
      drawCalibration();
    }).observe(document.body);
    window.addEventListener("hashchange", openAddress);
  }

  start();
})();
