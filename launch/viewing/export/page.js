// The page that `serve --export` writes. It holds the game; the player searches in a worker, so no search stops the page.
"use strict";
const element = (id) => document.getElementById(id);
const FRAME_MS = 12; // between two drawings while the player plays, at least
const LAG_MS = 500; // that a late player makes up for by playing faster
const SPOKEN_MS = 2500; // between two announcements while the player plays
const MOST_SEED = 2 ** 32 - 1, FIRST_SEEDS = 10_000; // of which the first game takes one

const network = JSON.parse(element("network").textContent), { columns } = network;
const rules = Game2048.makeRules(network.rows, columns, network.fourShare);
const board = Board2048.makeBoard(element("board")), values = Board2048.makeMoves(element("values"));
const speed = Controls2048.makeSpeed(element("speed"), element("rate"));
let player = null; // ask(board, plies) promises the advice on a board
let seed = 0, state = null, past = []; // { board, score, moves, spawn }, and those before it
let question = {}; // { state, plies, answer } the last one
let playing = null, spokenAt = 0; // an object for each time that the player plays by itself

// ---- the player

function startPlayer() {
  const weights = element("weights").textContent, waiting = []; // the worker answers in order
  return new Promise((resolve, reject) => {
    const startHere = () => Search2048.load(network, weights).then(({ advise }) => resolve({
      isWorker: false,
      ask: (...asked) => new Promise((answer) => setTimeout(answer)).then(() => advise(...asked)), // keys come first
    }), reject);
    try {
      const text = [element("engine").textContent, "Search2048.listen();"];
      const worker = new Worker(URL.createObjectURL(new Blob(text, { type: "text/javascript" })));
      const ask = (levels, plies) => new Promise((answer, fail) => {
        waiting.push({ answer, fail });
        worker.postMessage({ board: levels, plies });
      });
      waiting.push({ answer: () => resolve({ isWorker: true, ask }), fail: reject });
      worker.onmessage = ({ data }) => {
        const { answer, fail } = waiting.shift();
        if (data.error) fail(new Error(data.error));
        else answer(data.advice);
      };
      worker.onerror = (event) => { event.preventDefault(); startHere(); }; // its text was refused
      worker.postMessage({ network, weights });
    } catch {
      startHere();
    }
  });
}

// What the player says of the board that is shown; a board is asked about once.
function consult() {
  const plies = Number(element("plies").value);
  if (question.state !== state || question.plies !== plies) question = { state, plies, answer: player.ask(state.board, plies) };
  return question.answer;
}

// ---- the game

const isOver = () => Game2048.NAMES.every((_, action) => rules.move(state.board, action, rules.makeBoard()) < 0);

function begin(wanted) {
  pause();
  seed = element("seed").value = wanted;
  past = [];
  show({ board: rules.open(seed), score: 0, moves: 0, spawn: null });
}

function beginChosen() {
  const field = element("seed"), isGood = field.checkValidity();
  element("trouble").textContent = isGood ? "" : `seed: give a whole number from 0 to ${MOST_SEED}`;
  if (isGood) begin(Number(field.value));
}

// Make a move, null if there is none, without showing it; return whether it is legal.
function make(name) {
  const played = name === null ? null : rules.play(state.board, Game2048.NAMES.indexOf(name), seed, state.moves);
  if (!played) return false;
  past.push(state);
  state = { board: played.board, score: state.score + played.reward, moves: state.moves + 1, spawn: played.spawn };
  return true;
}

function moveByHand(name) {
  pause();
  if (make(name)) show(state, name);
  else announce(isOver() ? "" : `${name} is not legal`);
}

function takeBack() {
  pause();
  if (past.length) show(past.pop(), "taken back");
}

async function step() {
  if (playing || !player) return pause();
  const from = state, { action } = await consult().catch(trouble);
  if (state === from && !playing && make(action)) show(state, action);
}

// Let the player play until it is paused or the game is over. A board is drawn with what the player says of it.
async function play() {
  if (!player || isOver()) return;
  const run = playing = {};
  Controls2048.showPlaying(element("play"), true);
  for (let due = performance.now(), drawnAt = 0; playing === run;) {
    const advice = await consult().catch(trouble);
    if (playing !== run) return;
    if (performance.now() - drawnAt > FRAME_MS) {
      drawnAt = performance.now();
      draw();
      drawAdvice(advice);
      if (drawnAt - spokenAt > SPOKEN_MS) announce("");
    }
    due = Math.max(due, performance.now() - LAG_MS) + 1000 / speed();
    if (due > performance.now()) await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
    if (playing === run && !make(advice.action)) pause(); // the game is over
  }
}

function pause() {
  if (!playing) return;
  playing = null;
  Controls2048.showPlaying(element("play"), false);
  show(state);
}

// ---- what is shown

// Show a state, to which `what` led; the advice follows as soon as it is known.
function show(shown, what = "") {
  state = shown;
  draw();
  announce(what);
  refresh();
}

function refresh() {
  element("values").hidden = !element("advice").checked;
  if (!player || playing || !element("advice").checked) return;
  const from = state;
  consult().then((advice) => { if (state === from && !playing) drawAdvice(advice); }).catch(trouble);
}

const levels = () => Array.from({ length: network.rows }, (_, row) => [...state.board.subarray(row * columns, (row + 1) * columns)]);

function draw() {
  board.show(levels(), state.spawn);
  element("score").textContent = state.score.toLocaleString("en");
  element("moves").textContent = state.moves.toLocaleString("en");
  if (player) element("state").textContent = isOver() ? "the game is over" : "";
}

function drawAdvice(advice) {
  if (element("advice").checked) values.show(advice, advice.milliseconds);
}

function announce(what) {
  spokenAt = performance.now();
  const end = isOver() ? ", the game is over" : "";
  element("live").textContent = `${what && `${what}, `}score ${state.score}${end}. ${Board2048.inWords(levels())}`;
}

function trouble(error) {
  element("trouble").textContent = error.message;
  pause();
  return { action: null };
}

// ---- the start

async function start() {
  const playOrPause = () => (playing ? pause() : play()), beginNext = () => begin((seed + 1) % (MOST_SEED + 1));
  element("plies").replaceChildren(...Array.from({ length: Search2048.MOST_PLIES }, (_, i) => new Option(i + 1)));
  const buttons = { step, play: playOrPause, back: takeBack, new: beginNext, restart: beginChosen };
  for (const [id, action] of Object.entries(buttons)) element(id).addEventListener("click", action);
  for (const id of ["plies", "advice"]) element(id).addEventListener("change", refresh);
  element("seed").addEventListener("change", beginChosen);
  element("setup").addEventListener("submit", (event) => event.preventDefault());
  Controls2048.listenToKeys(moveByHand, { " ": step, p: playOrPause, u: takeBack, n: beginNext });
  Controls2048.listenToSwipes(board.element, () => false, moveByHand);
  Controls2048.leaveWhatThePointerUsed();
  begin(Math.floor(Math.random() * FIRST_SEEDS)); // a person can play while the network is unpacked
  player = await startPlayer();
  for (const id of ["step", "play"]) element(id).disabled = false;
  show(state);
}

start().catch(trouble);
