// The table of kernels by device: the image that each runs from, and gaps.

/// Order of cells when a column is sorted.
const CELL_ORDER = ["gap", "none", "unknown", "jit", "compatible", "native", "other"];

const CELL_HINTS = {
  native: (device) => `Runs on ${device} as code for this processor`,
  compatible: (device, text) => `Runs on ${device} as code for ${text}`,
  jit: (device, text) => `Compiled from ${text} on ${device} when it is loaded`,
  unknown: (device) => `Not known on ${device}`,
  none: (device) => `Its container has no code for ${device}`,
  other: (device) => `For other devices than ${device}`,
  gap: (device) => `Fails on ${device}: the image that is selected there lacks it, and another image of its container has it`,
};

function coverageRows() {
  const patterns = data.patterns.map((pattern) => {
    const cells = pattern.map((index) => data.cells[index]);
    return { cells, gaps: cells.filter((cell) => cell.look === "gap").length, isNative: cells.every((cell) => ["native", "other"].includes(cell.look)) };
  });
  return data.coverage.map(([name, pattern]) => ({
    name: data.names[name][0], symbol: data.names[name][1], nameIndex: name, ...patterns[pattern],
  }));
}

function coverageColumns(rows) {
  const ofDevice = (device, index) => ({
    heading: device, title: `Sort by ${device}`, least: 7, most: 22,
    value: (row) => CELL_ORDER.indexOf(row.cells[index].look),
    total: (rows) => rows.reduce((least, row) => Math.min(least, CELL_ORDER.indexOf(row.cells[index].look)), CELL_ORDER.length),
    show: (row) => row.cells[index].text,
    summary: (rows) => {
      const of = rows.map((row) => row.cells[index]).filter((cell) => cell.look !== "other");
      const gaps = of.filter((cell) => cell.look === "gap").length;
      if (gaps > 0) return counted(gaps, "gap");
      if (of.length === 0) return "";
      return of.every((cell) => cell.text === of[0].text) ? of[0].text : "differs";
    },
    look: (row) => `is-${row.cells[index].look}`,
    hint: (row) => CELL_HINTS[row.cells[index].look](device, row.cells[index].text),
  });
  const gaps = { heading: "Gaps", isNumber: true, title: "Number of devices on which it fails", value: (row) => row.gaps, show: (row) => (row.gaps > 0 ? row.gaps : "") };
  return [KERNEL, ...(rows.some((row) => row.gaps > 0) ? [gaps] : []), ...data.devices.map(ofDevice)];
}

/// Returns the numbers of kernels that do not run on some device, as sentences.
function coverageSummary(rows, incomplete) {
  const parts = [incomplete.length === 0 ? "No kernel has a gap: where the runtime selects an image, the image has every kernel of its container."
    : `${counted(incomplete.length, "kernel")} of ${exact(rows.length)} ${incomplete.length === 1 ? "fails" : "fail"} on some device for which the container has code.`];
  const without = data.devices
    .map((device, index) => [device, rows.filter((row) => row.cells[index].look === "none").length])
    .filter(([, number]) => number > 0);
  if (without.length > 0) parts.push(`Without code: ${without.map(([device, number]) => `${exact(number)} on ${device}`).join(", ")}.`);
  return parts.join(" ");
}

/// Lists the devices, with what each makes of the kernels.
function drawDevices(all) {
  const rows = data.devices.map((device, index) => {
    const numbers = Object.fromEntries(CELL_ORDER.map((look) => [look, 0]));
    all.forEach((row) => { numbers[row.cells[index].look] += 1; });
    return { device, gpu: data.gpus[index], ...numbers };
  });
  const number = (heading, look, title) => ({ heading, isNumber: true, title, value: (row) => row[look], show: (row) => (row[look] > 0 ? row[look] : ""), look: (row) => (look === "gap" && row.gap > 0 ? "is-gap" : "") });
  const columns = [
    { heading: "GPU", value: (row) => row.gpu, most: 34 },
    { heading: "Device", isKey: true, value: (row) => row.device },
    number("Native", "native", "Kernels with code for this processor"),
    number("Compatible", "compatible", "Kernels with code for an earlier processor or a generic target"),
    number("JIT", "jit", "Kernels that are compiled when they are loaded"),
    number("Not known", "unknown", "Kernels whose answer is not known"),
    number("No code", "none", "Kernels whose container has no code for the device"),
    number("Gaps", "gap", "Kernels that fail on the device: the selected image lacks them"),
  ];
  tables.devices = new Table(byId("devices"), {
    name: "devices", noun: "device", label: "Devices", rows, words: (row) => [row.device, row.gpu].join(" "),
    columns: columns.filter((column) => column.isKey || rows.some((row) => column.value(row))),
  });
}

function drawCoverage() {
  const section = byId("coverage");
  const all = coverageRows();
  drawDevices(all);
  const incomplete = all.filter((row) => row.gaps > 0);
  const only = element("input", { type: "checkbox", disabled: incomplete.length === 0 });
  only.addEventListener("change", () => {
    tables.coverage.rows = only.checked ? incomplete : all;
    tables.coverage.update(true);
  });
  section.append(element("p", { class: "lead", text: coverageSummary(all, incomplete) }));
  // Kernels that need no attention are one row.
  const family = (row) => (row.isNative ? "native on every device" : familyOf(row));
  tables.coverage = new Table(section, {
    name: "coverage", family, noun: "kernel", label: "Kernels by device", rows: all, columns: coverageColumns(all),
    controls: [element("label", {}, only, " Only with gaps")], search: [NAMES],
  });
}
