// Layout of treemaps: rows along the shorter side, each extended as long as its rectangles become closer to squares.
// Source: Bruls, Huizing and van Wijk, "Squarified Treemaps", 2000.

/// Returns rectangles in a box, with areas in proportion to the sizes, which are in descending order.
function squarify(sizes, width, height) {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const scale = total > 0 ? (width * height) / total : 0;
  const placed = [];
  let box = { x: 0, y: 0, width, height };
  let first = 0;
  while (first < sizes.length) {
    const side = Math.max(Math.min(box.width, box.height), 1e-6);
    const { end, area } = longestRow(sizes, first, scale, side);
    const depth = area / side;
    const isColumn = box.width >= box.height;
    let along = 0;
    for (; first < end; first += 1) {
      const length = area > 0 ? (sizes[first] * scale * side) / area : 0;
      placed.push(isColumn
        ? { x: box.x, y: box.y + along, width: depth, height: length }
        : { x: box.x + along, y: box.y, width: length, height: depth });
      along += length;
    }
    box = isColumn
      ? { x: box.x + depth, y: box.y, width: Math.max(0, box.width - depth), height: box.height }
      : { x: box.x, y: box.y + depth, width: box.width, height: Math.max(0, box.height - depth) };
  }
  return placed;
}

/// Returns the end of the row and its area. The row ends before the size that would increase its worst aspect ratio.
function longestRow(sizes, first, scale, side) {
  const largest = sizes[first] * scale;
  let [area, end, best] = [0, first, Infinity];
  while (end < sizes.length) {
    const smallest = sizes[end] * scale;
    const sum = area + smallest;
    const worst = Math.max((side * side * largest) / (sum * sum), (sum * sum) / (side * side * smallest));
    if (worst > best) break;
    [area, best] = [sum, worst];
    end += 1;
  }
  return { end: Math.max(end, first + 1), area };
}
