// What stands around the map and the tables: the head of the page, the legend, what is told of a cell.

const OUTCOMES = {
  violated: { sign: "✕", word: "Violated" },
  undecided: { sign: "?", word: "Undecided" },
  warned: { sign: "!", word: "Warned" },
  passed: { sign: "✓", word: "Passed" },
};

/// How something came out, by a sign and a word and not by colour alone.
function badge(outcome) {
  const { sign, word } = OUTCOMES[outcome];
  return element("span", { class: `badge is-${outcome}` }, element("span", { "aria-hidden": true, text: sign }), word);
}

function drawHead() {
  const distinct = data.matrix.length;
  const incomplete = data.matrix.filter(([, cells]) => cells.includes("n")).length;
  const stored = data.files.reduce((sum, file) => sum + file.stored, 0);
  const one = data.files.length === 1;
  byId("title").textContent = one ? data.files[0].name : "Device code";
  byId("subtitle").textContent = one ? data.files[0].path : counted(data.files.length, "file");
  document.title = one ? `${byId("title").textContent}: device code` : `Device code of ${counted(data.files.length, "file")}`;
  const totals = [
    ["Device code", bytes(map.root.size), `${exact(map.root.size)} bytes`],
    ["Stored", bytes(stored), "What containers take in the files, compressed as they are"],
    ["Images", exact(images.length)],
    ["Archs", exact(data.archs.length)],
    ["Kernels", exact(distinct), `${exact(kernels.length)} with those of the same name in other images`],
    ["With gaps", exact(incomplete), "Kernels that are there for some archs and missing for others"],
  ];
  const total = ([name, value, title]) => element("div", { title, class: name === "With gaps" && incomplete > 0 ? "is-marked" : "" },
    element("dt", { text: name }), element("dd", { text: value }));
  byId("totals").replaceChildren(...totals.map(total));
  const links = [...document.querySelectorAll("main > section:not([hidden])")].map((section) =>
    element("a", { href: `#${section.id}`, text: section.querySelector("h2").textContent }));
  byId("sections").replaceChildren(...links);
  byId("colophon").textContent = `Made by ${data.program}. This page loads nothing and sends nothing.`;
  const unknown = images.filter((image) => image.size === null).length;
  if (unknown > 0) byId("treemap-note").textContent = ` Not drawn: ${counted(unknown, "image")} of unknown size.`;
}

function drawLegend() {
  const entries = Object.entries(VENDORS).filter(([vendor]) => data.archs.some((arch) => arch.vendor === vendor));
  const swatch = (look, ...steps) => element("span", { class: "swatch", "aria-hidden": true }, ...steps.map((step) => {
    const made = element("span", { class: `cell ${look}` });
    made.style.setProperty("--step", step);
    return made;
  }));
  const parts = entries.map(([vendor, name]) => element("li", {}, swatch(`of-${vendor}`, 0, 0.5, 1), name));
  if (data.archs.some((arch) => !arch.is_native)) {
    parts.push(element("li", {}, swatch("of-other is-hatched", 0), "not machine code yet"));
  }
  parts.push(element("li", {}, swatch("is-rest", 0), "not in kernels"));
  byId("legend").replaceChildren(...parts);
}

/// What is told of a cell: its names, its size, and of a kernel its figures where it is one kernel.
function linesOf(of) {
  const above = of.parent && of !== map.root ? `, ${share(of.size, of.parent.size)} of ${of.parent.label}` : "";
  const lines = [["title", of.title ?? of.label], ["", `${bytes(of.size)} (${exact(of.size)} bytes)${above}`]];
  if (of.arch && of.kind !== "arch") lines.push(["", of.arch.label]);
  if (of.kernels !== undefined) lines.push(["", `${counted(of.kernels, "kernel")} in ${counted(of.images, "image")}`]);
  if (of.kind === "kernel") {
    const [one] = of.known ??= kernels.filter((kernel) => kernel.nameIndex === of.nameIndex && kernel.image.column === of.arch);
    if (of.copies > 1) lines.push(["", `${of.copies} copies`]);
    else if (one) lines.push(...figuresOf(one).map((text) => ["", text]));
    if (one?.symbol) lines.push(["symbol", one.symbol]);
  }
  return lines;
}

function figuresOf(kernel) {
  const said = data.figures.map((figure, index) => ({ figure, value: kernel.numbers[index] }))
    .filter(({ figure, value }) => value !== null && value !== 0 && figure.key !== "code")
    .map(({ figure, value }) => `${figure.heading.toLowerCase()} ${exact(value)}`);
  const lines = said.length > 0 ? [said.join(" · ")] : [];
  if (kernel.source) lines.push(`${kernel.source.path}:${kernel.source.line}`);
  return lines;
}

function showTooltip(of, x, y) {
  const host = byId("tooltip");
  host.replaceChildren(...linesOf(of).map(([look, text]) => element("p", { class: look, text })));
  host.hidden = false;
  const { width, height } = host.getBoundingClientRect();
  const left = Math.min(x + 14, document.documentElement.clientWidth - width - 8);
  const top = y + 18 + height > window.innerHeight ? y - height - 10 : y + 18;
  host.style.left = `${Math.max(8, left)}px`;
  host.style.top = `${Math.max(8, top)}px`;
}

function hideTooltip() {
  byId("tooltip").hidden = true;
}
