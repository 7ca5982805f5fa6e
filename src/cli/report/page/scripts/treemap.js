// The map of bytes: one level of the tree as cells, each with a preview of its contents. Cells are buttons. One of them
// is in the tab order, and arrow keys move between them by position.

/// Minimum area of a cell in square pixels. Smaller cells are merged.
const SMALLEST = { cell: 140, inner: 40 };
const HEADING = 22;

const map = { root: null, level: null, drawn: [], nodes: [], isStored: null };

function look(of) {
  const names = ["cell", `is-${of.kind}`];
  if (of.vendor) names.push(`of-${of.vendor}`);
  if (of.isNative === false && of.kind !== "rest") names.push("is-hatched");
  return names.join(" ");
}

/// Returns the children that are large enough, and one node for all others.
function drawable(of, width, height, smallest) {
  const bound = (smallest * of.children.reduce((sum, child) => sum + child.size, 0)) / Math.max(1, width * height);
  const large = of.children.filter((child) => child.size >= bound);
  const small = of.children.slice(large.length);
  if (small.length < 2) return of.children;
  const size = small.reduce((sum, child) => sum + child.size, 0);
  const noun = ["rest", "family"].includes(small[0].kind) ? "part" : small[0].kind;
  const { vendor, step, isNative, arch } = of;
  const more = node("more", `${counted(small.length, `smaller ${noun}`)}`, size, { vendor, step, isNative, arch });
  more.children = small;
  more.parent = of;
  return [...large, more].sort((a, b) => b.size - a.size);
}

function place(made, at, width, height) {
  const percent = (part, whole) => `${(100 * part) / whole}%`;
  made.style.left = percent(at.x, width);
  made.style.top = percent(at.y, height);
  made.style.width = percent(at.width, width);
  made.style.height = percent(at.height, height);
}

function cell(tag, of, at, width, height, properties) {
  const made = element(tag, { class: look(of), "data-node": map.nodes.push(of) - 1, ...properties });
  if (of.step !== undefined) made.style.setProperty("--step", of.step);
  place(made, at, width, height);
  return made;
}

/// Returns a kernel's name without its return type and namespaces, for small cells.
function shortLabel(of) {
  if (of.kind === "family") return of.label.split("::").at(-1);
  if (of.kind !== "kernel") return of.label;
  const end = of.label.search(/[<(]/);
  const front = end > 0 ? of.label.slice(0, end) : of.label;
  const last = front.split(/::| /).at(-1);
  return last ? last + of.label.slice(front.length) : of.label;
}

function insideOf(of, at) {
  const [width, height] = [at.width - 6, at.height - HEADING - 5];
  const children = drawable(of, width, height, SMALLEST.inner);
  const inside = element("span", { class: "inside", "aria-hidden": true });
  squarify(children.map((child) => child.size), width, height).forEach((where, index) => {
    const made = cell("span", children[index], where, width, height);
    if (where.width > 46 && where.height > 18) made.append(element("span", { class: "name", text: shortLabel(children[index]) }));
    inside.append(made);
  });
  return inside;
}

function description(of) {
  const parts = [of.label, bytes(of.size), `${share(of.size, map.level.size)} of ${map.level.label}`];
  if (of.kernels !== undefined) parts.push(counted(of.kernels, "kernel"));
  if (of.images !== undefined) parts.push(counted(of.images, "image"));
  return parts.join(", ");
}

function drawMap() {
  const host = byId("treemap");
  const { clientWidth: width, clientHeight: height } = host;
  map.nodes = [];
  const children = map.root.size > 0 ? drawable(map.level, width, height, SMALLEST.cell) : [];
  const places = squarify(children.map((child) => child.size), width, height);
  map.drawn = children.map((of, index) => {
    const at = places[index];
    const made = cell("button", of, at, width, height, { type: "button", tabindex: -1, "aria-label": description(of) });
    const holds = opens(of) && at.width > 70 && at.height > 60;
    if (at.width > 38 && at.height > 16) {
      const size = at.width > 76 ? element("span", { class: "size", text: bytes(of.size) }) : null;
      made.append(element("span", { class: "heading" }, element("span", { class: "name", text: shortLabel(of) }), size));
    }
    if (holds) made.append(insideOf(of, at));
    made.classList.toggle("is-low", at.height < 40);
    return { of, at, made };
  });
  host.replaceChildren(...map.drawn.map(({ made }) => made));
  if (map.drawn.length === 0) host.append(element("p", { class: "empty", text: "No device code." }));
  else map.drawn[0].made.tabIndex = 0;
  drawCrumbs();
}

function drawCrumbs() {
  const path = [];
  for (let of = map.level; of; of = of === map.root ? null : of.parent) path.unshift(of);
  const steps = path.map((of, index) => element("li", {}, index === path.length - 1
    ? element("span", { "aria-current": "location", text: of.label, title: of.title })
    : element("button", { type: "button", text: of.label, title: of.title, onclick: () => goTo(of) })));
  const size = `${bytes(map.level.size)}${map.level === map.root ? "" : `, ${share(map.level.size, map.root.size)} of all`}`;
  byId("crumbs").replaceChildren(element("ol", {}, ...steps), element("span", { class: "size", text: size }));
}

/// Shows the level with these labels from the root on, or the innermost that exists, in one of the two sizes.
function showMap(isStored, labels) {
  const before = map.level;
  if (isStored !== map.isStored) {
    map.isStored = isStored;
    map.root = wholeTree();
  }
  let level = map.root;
  for (const label of labels) {
    const next = level.children.find((child) => child.label === label && opens(child));
    if (!next) break;
    level = next;
  }
  if (level === before) return;
  const hadFocus = before && byId("sizes").contains(document.activeElement);
  hideTooltip();
  map.level = level;
  drawMap();
  byId("stored").setAttribute("aria-pressed", String(isStored));
  byId("decompressed").setAttribute("aria-pressed", String(!isStored));
  if (!hadFocus || document.activeElement.matches("#sizes .controls button")) return;
  // The cell that was left, or the first.
  const holds = ({ of }) => of === before || (of.kind === "more" && of.children.includes(before));
  focusCell(map.drawn.find(holds) ?? map.drawn[0]);
  announce(`${level.label}, ${bytes(level.size)}, ${counted(map.drawn.length, "cell")}`);
}

/// Goes to a level of the map.
function goTo(level) {
  const labels = [];
  for (let of = level; of !== map.root; of = of.parent) labels.unshift(of.label);
  visit({ map: labels });
}

function goBack() {
  if (map.level !== map.root) goTo(map.level.parent);
}

/// Opens a cell, or lists its kernels if it has no parts.
function open(of) {
  if (opens(of)) goTo(of);
  else if (of.kind !== "rest" && of.kind !== "file") {
    visit({ section: "kernels", kernels: ["kernel", "family"].includes(of.kind) ? of.label : of.arch.label });
    tables.kernels.filter.focus({ preventScroll: true });
  }
}

function focusCell(target) {
  if (!target) return;
  map.drawn.forEach(({ made }) => { made.tabIndex = made === target.made ? 0 : -1; });
  target.made.focus();
}

/// Returns the nearest cell in a direction, preferring cells straight ahead.
function neighbour(from, [dx, dy]) {
  const centre = ({ at }) => [at.x + at.width / 2, at.y + at.height / 2];
  const [x, y] = centre(from);
  let [best, bestDistance] = [null, Infinity];
  for (const other of map.drawn) {
    const [otherX, otherY] = centre(other);
    const ahead = (otherX - x) * dx + (otherY - y) * dy;
    const edge = dx ? (dx > 0 ? other.at.x - from.at.x - from.at.width : from.at.x - other.at.x - other.at.width)
      : (dy > 0 ? other.at.y - from.at.y - from.at.height : from.at.y - other.at.y - other.at.height);
    const overlap = dx
      ? Math.min(from.at.y + from.at.height, other.at.y + other.at.height) - Math.max(from.at.y, other.at.y)
      : Math.min(from.at.x + from.at.width, other.at.x + other.at.width) - Math.max(from.at.x, other.at.x);
    if (other === from || ahead <= 0 || edge < -1) continue;
    const aside = Math.abs((otherX - x) * dy) + Math.abs((otherY - y) * dx);
    const distance = Math.max(0, edge) * 4 + aside + (overlap > 1 ? 0 : 10000);
    if (distance < bestDistance) [best, bestDistance] = [other, distance];
  }
  return best;
}

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function onMapKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const from = map.drawn.find(({ made }) => made === document.activeElement);
  if (DIRECTIONS[event.key] && from) focusCell(neighbour(from, DIRECTIONS[event.key]));
  else if (event.key === "Home") focusCell(map.drawn[0]);
  else if (event.key === "End") focusCell(map.drawn.at(-1));
  else if (event.key === "Backspace") goBack();
  else if (event.key === "Escape" && !byId("tooltip").hidden) hideTooltip();
  else if (event.key === "Escape") goBack();
  else return;
  event.preventDefault();
}

function nodeAt(target) {
  const found = target.closest?.("[data-node]");
  return found ? map.nodes[Number(found.dataset.node)] : null;
}

function startMap() {
  const host = byId("treemap");
  byId("stored").addEventListener("click", () => visit({ size: null }));
  byId("decompressed").addEventListener("click", () => visit({ size: "decompressed" }));
  const place = view();
  showMap(place.get("size") !== "decompressed", place.getAll("map"));
  host.addEventListener("click", (event) => {
    const target = event.target.closest("button");
    if (target) open(map.drawn.find(({ made }) => made === target).of);
  });
  host.addEventListener("keydown", onMapKey);
  host.addEventListener("pointermove", (event) => {
    const of = event.pointerType === "mouse" ? nodeAt(event.target) : null;
    if (of) showTooltip(of, event.clientX, event.clientY);
  });
  host.addEventListener("pointerleave", hideTooltip);
  host.addEventListener("focusin", (event) => {
    const of = nodeAt(event.target);
    const box = event.target.getBoundingClientRect();
    if (of && event.target.matches(":focus-visible")) showTooltip(of, box.left + 8, box.top + Math.min(box.height, 40));
  });
  host.addEventListener("focusout", hideTooltip);
  let width = 0;
  new ResizeObserver(() => {
    if (host.clientWidth === width) return;
    width = host.clientWidth;
    const hadFocus = host.contains(document.activeElement);
    drawMap();
    if (hadFocus) focusCell(map.drawn[0]);
  }).observe(host);
  drawLegend();
}
