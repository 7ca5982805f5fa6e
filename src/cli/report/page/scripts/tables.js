// The tables: findings and evaluated rules, images, kernels.

const tables = {};
let shownNames = null;

function drawFindings() {
  const { verdict } = data;
  if (!verdict) return;
  const section = byId("findings");
  section.hidden = false;
  const RANKS = ["violated", "undecided", "warned", "passed"];
  const numbers = RANKS.map((outcome) => [outcome, verdict.evaluations.filter((evaluation) => evaluation.outcome === outcome).length]);
  const counts = numbers.filter(([, number]) => number > 0)
    .map(([outcome, number]) => element("li", {}, badge(outcome), element("span", { text: `${counted(number, "rule")}` })));
  // Undecided rules do not hide violations.
  const bad = numbers.filter(([outcome, number]) => number > 0 && ["violated", "undecided"].includes(outcome));
  const shown = bad.length > 0 ? bad.map(([outcome]) => outcome) : [verdict.outcome];
  section.append(element("div", { class: `verdict is-${shown[0]}` }, ...shown.map(badge),
    element("ul", { "aria-label": "Rules by outcome, for each file" }, ...counts)));
  const outcome = {
    heading: "Outcome", value: (row) => RANKS.indexOf(row.outcome), show: (row) => OUTCOMES[row.outcome].word, draw: (row) => badge(row.outcome), hint: () => null, signs: 16,
  };
  const short = new Map(data.files.map((file) => [file.path, file.name]));
  const file = { heading: "File", value: (row) => short.get(row.path) ?? row.path, hint: (row) => row.path, most: 34 };
  if (verdict.findings.length > 0) {
    tables.findings = new Table(section, {
      name: "findings", noun: "finding", label: "Findings", rows: verdict.findings, sort: { index: 0, descending: false },
      words: (row) => [row.outcome, row.rule, row.path, row.image, row.kernel, row.message, row.detail].join(" "),
      columns: [outcome,
        { heading: "Finding", isKey: true, value: (row) => row.message, draw: (row) => findingText(row) },
        { heading: "Rule", value: (row) => row.rule }, file,
        { heading: "Where", value: (row) => [row.image, shownName(row.kernel)].filter(Boolean).join(", "), most: 34 },
      ],
    });
  }
  const details = element("details", { open: verdict.findings.length === 0 }, element("summary", { text: "Evaluated rules" }));
  section.append(details);
  const descriptions = new Map(verdict.rules);
  tables.evaluations = new Table(details, {
    name: "evaluations", noun: "evaluation", label: "Evaluated rules", rows: verdict.evaluations, sort: { index: 0, descending: false },
    words: (row) => [row.outcome, row.rule, row.path, descriptions.get(row.rule)].join(" "),
    columns: [outcome, { heading: "Rule", value: (row) => row.rule },
      { heading: "Requirement", isKey: true, value: (row) => descriptions.get(row.rule) }, file],
  });
}

/// Returns the display name of a kernel. Findings name kernels by their symbols.
function shownName(symbol) {
  shownNames ??= new Map(data.names.map(([name, of]) => [of ?? name, name]));
  return shownNames.get(symbol) ?? symbol;
}

function findingText(row) {
  const detail = row.detail ? element("span", { class: "detail", text: `; ${row.detail}` }) : null;
  return element("span", { class: "wraps" }, row.message, detail);
}

const KERNEL = { heading: "Kernel", isKey: true, isCode: true, value: (row) => row.name, hint: (row) => namesOf(row) };

function familyOf(row) {
  return data.families[data.family_of[row.nameIndex]];
}

function namesOf(row) {
  return row.symbol ? `${row.name}\n${row.symbol}` : row.name;
}

/// Returns the columns that are not empty in every row.
function used(rows, columns) {
  return columns.filter((column) => column.isKey || rows.some((row) => ![null, undefined, ""].includes(column.value(row))));
}

/// Lists the errors, which are in no table.
function drawProblems() {
  const problems = data.files.flatMap((file) => file.problems.map((problem) => [file.path, problem]));
  if (problems.length === 0) return;
  const entries = problems.slice(0, MOST_AT_ONCE).map(([path, problem]) =>
    element("li", {}, element("span", { class: "path", text: path }), " ", problem));
  const left = problems.length - entries.length;
  if (left > 0) entries.push(element("li", { text: `and ${exact(left)} more` }));
  byId("images").append(element("div", { class: "problems" },
    element("p", { text: `${counted(problems.length, "problem")}: the tables may be incomplete` }), element("ul", {}, ...entries)));
}

function drawImages() {
  drawProblems();
  const hexadecimal = (offset) => (offset === null ? "" : `0x${offset.toString(16)}`);
  tables.images = new Table(byId("images"), {
    name: "images", noun: "image", label: "Images", rows: images,
    words: (row) => [row.file.path, row.kind, row.column.label, row.form, row.container, row.codec, row.debug, row.producer, row.not_inspected, ...row.problems].join(" "),
    columns: used(images, [
      { heading: "File", isKey: true, value: (row) => row.file.name, hint: (row) => row.file.path },
      { heading: "No.", isNumber: true, value: (row) => row.index, title: "Index in the file" },
      { heading: "Arch", value: (row) => row.column.label, draw: (row) => archText(row.column), most: 24, signs: 18 },
      { heading: "Kind", value: (row) => row.kind },
      { heading: "Container", value: (row) => row.container },
      { heading: "Offset", isNumber: true, value: (row) => row.offset, show: (row) => hexadecimal(row.offset) },
      { heading: "Size", isNumber: true, value: (row) => row.size, title: "Bytes, decompressed" },
      { heading: "Stored", isNumber: true, value: (row) => row.stored, title: "Bytes, as stored in the file" },
      { heading: "Codec", value: (row) => (row.codec === "none" ? "" : row.codec) },
      { heading: "Debug", value: (row) => row.debug, title: "Debug information" },
      { heading: "Kernels", isNumber: true, value: (row) => row.kernels.length },
      { heading: "Producer", value: (row) => row.producer },
      { heading: "Remarks", value: (row) => [row.not_inspected, ...row.problems].filter(Boolean).join("; ") || null, most: 40 },
    ]),
  });
}

function archText(arch) {
  const made = element("span", { class: "arch" }, element("span", { class: `dot cell of-${arch.vendor}`, "aria-hidden": true }), arch.label);
  made.firstChild.style.setProperty("--step", arch.step);
  return made;
}

function drawKernels() {
  const figures = data.figures.map((figure, index) => ({
    heading: figure.heading, title: figure.unit === "bytes" ? `${figure.title}, bytes` : figure.title, isNumber: true,
    value: (row) => row.numbers[index],
    total: figure.key === "code" ? (rows) => rows.reduce((sum, row) => sum + (row.numbers[index] ?? 0), 0) : undefined,
    show: figure.key !== "scratch" ? undefined
      : (row) => (row.numbers[index] === null ? null : exact(row.numbers[index]) + (row.mayTakeMore ? "+" : "")),
  }));
  const sourceName = (row) => row.source && `${lastPart(row.source.path)}:${row.source.line}`;
  tables.kernels = new Table(byId("kernels"), {
    name: "kernels", noun: "kernel", label: "Kernels", rows: kernels, family: familyOf,
    search: [NAMES, IMAGES, SOURCES],
    columns: used(kernels, [
      KERNEL,
      { heading: "Arch", value: (row) => row.image.column.label, draw: (row) => archText(row.image.column), most: 24, signs: 18 },
      ...figures,
      { heading: "Source", value: (row) => sourceName(row), hint: (row) => row.source && `${row.source.path}:${row.source.line}`, most: 26 },
      ...(data.files.length > 1 ? [{ heading: "File", value: (row) => row.image.file.name, hint: (row) => row.image.file.path, most: 26 }] : []),
    ]),
  });
}
