// The page of `muzero2048 serve`. It holds the games; the server knows the rules and asks the players.
"use strict";
(() => {
  const { makeBoard, makeMoves, make, inWords } = Board2048;
  const element = (id) => document.getElementById(id);
  const SPEEDS = [0.5, 1, 2, 5, 10, 30, 60, Infinity]; // moves a second
  const KEYS = {
    ArrowUp: "up", ArrowRight: "right", ArrowDown: "down", ArrowLeft: "left", w: "up", d: "right", s: "down", a: "left",
  };
  const AHEAD_SECONDS = 1.5; // moves that are asked for before they are shown
  const MOST_COUNT = 120; // moves of one answer
  const MOST_STEPS_A_FRAME = 40; // at the highest speed
  const MOST_KEPT = 200; // boards that were left whose advice is kept
  const SWIPE = 24; // pixels
  const SPOKEN_MS = 2500; // between two announcements while a player plays

  let listing = { agents: [], boards: [] };
  let sides = [], active = 0, playing = false, due = 0, spokenAt = 0;
  const chosen = { board: "4x4", seed: 1 }; // of the game that is shown

  // ---- the server

  async function post(path, content, signal) {
    const answer = await fetch(path, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content), signal,
    });
    if (!answer.ok) throw new Error((await answer.json()).error);
    return answer;
  }

  async function call(path, content) {
    const found = await (await post(path, content)).json();
    if (found.error) throw new Error(found.error); // something was mistyped
    return found;
  }

  // Throw an error of one line if a number was mistyped: the server would refuse it.
  function checkNumber(input, name) {
    if (input.checkValidity()) return;
    const kind = input.step === "any" ? "a number" : "a whole number";
    throw new Error(`${name}: give ${kind} ${input.max ? `from ${input.min} to ${input.max}` : `of ${input.min} or more`}`);
  }

  // The answer of a player; `progress` is called with the state of the search while it lasts.
  async function ask(question, signal, progress) {
    const answer = await post("/api/ask", question, signal);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      const { value, done } = await reader.read();
      if (done) throw new Error("the server ended the answer");
      text += value;
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
        const [, name, data] = text.slice(0, end).match(/^event: (\w+)\ndata: ([^]*)$/);
        const content = JSON.parse(data);
        if (name === "result") return content;
        if (name === "error") throw new Error(content.error);
        progress(content);
      }
    }
  }

  // ---- one player with its board

  class Side {
    constructor(parent) {
      this.root = make("section", "side", parent);
      this.makeForm();
      const field = make("div", "field", this.root);
      const stroke = () => Number(element("stroke").value);
      this.board = makeBoard(field, (row, column, level) => this.edit(row, column, level), stroke);
      const numbers = make("p", "numbers", field);
      this.score = make("b", "", make("span", "", numbers, "score"));
      this.count = make("b", "", make("span", "", numbers, "moves"));
      const said = make("div", "said", this.root);
      this.moves = makeMoves(said);
      this.status = make("div", "state row", said);
      this.statusText = make("span", "", this.status);
      this.stopButton = make("button", "", this.status, "Stop");
      this.stopButton.type = "button";
      this.stopButton.hidden = true;
      this.stopButton.addEventListener("click", () => { pause(); this.stop("stopped"); });
      this.root.addEventListener("pointerdown", () => activate(sides.indexOf(this)));
      listenToSwipes(this.board.element, (name) => this.human(name));
      this.queue = []; // what the player says of the board that is shown, and its next moves
      this.history = [];
      this.request = null;
      this.player = ""; // the name that the player gave itself
      this.doing = Promise.resolve(); // moves by hand, one after another
    }

    makeForm() {
      const form = make("form", "player row", this.root);
      form.noValidate = true;
      form.addEventListener("submit", (event) => event.preventDefault());
      const field = (name, input, text, parent = form) => {
        const label = make("label", "", parent, `${text} `);
        label.append(input);
        input.classList.add(name);
        input.addEventListener("change", () => this.changed(name));
        return input;
      };
      const input = (type) => Object.assign(document.createElement("input"), { type });
      this.agent = field("agent", document.createElement("select"), "player");
      this.search = field("search", document.createElement("select"), "search");
      this.number = field("count", Object.assign(input("number"), { min: 1, placeholder: "default" }), "");
      this.numberText = this.number.parentElement.firstChild;
      this.more = make("details", "", form);
      make("summary", "", this.more, "more");
      const more = make("div", "row", this.more);
      const seconds = Object.assign(input("number"), { min: 0, step: "any", placeholder: "no limit" });
      this.seconds = field("seconds", seconds, "seconds a move", more);
      const words = Object.assign(input("text"), { maxLength: 500, placeholder: "search.key=value", spellcheck: false });
      this.overrides = field("overrides", words, "settings", more);
    }

    // Offer the players of the board; keep the one that was chosen if it is among them.
    offer(preferred) {
      this.player = "";
      const before = this.agent.value || preferred;
      const able = listing.agents.filter(({ board }) => board === null || board === chosen.board);
      this.agent.replaceChildren(...able.map(({ id }) => new Option(id, id)));
      this.agent.value = able.some(({ id }) => id === before) ? before : able[0].id;
      this.offerSearches();
    }

    offerSearches() {
      const { searches } = listing.agents.find(({ id }) => id === this.agent.value);
      const before = this.search.value;
      this.search.replaceChildren(...searches.map(({ name }) => new Option(name, name)));
      if (searches.some(({ name }) => name === before)) this.search.value = before;
      this.search.parentElement.hidden = searches.length === 0;
      this.offerNumbers(searches.find(({ name }) => name === this.search.value));
    }

    offerNumbers(search) {
      const counts = search?.counts || "";
      if (this.counts !== counts) this.number.value = "";
      this.counts = counts;
      this.numberText.textContent = `${counts} `;
      this.number.max = search?.most ?? "";
      this.number.parentElement.hidden = !counts;
      this.seconds.parentElement.hidden = !["expectimax", "mcts"].includes(search?.name);
      this.more.hidden = !counts;
    }

    // Give the parts names of their own, so that two players can be told apart.
    setName(name) {
      this.name = name;
      if (name) this.root.setAttribute("aria-label", name);
      else this.root.removeAttribute("aria-label");
      this.board.setName(name ? `board of ${name}` : "board");
    }

    changed(name) {
      this.player = "";
      element("trouble").textContent = "";
      if (name === "agent") { this.overrides.value = ""; this.offerSearches(); }
      if (name === "search") this.offerSearches();
      this.stop("");
      this.queue = [];
      this.moves.clear();
      this.refresh();
    }

    question(state, count) {
      const isShown = (input) => !input.closest("[hidden]");
      const is = (input) => isShown(input) && input.value !== "";
      if (isShown(this.number)) checkNumber(this.number, this.counts);
      if (isShown(this.seconds)) checkNumber(this.seconds, "seconds a move");
      const words = is(this.overrides) ? [this.overrides.value] : [];
      if (is(this.seconds)) words.push(`search.seconds=${this.seconds.value}`);
      return {
        agent: this.agent.value, board: chosen.board, position: state.position, seed: chosen.seed, moves: state.moves, count,
        ...(this.search.parentElement.hidden ? {} : { search: this.search.value }),
        ...(is(this.number) ? { [this.counts]: Number(this.number.value) } : {}),
        ...(words.length ? { overrides: words.join(" ") } : {}),
      };
    }

    // Show another board; `found` as the server describes boards.
    place(found, score, moves, spawn) {
      this.state = { ...found, score, moves, spawn };
      this.draw();
    }

    begin(found) {
      this.stop("");
      this.queue = [];
      this.history = [];
      this.moves.clear();
      this.place(found, 0, 0, null);
      this.refresh();
    }

    draw() {
      const { levels, spawn, score, moves } = this.state;
      this.board.show(levels, spawn);
      this.score.textContent = score.toLocaleString("en");
      this.count.textContent = moves.toLocaleString("en");
      this.root.dataset.position = this.state.position;
      this.drawAdvice();
    }

    drawAdvice() {
      const first = this.queue[0];
      if (first && element("advice").checked) this.moves.show(first.advice, first.milliseconds);
      else this.moves.clear();
    }

    say(text, isBad = false) {
      this.statusText.textContent = text;
      this.statusText.className = isBad ? "bad" : "";
    }

    // Give up what is asked.
    stop(text) {
      this.request?.abort();
      this.request = null;
      this.stopButton.hidden = true;
      this.say(text || this.player);
    }

    // Ask the player about the board that is shown if nothing is known of it, and if the advice is on.
    refresh() {
      if (element("advice").checked && !this.queue.length && !this.request) this.fetch(1);
    }

    // Ask for `count` more moves after those that are known.
    async fetch(count) {
      const last = this.queue.at(-1);
      const state = last ? { position: last.after.position, moves: this.state.moves + this.queue.length } : this.state;
      let question;
      try {
        question = this.question(state, count);
      } catch (error) {
        trouble(error);
        return;
      }
      const request = (this.request = new AbortController()), began = performance.now();
      try {
        const answer = await ask(question, request.signal, ({ state: name, seconds }) => {
          if (this.request !== request || performance.now() - began < 400) return;
          this.say(`${name} ${seconds.toFixed(1)} s`);
          this.stopButton.hidden = false;
        });
        if (this.request !== request) return;
        this.request = null;
        this.stopButton.hidden = true;
        this.player = answer.name;
        this.say(this.player);
        this.queue.push(...answer.steps);
        if (this.queue.length === answer.steps.length) this.drawAdvice();
      } catch (error) {
        if (this.request !== request) return; // it was given up
        this.request = null;
        this.stopButton.hidden = true;
        pause();
        this.say(error.message, true);
      }
    }

    get isReady() { return Boolean(this.queue[0]?.after); }

    // Ask ahead, so that `speed` moves a second can be shown.
    prepare(speed) {
      if (this.request || this.state.over || (this.queue.length && !this.queue.at(-1).after)) return;
      const wanted = Math.min(MOST_COUNT, Math.ceil(AHEAD_SECONDS * Math.min(speed, 60 * MOST_STEPS_A_FRAME)));
      if (this.queue.length < wanted) this.fetch(Math.max(1, wanted));
    }

    // Make the move of the player, which is known; `isShown`: draw it.
    step(isShown) {
      const { advice, reward, spawn, after } = this.queue[0];
      this.remember();
      this.queue.shift();
      this.state = { ...after, score: this.state.score + reward, moves: this.state.moves + 1, spawn };
      if (isShown) this.draw();
      announce(this, advice.action, reward);
    }

    // Keep the board for `takeBack`; what was said of it is kept for the last boards only, since games are long.
    remember() {
      this.history.push({ state: this.state, first: this.queue[0] });
      if (this.history.length > MOST_KEPT) this.history.at(-1 - MOST_KEPT).first = undefined;
    }

    human(name) {
      pause();
      this.doing = this.doing.then(async () => {
        if (!this.state.legal.includes(name)) return announce(this, this.state.over ? "the game is over" : `${name} is not legal`, null);
        const { position, score, moves } = this.state, board = chosen.board;
        const found = await call("/api/move", { board, position, action: name, seed: chosen.seed, moves });
        const isExpected = this.queue[0]?.advice.action === name && this.isReady;
        this.remember();
        if (isExpected) this.queue.shift();
        else { this.stop(""); this.queue = []; }
        this.place(found.after, score + found.reward, moves + 1, found.spawn);
        announce(this, name, found.reward);
        this.refresh();
      }).catch(trouble);
    }

    takeBack() {
      const last = this.history.pop();
      if (!last) return;
      const isNext = last.first?.after?.position === this.state.position && this.state.moves === last.state.moves + 1;
      this.stop("");
      this.queue = last.first ? [last.first, ...(isNext ? this.queue : [])] : [];
      this.state = last.state;
      this.draw();
      announce(this, "taken back", null);
      this.refresh();
    }

    // Go on from a board that was pasted or edited.
    jump(found, score, moves) {
      this.stop("");
      this.remember();
      this.queue = [];
      this.place(found, score, moves, null);
      this.refresh();
    }

    edit(row, column, level) {
      const { score, moves } = this.state;
      const levels = this.state.levels.map((one) => [...one]);
      levels[row][column] = level;
      const position = levels.map((one) => one.map((cell) => (cell ? 2 ** cell : 0)).join(" ")).join(" / ");
      this.doing = this.doing.then(async () => {
        this.jump(await call("/api/position", { board: chosen.board, position }), score, moves);
      }).catch(trouble);
    }
  }

  // ---- the game

  function activate(number) {
    active = number;
    sides.forEach((side, i) => side.root.classList.toggle("active", i === active));
  }

  function trouble(error) {
    element("trouble").textContent = error.message;
    pause();
  }

  function announce(side, what, reward) {
    element("trouble").textContent = "";
    const now = performance.now();
    if (playing && now - spokenAt < SPOKEN_MS) return;
    spokenAt = now;
    const who = side.name ? `${side.name}: ` : "";
    const gain = reward === null ? "" : `, plus ${reward}`;
    const end = side.state.over ? ", the game is over" : "";
    element("live").textContent = `${who}${what}${gain}, score ${side.state.score}${end}. ${inWords(side.state.levels)}`;
  }

  async function begin() {
    pause();
    try {
      checkNumber(element("seed"), "seed");
      const board = element("board").value, seed = Number(element("seed").value);
      const found = await call("/api/new", { board, seed });
      element("trouble").textContent = "";
      const isOther = board !== chosen.board;
      Object.assign(chosen, { board, seed });
      for (const side of sides) {
        if (isOther) side.offer();
        side.begin(found);
      }
    } catch (error) {
      trouble(error);
    }
  }

  function beginNext() {
    const field = element("seed");
    if (Number(field.value) === chosen.seed) field.value = (chosen.seed + 1) % 2 ** 32;
    return begin();
  }

  const speed = () => SPEEDS[Number(element("speed").value)];

  function play() {
    if (playing || sides.every((side) => side.state.over)) return;
    setEditing(false);
    playing = true;
    due = performance.now();
    element("play").setAttribute("aria-pressed", "true");
    element("play").textContent = "Pause";
    requestAnimationFrame(frame);
  }

  function pause() {
    playing = false;
    element("play").setAttribute("aria-pressed", "false");
    element("play").textContent = "Play";
  }

  // Make the steps that are due. All players that are not at the end of their game make the same number of moves.
  function frame(now) {
    if (!playing) return;
    const going = sides.filter((side) => !side.state.over);
    if (!going.length) {
      pause();
      return;
    }
    const pace = speed();
    for (let steps = 0; steps < MOST_STEPS_A_FRAME && due <= now; steps++) {
      const moving = going.filter((side) => !side.state.over);
      if (!moving.length || !moving.every((side) => side.isReady)) {
        due = Math.max(due, now); // wait for the slowest player
        break;
      }
      for (const side of moving) side.step(false);
      due += 1000 / pace;
    }
    for (const side of going) {
      if (side.drawn !== side.state) { side.draw(); side.drawn = side.state; }
      side.prepare(pace);
    }
    requestAnimationFrame(frame);
  }

  // One move of every player, as soon as it is known.
  async function step() {
    if (playing) return pause();
    setEditing(false);
    await Promise.all(sides.map(async (side) => {
      if (side.state.over || side.isStepping) return;
      side.isStepping = true;
      const from = side.state;
      if (!side.isReady && !side.request) await side.fetch(1);
      while (side.request && !side.isReady) await new Promise((resolve) => setTimeout(resolve, 20));
      side.isStepping = false;
      if (side.isReady && side.state === from && !playing) {
        side.step(true);
        side.refresh();
      }
    }));
  }

  function setEditing(on) {
    element("edit").setAttribute("aria-pressed", String(on));
    element("strokes").hidden = !on;
    for (const side of sides) side.board.setEditing(on);
  }

  const isEditing = () => element("edit").getAttribute("aria-pressed") === "true";

  function toggleEditing() {
    pause();
    setEditing(!isEditing());
  }

  function takeBack() {
    pause();
    for (const side of sides) side.takeBack();
  }

  function setTwo(on) {
    pause();
    element("same").hidden = !on;
    element("sides").classList.toggle("two", on);
    while (sides.length > 1 + on) {
      const side = sides.pop();
      side.stop("");
      side.root.remove();
    }
    if (sides.length < 1 + on) {
      const [first] = sides, side = new Side(element("sides"));
      sides.push(side);
      side.offer("heuristic");
      side.history = [...first.history].map(({ state }) => ({ state }));
      side.state = first.state;
      side.draw();
      side.refresh();
      side.board.setEditing(isEditing());
    }
    sides.forEach((side, i) => side.setName(sides.length > 1 ? `player ${i + 1}` : ""));
    activate(0);
  }

  async function paste(event) {
    event.preventDefault();
    pause();
    try {
      const found = await call("/api/position", { board: chosen.board, position: element("position").value });
      element("trouble").textContent = "";
      for (const side of sides) side.jump(found, 0, 0);
    } catch (error) {
      trouble(error);
    }
  }

  function listenToSwipes(target, move) {
    let from = null;
    target.addEventListener("pointerdown", (event) => { from = isEditing() ? null : [event.clientX, event.clientY]; });
    target.addEventListener("pointercancel", () => { from = null; });
    window.addEventListener("pointerup", (event) => {
      if (!from) return;
      const [x, y] = [event.clientX - from[0], event.clientY - from[1]];
      from = null;
      if (Math.max(Math.abs(x), Math.abs(y)) < SWIPE) return;
      if (Math.abs(x) > Math.abs(y)) move(x > 0 ? "right" : "left");
      else move(y > 0 ? "down" : "up");
    });
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { target } = event, key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (target.closest("select, input[type=text], input[type=number]")) return;
    if (key === " " && target.closest("button, input, summary")) return; // space is their own key
    if (key.startsWith("Arrow") && target.closest("input[type=range]")) return;
    if (KEYS[key]) sides[active].human(KEYS[key]);
    else if (key === "u") takeBack();
    else if (key === " ") step();
    else if (key === "p") { if (playing) pause(); else play(); }
    else if (key === "e") toggleEditing();
    else return;
    event.preventDefault();
  }

  // After a click the keys are for the game again, and not for the button or list that was clicked.
  function leaveWhatThePointerUsed() {
    let isPointer = false;
    document.addEventListener("pointerdown", () => { isPointer = true; }, true);
    document.addEventListener("keydown", () => { isPointer = false; }, true);
    for (const kind of ["click", "change"]) {
      document.addEventListener(kind, ({ target }) => {
        const used = target.closest(kind === "click" ? "#controls button, #setup button" : "select, [type=checkbox], [type=range]");
        if (isPointer) used?.blur();
      });
    }
  }

  function showRate() {
    const pace = speed();
    element("rate").textContent = pace === Infinity ? "fastest" : `${pace} / s`;
    element("speed").setAttribute("aria-valuetext", pace === Infinity ? "fastest" : `${pace} moves a second`);
  }

  async function start() {
    listing = await (await fetch("/api/agents")).json();
    element("board").replaceChildren(...listing.boards.map((board) => new Option(board, board)));
    element("board").value = chosen.board = listing.agents[0].board || "4x4";
    element("board").addEventListener("change", begin);
    element("seed").addEventListener("change", begin);
    element("setup").addEventListener("submit", (event) => event.preventDefault());
    element("new").addEventListener("click", beginNext);
    element("restart").addEventListener("click", begin);
    element("advice").addEventListener("change", () => sides.forEach((side) => { side.drawAdvice(); side.refresh(); }));
    element("two").addEventListener("change", (event) => setTwo(event.target.checked));
    element("step").addEventListener("click", step);
    element("play").addEventListener("click", () => (playing ? pause() : play()));
    element("back").addEventListener("click", takeBack);
    element("edit").addEventListener("click", toggleEditing);
    element("paste").addEventListener("submit", paste);
    element("speed").addEventListener("input", showRate);
    document.addEventListener("keydown", onKey);
    leaveWhatThePointerUsed();
    showRate();
    sides = [new Side(element("sides"))];
    sides[0].offer();
    activate(0);
    await begin();
  }

  start().catch(trouble);
})();
