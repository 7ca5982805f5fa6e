// Unpacks the data of the page and formats its numbers.

/// Returns the data of the page, which is compressed.
async function unpackedData() {
  const packed = atob(byId("data").textContent);
  const bytes = Uint8Array.from({ length: packed.length }, (_, index) => packed.charCodeAt(index));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

if (typeof DecompressionStream === "undefined") {
  byId("subtitle").textContent = "This browser cannot decompress the data of the page. All browsers since 2023 can.";
  return;
}
const data = await unpackedData();

const grouped = new Intl.NumberFormat("en", { useGrouping: true });
const rounded = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

const exact = (number) => grouped.format(number);
const counted = (number, noun) => `${exact(number)} ${noun}${number === 1 ? "" : "s"}`;

/// Formats bytes with a unit: "12.4 KiB".
function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit += 1;
  }
  return `${number >= 1000 ? exact(Math.round(number)) : rounded.format(number)} ${units[unit]}`;
}

function share(part, whole) {
  const percent = whole > 0 ? (100 * part) / whole : 0;
  return percent > 0 && percent < 0.1 ? "under 0.1 %" : `${rounded.format(percent)} %`;
}

/// Returns the length of the common prefix of all paths, up to the end of a directory or an archive.
function commonPrefix(paths) {
  if (paths.length === 0) return 0;
  let end = 0;
  const [first] = paths;
  for (let at = 0; at < first.length; at += 1) {
    if (!paths.every((path) => path[at] === first[at])) break;
    if (first[at] === "/" || first[at] === "\\" || first[at] === "!") end = at + 1;
  }
  return end;
}

const lastPart = (path) => path.split(/[/\\!]/).at(-1);

/// Names files by the last component of their paths if it is unique, or else by their paths without the common prefix.
function nameFiles(files) {
  const isEnough = new Set(files.map((file) => lastPart(file.path))).size === files.length;
  const common = commonPrefix(files.map((file) => file.path));
  files.forEach((file) => { file.name = (isEnough ? lastPart(file.path) : file.path.slice(common)) || file.path; });
}

nameFiles(data.files);

const columnOf = Object.fromEntries(data.figures.map((figure, index) => [figure.key, index]));

/// Every image of every file, with its file and column.
const images = data.files.flatMap((file) => file.images).map((image, number) => Object.assign(image, { number }));
data.files.forEach((file, index) => {
  file.place = data.places[index];
  file.images.forEach((image) => {
    image.file = file;
    image.arch = data.columns[image.arch];
    image.column = data.archs[image.arch];
  });
});

/// Every kernel of every image.
const kernels = images.flatMap((image) => image.kernels.map(([name, numbers, source, more]) => ({
  image,
  name: data.names[name][0],
  symbol: data.names[name][1],
  nameIndex: name,
  numbers,
  sourceIndex: source ? source[0] : null,
  source: source && { path: data.sources[source[0]], line: source[1] },
  mayTakeMore: more === 1,
  code: numbers[columnOf.code],
})));

const VENDORS = { nvidia: "NVIDIA", amd: "AMD", spirv: "SPIR-V", other: "Other" };

// Archs of a vendor differ in lightness, from 0 to 1, in the order of the columns.
for (const vendor of Object.keys(VENDORS)) {
  const archs = data.archs.filter((arch) => arch.vendor === vendor);
  archs.forEach((arch, index) => { arch.step = archs.length > 1 ? index / (archs.length - 1) : 0.5; });
}
