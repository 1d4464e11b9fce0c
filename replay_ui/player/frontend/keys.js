// Keys, for whichever player was used last. One listener for the page: a player need not have the focus as long
// as nothing else has it.

const PLAIN = {
  Home: ["first"],
  End: ["last"],
  PageUp: ["prev", 100],
  PageDown: ["next", 100],
  " ": ["play"],
  j: ["shuttle", -1],
  k: ["pause"],
  l: ["shuttle", 1],
  "[": ["prevStop"],
  "]": ["nextStop"],
  b: ["swipe"],
  v: ["blink"],
  d: ["changes"],
  m: ["marker"],
  o: ["boxes"],
  "+": ["zoomIn"],
  "=": ["zoomIn"],
  "-": ["zoomOut"],
  0: ["fit"],
  r: ["region"],
  u: ["link"],
  "?": ["help"],
};

function commandOf(event) {
  if (event.key === "ArrowRight") return ["next", event.shiftKey ? 10 : 1];
  if (event.key === "ArrowLeft") return ["prev", event.shiftKey ? 10 : 1];
  return PLAIN[event.key.length === 1 ? event.key.toLowerCase() : event.key];
}

// Whether the element under the keys has a use of its own for this one.
function takesKey(element, key) {
  if (element.matches("input, textarea, select, [contenteditable]")) return true;
  if (element.matches("button, summary, a")) return key === " " || key === "Enter";
  if (element.matches(".pr-swipe")) return key.startsWith("Arrow") || key === "Home" || key === "End";
  return element.matches("pre") && key.startsWith("Arrow");
}

const players = new Set();
let active = null;

function onkeydown(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const path = event.composedPath();
  const inside = [...players].find((player) => path.includes(player.root));
  // The page's scrolling area takes the focus at any click beside the controls; it has no use for these keys.
  const nowhere = path[0] instanceof Element && path[0].matches("html, body, main");
  const player = inside ?? (nowhere ? active : null);
  if (!player || (inside && path[0] instanceof Element && takesKey(path[0], event.key))) return;
  if (event.key === "Escape" && !player.help.hidden) player.toggleHelp(false);
  else {
    const command = commandOf(event);
    if (!command) return;
    player.command(...command);
  }
  event.preventDefault();
  event.stopPropagation();
}

export function attachKeys(player) {
  if (!players.size) document.addEventListener("keydown", onkeydown, true);
  players.add(player);
  active = player;
  player.root.addEventListener("pointerdown", () => {
    active = player;
  });
}

export function detachKeys(player) {
  players.delete(player);
  if (active === player) active = [...players].at(-1) ?? null;
  if (!players.size) document.removeEventListener("keydown", onkeydown, true);
}
