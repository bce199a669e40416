// A board, and what a player says of it: bars of the four moves, the line that it expects, the outcomes of the spawn.
// It needs board.css and nothing else, so that pages without a server can use it.
"use strict";
const Board2048 = (() => {
  const NAMES = ["up", "right", "down", "left"];
  const ARROWS = { up: "↑", right: "→", down: "↓", left: "←" };
  const POWERS = Array.from({ length: 18 }, (_, level) => (level ? 2 ** level : 0)); // tiles of 2048 by their levels
  const COLOURS = POWERS.length; // of board.css
  const points = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  const LONG_PRESS_MS = 500;
  const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
  const cents = new Intl.NumberFormat("en", { maximumFractionDigits: 2, signDisplay: "negative" }); // no -0

  function make(tag, classes, parent, text) {
    const element = document.createElement(tag);
    if (classes) element.className = classes;
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  }

  // The colour of a tile; of more levels than colours, neighbours share some.
  const shadeOf = (level, tiles) =>
    (level < 2 || tiles.length <= COLOURS ? level : 1 + Math.floor((level - 1) * (COLOURS - 2) / (tiles.length - 2)));
  const number = (value) => (Math.abs(value) < 100 ? cents : Math.abs(value) < 1000 ? fine : points).format(value);

  // Describe a board in words, for screen readers.
  function inWords(levels, tiles = POWERS) {
    return levels.map((row, r) => `row ${r + 1}: ${row.map((level) => tiles[level] || "empty").join(", ")}`).join("; ");
  }

  // A board in `element`; `edit(row, column, by)` is called when a cell is changed by hand: 1 raises the tile, -1 lowers
  // it, 0 empties the cell. `stroke()` is what a click does, one of these.
  function makeBoard(element, edit, stroke = () => 1) {
    const grid = make("div", "board", element);
    grid.setAttribute("role", "group");
    let cells = [], shape = "", editing = false, levels = [], tiles = POWERS, name = "board";

    function build() {
      grid.replaceChildren();
      grid.style.setProperty("--rows", levels.length);
      grid.style.setProperty("--columns", levels[0].length);
      cells = levels.map((row, r) => row.map((_, c) => {
        const cell = make("button", "cell", grid);
        cell.type = "button";
        listen(cell, (by) => edit?.(r, c, by));
        cell.addEventListener("keydown", (event) => keys(event, r, c));
        return cell;
      }));
    }

    // A click changes a cell by `stroke()`; with shift, the right button or a long press it lowers the tile.
    function listen(cell, change) {
      let press = 0, wasLong = false;
      const lower = () => {
        wasLong = press !== 0; // the click at its end is none
        endPress();
        change(-1);
      };
      const endPress = () => { clearTimeout(press); press = 0; };
      cell.addEventListener("pointerdown", ({ pointerType }) => {
        wasLong = false;
        if (pointerType === "touch") press = setTimeout(lower, LONG_PRESS_MS);
      });
      for (const end of ["pointerup", "pointercancel", "pointerleave"]) cell.addEventListener(end, endPress);
      cell.addEventListener("contextmenu", (event) => {
        event.preventDefault();
        if (!wasLong) lower(); // browsers send it for a long press too
      });
      cell.addEventListener("click", ({ shiftKey }) => {
        if (!wasLong) change(shiftKey ? -1 : stroke());
        wasLong = false;
      });
    }

    function keys(event, r, c) {
      const to = { ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1] }[event.key];
      if (to) cells[to[0]]?.[to[1]]?.focus();
      else if (event.key === "Backspace" || event.key === "Delete") edit?.(r, c, 0);
      else return;
      event.preventDefault();
      event.stopPropagation();
    }

    // `ofLevels`: the tile of each level.
    function show(shown, spawn, ofLevels = POWERS) {
      levels = shown;
      tiles = ofLevels;
      const wanted = `${levels.length}x${levels[0].length} ${tiles}`;
      if (wanted !== shape) { shape = wanted; build(); }
      levels.forEach((row, r) => row.forEach((level, c) => {
        const cell = cells[r][c], tile = tiles[level], shade = shadeOf(level, tiles);
        const isNew = Boolean(spawn && spawn.row === r && spawn.column === c);
        if (cell.shown !== level) {
          cell.shown = level;
          cell.textContent = tile || "";
          cell.dataset.level = shade;
          cell.dataset.digits = String(tile).length;
          cell.style.setProperty("--level", shade);
          cell.setAttribute("aria-label", `row ${r + 1}, column ${c + 1}: ${tile || "empty"}`);
        }
        cell.classList.toggle("new", isNew);
        cell.disabled = !editing;
      }));
      grid.setAttribute("aria-label", `${name}; ${inWords(levels, tiles)}`);
    }

    function setName(wanted) {
      name = wanted;
      grid.setAttribute("aria-label", `${name}; ${inWords(levels, tiles)}`);
    }

    function setEditing(on) {
      editing = on;
      grid.classList.toggle("editing", on);
      cells.flat().forEach((cell) => { cell.disabled = !on; });
    }

    return { show, setName, setEditing, element: grid };
  }

  // A cell of the table with a bar; `share` from 0 to 1, null: no bar.
  function bar(cell, share, text, title) {
    cell.text.textContent = text;
    cell.fill.style.width = share === null ? "0" : `${(100 * Math.max(0, Math.min(1, share))).toFixed(1)}%`;
    cell.title = title || "";
  }

  // Where bars of values begin: at 0 if that leaves differences to see, else a little below the lowest value.
  function scaleOf(values) {
    const low = Math.min(...values), high = Math.max(...values);
    if (low >= 0 && low < 0.7 * high) return [0, high];
    return high > low ? [low - 0.2 * (high - low), high] : [low - 1, high];
  }

  // The table of the four moves in `element`.
  function makeMoves(element) {
    const table = make("table", "moves", element), head = make("tr", "", make("thead", "", table));
    const titles = Object.fromEntries(["move", "reward", "value", "effort", "policy"].map((name) => {
      const title = make("th", `of-${name}`, head, name === "effort" ? "" : name);
      title.scope = "col";
      return [name, title];
    }));
    const body = make("tbody", "", table), rows = {};
    for (const name of NAMES) {
      const row = make("tr", "", body), title = make("th", "of-move", row);
      title.scope = "row";
      make("span", "arrow", title, ARROWS[name]).setAttribute("aria-hidden", "true");
      make("span", "", title, name);
      const cells = { row, reward: make("td", "of-reward", row) };
      for (const kind of ["value", "effort", "policy"]) {
        const cell = make("td", `bar of-${kind}`, row);
        cell.fill = make("span", "fill", cell);
        if (kind === "value") {
          cell.loss = make("span", "loss", cell);
          cell.loss.setAttribute("aria-hidden", "true"); // it would be read as a second number of the cell
        }
        cell.text = make("span", "text", cell);
        cells[kind] = cell;
      }
      rows[name] = cells;
    }
    const note = make("p", "note", element), line = make("p", "line", element), endgame = make("p", "line", element);
    const chances = makeChances(element);

    function clear() {
      for (const cells of Object.values(rows)) {
        cells.row.className = "";
        cells.reward.textContent = "";
        cells.value.loss.textContent = "";
        for (const kind of ["value", "effort", "policy"]) bar(cells[kind], null, "");
      }
      titles.effort.textContent = "";
      table.classList.remove("with-policy");
      note.textContent = line.textContent = endgame.textContent = "";
      chances([]);
    }

    // `advice` as `muzero2048 moves --json` prints it; `milliseconds` of the search or undefined.
    function show(advice, milliseconds) {
      const found = Object.entries(advice.moves), unit = found.length && "visits" in found[0][1] ? "visits" : "ply";
      const values = found.map(([, move]) => move.value).filter((value) => value !== null);
      const [from, to] = values.length ? scaleOf(values) : [0, 1];
      const efforts = found.map(([, move]) => move[unit]), total = efforts.reduce((a, b) => a + b, 0);
      const policy = advice.policy || null;
      table.classList.toggle("with-policy", Boolean(policy));
      titles.effort.textContent = unit === "ply" ? "depth" : "visits";
      for (const name of NAMES) {
        const cells = rows[name], move = advice.moves[name];
        cells.row.className = move ? (name === advice.action ? "chosen" : "") : "illegal";
        cells.value.loss.textContent = "";
        if (!move) {
          cells.reward.textContent = "";
          bar(cells.value, null, "not legal");
          bar(cells.effort, null, "");
          bar(cells.policy, null, "");
          continue;
        }
        cells.reward.textContent = points.format(move.reward);
        if (move.value === null) bar(cells.value, null, "unknown");
        else {
          bar(cells.value, (move.value - from) / (to - from), number(move.value), String(move.value));
          const loss = number(to - move.value); // against the best move
          if (loss !== "0") cells.value.loss.textContent = `−${loss}`;
        }
        bar(cells.effort, unit === "visits" && total ? move[unit] / total : null, points.format(move[unit]));
        if (policy) bar(cells.policy, policy[name], `${(100 * policy[name]).toFixed(1)}%`);
      }
      note.textContent = noteOf(advice, unit, efforts, total, values.length ? [from, to] : null, milliseconds);
      line.textContent = advice.line ? `expects ${advice.line.join(", ")}` : "";
      endgame.textContent = advice.endgame ? inTable(advice.endgame) : "";
      chances(advice.chances || []);
    }

    return { show, clear };
  }

  // The table of an endgame that removes moves: the probability of its target after each legal move.
  function inTable({ table, probabilities }) {
    return `${table}: ${Object.entries(probabilities).map(([name, share]) => `${name} ${share.toFixed(4)}`).join(", ")}`;
  }

  function noteOf(advice, unit, efforts, total, scale, milliseconds) {
    if (advice.action === null) return "no move is legal: the game is over";
    const said = [`plays ${advice.action}`];
    const depth = Math.max(...efforts);
    if (unit === "ply" && depth) said.push(`depth ${depth} ply`);
    if (unit === "visits") said.push(`${points.format(total)} visits`);
    if (milliseconds !== undefined) said.push(milliseconds < 1000 ? `${fine.format(milliseconds)} ms` : `${fine.format(milliseconds / 1000)} s`);
    if (scale) said.push(`bars of value from ${number(scale[0])} to ${number(scale[1])} points`);
    return said.join(" · ");
  }

  // The spawns after the chosen move: probability, visits and value of each.
  function makeChances(element) {
    const details = make("details", "chances", element), summary = make("summary", "", details);
    const table = make("table", "", details), head = make("tr", "", make("thead", "", table));
    for (const title of ["spawn", "probability", "visits", "value"]) make("th", "", head, title).scope = "col";
    const body = make("tbody", "", table);
    details.hidden = true;
    return (found) => {
      details.hidden = !found.length;
      if (!found.length) return;
      summary.textContent = `${found.length} outcomes of the spawn after it`;
      body.replaceChildren(...found.map((one) => {
        const row = make("tr");
        make("th", "", row, one.spawn).scope = "row";
        const cell = make("td", "bar", row);
        cell.fill = make("span", "fill", cell);
        cell.text = make("span", "text", cell);
        bar(cell, one.probability, `${(100 * one.probability).toFixed(1)}%`);
        make("td", "", row, points.format(one.visits));
        make("td", "", row, one.value === null ? "–" : number(one.value));
        return row;
      }));
    };
  }

  return { makeBoard, makeMoves, make, inWords, NAMES };
})();
