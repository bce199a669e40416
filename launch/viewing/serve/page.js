// The page of `muzero2048 serve`. It holds the games; the server knows the rules and asks the players.
import { call, checkNumber } from "./calls.js";
import { MOST_STEPS_A_FRAME, Side } from "./side.js";

const element = (id) => document.getElementById(id);
const SPOKEN_MS = 2500; // between two announcements while a player plays

const chosen = { board: "4x4", seed: 1 }; // of the game that is shown
const game = { // what the players share
  agents: [], chosen, activate, announce, endTrouble, isEditing, pause, trouble,
  isAdviceOn: () => element("advice").checked,
  stroke: () => Number(element("stroke").value),
};
const speed = Controls2048.makeSpeed(element("speed"), element("rate"));
let sides = [], active = null, playing = false, due = 0, spokenAt = 0;

// ---- the game

function activate(side) {
  active = side;
  for (const one of sides) one.root.classList.toggle("active", one === active);
}

function trouble(error) {
  element("trouble").textContent = error.message;
  pause();
}

function endTrouble() {
  element("trouble").textContent = "";
}

function announce(side, what, reward) {
  endTrouble();
  const now = performance.now();
  if (playing && now - spokenAt < SPOKEN_MS) return;
  spokenAt = now;
  const who = side.name ? `${side.name}: ` : "";
  const gain = reward === null ? "" : `, plus ${reward}`;
  const end = side.state.over ? ", the game is over" : "";
  element("live").textContent = `${who}${what}${gain}, score ${side.state.score}${end}. ${Board2048.inWords(side.state.levels, game.tiles)}`;
}

async function begin() {
  pause();
  try {
    checkNumber(element("seed"), "seed");
    const board = element("board").value, seed = Number(element("seed").value);
    const found = await call("/api/new", { board, seed });
    endTrouble();
    const isOther = board !== chosen.board;
    Object.assign(chosen, { board, seed });
    game.tiles = found.tiles;
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

function play() {
  if (playing || sides.every((side) => side.state.over)) return;
  setEditing(false);
  playing = true;
  due = performance.now();
  Controls2048.showPlaying(element("play"), true);
  requestAnimationFrame(frame);
}

function pause() {
  playing = false;
  Controls2048.showPlaying(element("play"), false);
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

function isEditing() {
  return element("edit").getAttribute("aria-pressed") === "true";
}

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
    const [first] = sides, side = new Side(element("sides"), game);
    sides.push(side);
    side.offer("heuristic");
    side.history = [...first.history].map(({ state }) => ({ state }));
    side.state = first.state;
    side.draw();
    side.refresh();
    side.board.setEditing(isEditing());
  }
  sides.forEach((side, i) => side.setName(sides.length > 1 ? `player ${i + 1}` : ""));
  activate(sides[0]);
}

async function paste(event) {
  event.preventDefault();
  pause();
  try {
    const found = await call("/api/position", { board: chosen.board, position: element("position").value });
    endTrouble();
    for (const side of sides) side.jump(found, 0, 0);
  } catch (error) {
    trouble(error);
  }
}

async function start() {
  const { agents, boards } = await (await fetch("/api/agents")).json();
  game.agents = agents;
  element("board").replaceChildren(...boards.map((board) => new Option(board, board)));
  element("board").value = chosen.board = agents[0].board || "4x4";
  element("board").addEventListener("change", begin);
  element("seed").addEventListener("change", begin);
  element("setup").addEventListener("submit", (event) => event.preventDefault());
  element("advice").addEventListener("change", () => sides.forEach((side) => { side.drawAdvice(); side.refresh(); }));
  element("two").addEventListener("change", (event) => setTwo(event.target.checked));
  const playOrPause = () => (playing ? pause() : play());
  const buttons = { new: beginNext, restart: begin, step, play: playOrPause, back: takeBack, edit: toggleEditing };
  for (const [id, action] of Object.entries(buttons)) element(id).addEventListener("click", action);
  element("paste").addEventListener("submit", paste);
  Controls2048.listenToKeys((name) => active.human(name), { " ": step, p: playOrPause, u: takeBack, e: toggleEditing });
  Controls2048.leaveWhatThePointerUsed();
  sides = [new Side(element("sides"), game)];
  sides[0].offer();
  activate(sides[0]);
  await begin();
}

start().catch(trouble);
