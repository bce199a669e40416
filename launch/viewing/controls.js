// The controls of a page on which a game is played: keys, swipes, the speed. It needs nothing else.
"use strict";
const Controls2048 = (() => {
  const SPEEDS = [0.5, 1, 2, 5, 10, 30, 60, Infinity]; // moves a second
  const KEYS = {
    ArrowUp: "up", ArrowRight: "right", ArrowDown: "down", ArrowLeft: "left", w: "up", d: "right", s: "down", a: "left",
  };
  const SWIPE = 24; // pixels

  // Call move(name) for the keys of moves, and the function of `actions` for each other key, in lower case.
  function listenToKeys(move, actions) {
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const { target } = event, key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      if (target.closest("select, input[type=text], input[type=number]")) return;
      if (key === " " && target.closest("button, input, summary")) return; // space is their own key
      if (key.startsWith("Arrow") && target.closest("input[type=range]")) return;
      if (Object.hasOwn(KEYS, key)) move(KEYS[key]);
      else if (Object.hasOwn(actions, key)) actions[key]();
      else return;
      event.preventDefault();
    });
  }

  function listenToSwipes(target, isEditing, move) {
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

  // Return a function that gives the chosen speed, in moves a second; `rate` shows it.
  function makeSpeed(slider, rate) {
    const speed = () => SPEEDS[Number(slider.value)];
    function show() {
      const pace = speed();
      rate.textContent = pace === Infinity ? "fastest" : `${pace} / s`;
      slider.setAttribute("aria-valuetext", pace === Infinity ? "fastest" : `${pace} moves a second`);
    }
    slider.max = SPEEDS.length - 1;
    slider.addEventListener("input", show);
    show();
    return speed;
  }

  // Show whether a player plays by itself.
  function showPlaying(button, isPlaying) {
    button.setAttribute("aria-pressed", String(isPlaying));
    button.textContent = isPlaying ? "Pause" : "Play";
  }

  return { listenToKeys, listenToSwipes, leaveWhatThePointerUsed, makeSpeed, showPlaying };
})();
