// The bytes as a tree of packages, files, archs, families and kernels. The bytes of an arch outside of its kernels are a node too, so that areas
// add up and nothing is hidden.

/// Creates a node of the tree. `kind` is all, file, arch, kernel, more (nodes too small to be drawn alone) or rest.
function node(kind, label, size, properties = {}) {
  return { kind, label, size, children: [], ...properties };
}

function adopt(parent, children) {
  parent.children = children.filter((child) => child.size > 0).sort((a, b) => b.size - a.size);
  parent.children.forEach((child) => { child.parent = parent; });
  return parent;
}

/// Divides the bytes of an image outside of its kernels by category. Returns names and sizes.
function restsOf(image, size) {
  if (image.not_inspected) return [[`not inspected: ${image.not_inspected}`, size]];
  const all = image.rests.reduce((sum, [, bytes]) => sum + bytes, 0);
  const name = (category) => (category === image.form ? `${category}, not split by kernel` : `not in kernels: ${category}`);
  return all > 0 ? image.rests.map(([category, bytes]) => [name(category), (size * bytes) / all]) : [[name(image.form), size]];
}

/// Returns the node of a family, or of its only kernel.
function familyNode(name, kernelsOf, look) {
  if (kernelsOf.length === 1) return kernelsOf[0];
  const size = kernelsOf.reduce((sum, kernel) => sum + kernel.size, 0);
  return adopt(node("family", name, size, { ...look, kernels: kernelsOf.length }), kernelsOf);
}

/// Returns the number of bytes that a byte of a file takes as stored: members of a package are compressed as a whole.
function ratioOf(file) {
  return file.place && file.size > 0 ? file.place.packed / file.size : 1;
}

/// Returns the size that the map shows: decompressed, or as stored. Stored bytes of an image are shared by its kernels in proportion.
function sizeOf(image) {
  return map.isStored ? image.stored * ratioOf(image.file) : image.size;
}

function archNode(arch, imagesOfArch) {
  const byName = new Map();
  const rests = new Map();
  let total = 0;
  for (const image of imagesOfArch) {
    let inKernels = 0;
    const ratio = image.size > 0 ? sizeOf(image) / image.size : 1;
    for (const [name, , , , own] of image.kernels) {
      const size = own * ratio;
      inKernels += size;
      const known = byName.get(name) ?? { size: 0, copies: 0 };
      byName.set(name, { size: known.size + size, copies: known.copies + 1 });
    }
    const rest = Math.max(0, sizeOf(image) - inKernels);
    for (const [label, size] of restsOf(image, rest)) rests.set(label, (rests.get(label) ?? 0) + size);
    total += inKernels + rest;
  }
  const look = { arch, vendor: arch.vendor, step: arch.step, isNative: arch.is_native };
  const byFamily = new Map();
  for (const [name, { size, copies }] of byName) {
    const family = data.family_of[name];
    if (!byFamily.has(family)) byFamily.set(family, []);
    byFamily.get(family).push(node("kernel", data.names[name][0], size, { ...look, copies, nameIndex: name }));
  }
  const ofKernels = [...byFamily].map(([family, kernelsOf]) => familyNode(data.families[family], kernelsOf, look));
  const ofRests = [...rests].map(([label, size]) => node("rest", label, size, look));
  const made = node("arch", arch.label, total, { ...look, images: imagesOfArch.length, kernels: byName.size });
  return adopt(made, [...ofKernels, ...ofRests]);
}

function fileNode(file) {
  const byArch = new Map();
  for (const image of file.images) {
    if (!byArch.has(image.arch)) byArch.set(image.arch, []);
    byArch.get(image.arch).push(image);
  }
  const children = [...byArch].map(([arch, of]) => archNode(data.archs[arch], of));
  children.push(...restNodes(file.rests, ratioOf(file)));
  return sumNode("file", file.name, children, { title: file.path, images: file.images.length });
}

function restNodes(rests, ratio) {
  return rests.map(([label, stored, size]) => node("rest", label, map.isStored ? stored * ratio : size));
}

/// Returns a node with the sum of its children as size.
function sumNode(kind, label, children, properties) {
  return adopt(node(kind, label, children.reduce((sum, child) => sum + child.size, 0), properties), children);
}

/// Returns the node of a package: its files, its other members, and the archive around them.
function packageNode(of, index) {
  const files = data.files.filter((file) => file.place?.package === index);
  const children = [...files.map(fileNode), ...restNodes(of.rests, 1)];
  return sumNode("file", lastPart(of.path), children, { title: of.path });
}

/// Returns the whole tree. A single file or package is its root.
function wholeTree() {
  const loose = data.files.filter((file) => !file.place).map(fileNode);
  const all = [...data.packages.map(packageNode), ...loose].filter((of) => of.size > 0);
  return all.length === 1 ? all[0] : sumNode("all", "All files", all);
}

/// Returns whether a node can be opened.
function opens(of) {
  return of.children.some((child) => child.kind !== "rest");
}
