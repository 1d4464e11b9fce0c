// Given the isolated world's functions: which nodes of recorded snapshots are secret, by the same rules and selectors
// as on the live page. Nothing is fetched or run: the document that the snapshots are built in is inert.
// A snapshot is ["TAG", {attributes}, ...children]; a text is a string; [[n, m]] is node m (children before their
// parent) of the snapshot n before this one in the same frame.
(P) => (frames) => frames.map((snapshots) => {
  const known = [];
  const own = (snapshot, at) => {
    const nodes = [];
    const visit = (n) => {
      if (typeof n === "string") { nodes.push({ text: n }); return [at, nodes.length - 1]; }
      if (Array.isArray(n[0])) return [at - n[0][0], n[0][1]];
      const [tag, attributes, ...children] = n;
      const kids = children.map(visit);
      nodes.push({ tag, attributes: attributes || {}, kids });
      return [at, nodes.length - 1];
    };
    return { root: visit(snapshot), nodes };
  };
  const marks = snapshots.map(() => new Set());
  snapshots.forEach((snapshot, at) => {
    known.push(own(snapshot, at));
    if (!known[at].nodes.length) return; // nothing but an earlier snapshot
    const doc = document.implementation.createHTMLDocument(""), places = new Map();
    const make = ([when, index]) => {
      const n = known[when] && known[when].nodes[index];
      if (!n) return null;
      let e;
      if (n.tag === undefined) e = doc.createTextNode(n.text);
      else {
        try { e = doc.createElement(n.tag); } catch { e = doc.createElement("x-unnamed"); }
        for (const [name, value] of Object.entries(n.attributes)) {
          try { e.setAttribute(name, value); } catch { /* a name that no document can have */ }
          if (name === "__playwright_value_") try { e.value = value; } catch { /* of a kind that takes no value */ }
        }
        for (const kid of n.kids) { const made = make(kid); if (made) e.appendChild(made); }
      }
      places.set(e, [when, index]);
      return e;
    };
    const root = make(known[at].root);
    if (!root || root.nodeType !== 1) return;
    doc.replaceChild(root, doc.documentElement);
    for (const e of [root, ...root.querySelectorAll("*")]) {
      if (!P.secret(e)) continue;
      const inside = doc.createTreeWalker(e, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
      for (let n = inside.currentNode; n; n = inside.nextNode()) {
        const [when, index] = places.get(n) || [];
        if (when !== undefined) marks[when].add(index);
      }
    }
  });
  return marks.map((set) => [...set]);
})
