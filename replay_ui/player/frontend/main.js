// Entry of the component: Streamlit calls the default export at the first mount and at every rerun of the page.

// All modules are named here, so that they are fetched at once and not one after the other names them.

import "./beside.js";
import "./dom.js";
import "./frames.js";
import "./manifest.js";
import "./panels.js";
import "./playback.js";
import "./stage.js";
import "./timeline.js";
import "./toolbar.js";
import { attachKeys, detachKeys } from "./keys.js";
import { Player } from "./player.js";

const living = new WeakMap();

function end(root) {
  const player = living.get(root);
  if (!player) return;
  living.delete(root);
  detachKeys(player);
  player.close();
}

export default function mount(component) {
  const root = component.parentElement.querySelector(".pr-player");
  const player = living.get(root);
  // Another run under the same key is another player, and so is another language.
  const same = (name) => player.data[name] === component.data[name];
  if (player && same("manifest") && same("language")) {
    player.update(component);
  } else {
    end(root);
    const fresh = new Player(root, component);
    living.set(root, fresh);
    attachKeys(fresh);
  }
  // Called before the next call too; only a root that has left the page is over.
  return () => {
    if (!root.isConnected) end(root);
  };
}
