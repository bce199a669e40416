// One player with its board: what it is asked, what it says, and the moves of its game.
import { ask, call, checkNumber } from "./calls.js";

const { makeBoard, makeMoves, make } = Board2048;
const AHEAD_SECONDS = 1.5; // moves that are asked for before they are shown
const MOST_COUNT = 120; // moves of one answer
const MOST_KEPT = 200; // boards that were left whose advice is kept
export const MOST_STEPS_A_FRAME = 40; // at the highest speed

export class Side {
  // `game` is what all players share: the agents, the chosen board and seed, the switches of the page, and its messages.
  constructor(parent, game) {
    this.game = game;
    this.root = make("section", "side", parent);
    this.makeForm();
    const field = make("div", "field", this.root);
    this.board = makeBoard(field, (row, column, by) => this.edit(row, column, by), game.stroke);
    const numbers = make("p", "numbers", field);
    this.score = make("b", "", make("span", "", numbers, "score"));
    this.count = make("b", "", make("span", "", numbers, "moves"));
    this.next = make("b", "", make("span", "", numbers, "next"));
    const said = make("div", "said", this.root);
    this.moves = makeMoves(said);
    this.status = make("div", "state row", said);
    this.statusText = make("span", "", this.status);
    this.stopButton = make("button", "", this.status, "Stop");
    this.stopButton.type = "button";
    this.stopButton.hidden = true;
    this.stopButton.addEventListener("click", () => { game.pause(); this.stop("stopped"); });
    this.root.addEventListener("pointerdown", () => game.activate(this));
    Controls2048.listenToSwipes(this.board.element, game.isEditing, (name) => this.human(name));
    this.queue = []; // what the player says of the board that is shown, and its next moves
    this.history = [];
    this.request = null;
    this.player = ""; // the name that the player gave itself
    this.doing = Promise.resolve(); // moves, edits and taking back by hand, one after another
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
    const able = this.game.agents.filter(({ board, boards }) =>
      (boards ? boards.includes(this.game.chosen.board) : board === null || board === this.game.chosen.board));
    this.agent.replaceChildren(...able.map(({ id }) => new Option(id, id)));
    this.agent.value = able.some(({ id }) => id === before) ? before : able[0].id;
    this.offerSearches();
  }

  offerSearches() {
    const { searches } = this.game.agents.find(({ id }) => id === this.agent.value);
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
    this.game.endTrouble();
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
    const { board, seed } = this.game.chosen;
    return {
      agent: this.agent.value, board, position: state.position, seed, moves: state.moves, count,
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
    this.place(found, found.score, 0, null);
    this.refresh();
  }

  draw() {
    const { levels, spawn, score, moves } = this.state;
    this.board.show(levels, spawn, this.game.tiles);
    this.score.textContent = score.toLocaleString("en");
    this.count.textContent = moves.toLocaleString("en");
    this.next.textContent = this.state.next;
    this.next.parentElement.hidden = !this.state.next;
    this.root.dataset.position = this.state.position;
    this.drawAdvice();
  }

  drawAdvice() {
    const first = this.queue[0];
    if (first && this.game.isAdviceOn()) this.moves.show(first.advice, first.milliseconds);
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
    if (this.game.isAdviceOn() && !this.queue.length && !this.request) this.fetch(1);
  }

  // Ask for `count` more moves after those that are known.
  async fetch(count) {
    const last = this.queue.at(-1);
    const state = last ? { position: last.after.position, moves: this.state.moves + this.queue.length } : this.state;
    let question;
    try {
      question = this.question(state, count);
    } catch (error) {
      this.game.trouble(error);
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
      this.game.pause();
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
    this.game.announce(this, advice.action, reward);
  }

  // Keep the board for `takeBack`; what was said of it is kept for the last boards only, since games are long.
  remember() {
    this.history.push({ state: this.state, first: this.queue[0] });
    if (this.history.length > MOST_KEPT) this.history.at(-1 - MOST_KEPT).first = undefined;
  }

  human(name) {
    this.game.pause();
    this.doing = this.doing.then(async () => {
      const { position, score, moves, legal, over } = this.state;
      if (!legal.includes(name)) return this.game.announce(this, over ? "the game is over" : `${name} is not legal`, null);
      const found = await call("/api/move", { ...this.game.chosen, position, action: name, moves });
      const isExpected = this.queue[0]?.advice.action === name && this.isReady;
      this.remember();
      if (isExpected) this.queue.shift();
      else { this.stop(""); this.queue = []; }
      this.place(found.after, score + found.reward, moves + 1, found.spawn);
      this.game.announce(this, name, found.reward);
      this.refresh();
    }).catch(this.game.trouble);
  }

  takeBack() {
    this.doing = this.doing.then(() => {
      const last = this.history.pop();
      if (!last) return;
      const isNext = last.first?.after?.position === this.state.position && this.state.moves === last.state.moves + 1;
      this.stop("");
      this.queue = last.first ? [last.first, ...(isNext ? this.queue : [])] : [];
      this.state = last.state;
      this.draw();
      this.game.announce(this, "taken back", null);
      this.refresh();
    }).catch(this.game.trouble);
  }

  // Go on from a board that was pasted or edited.
  jump(found, score, moves) {
    this.stop("");
    this.remember();
    this.queue = [];
    this.place(found, score, moves, null);
    this.refresh();
  }

  edit(row, column, by) {
    this.doing = this.doing.then(async () => {
      const { score, moves, drawn } = this.state, { tiles } = this.game;
      const levels = this.state.levels.map((one) => [...one]);
      levels[row][column] = by && (levels[row][column] + by + tiles.length) % tiles.length;
      const position = levels.map((one) => one.map((level) => tiles[level]).join(" ")).join(" / ") + drawn;
      this.jump(await call("/api/position", { board: this.game.chosen.board, position }), score, moves);
    }).catch(this.game.trouble);
  }
}
