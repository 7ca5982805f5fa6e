// What the page shows, in its address: every click is one step, Back returns from it, and a copied address opens the same view.
//
// Parameters: `section`, the labels of the map from the root (`map`), `size` (decompressed), and for each table its name with the filter,
// `.sort` (a heading, with - before it for descending) and `.open` (open families).

function view() {
  return new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
}

/// Changes parameters of the address: texts, lists, or nothing. `isStep` adds a step to the history, and shows the view.
function visit(changes, isStep = true) {
  const next = view();
  for (const [name, value] of Object.entries(changes)) {
    next.delete(name);
    [value].flat().filter(Boolean).forEach((one) => next.append(name, one));
  }
  const hash = next.size > 0 ? `#${next}` : "#";
  try {
    if (!isStep) history.replaceState(null, "", hash);
    else if (hash !== (location.hash || "#")) history.pushState(null, "", hash);
  } catch {
    // Frames without an origin have no history.
  }
  if (isStep) show(next);
}

/// Shows the view of an address.
function show(wanted) {
  showMap(wanted.get("size") !== "decompressed", wanted.getAll("map"));
  Object.entries(tables).forEach(([name, table]) => table.restore(wanted.get(name) ?? "", wanted.get(`${name}.sort`), wanted.getAll(`${name}.open`)));
  const section = byId(wanted.get("section") ?? "");
  if (section && shown !== section.id) section.scrollIntoView();
  shown = section?.id;
}

let shown = null;

function startAddress() {
  window.addEventListener("popstate", () => show(view()));
  show(view());
}
