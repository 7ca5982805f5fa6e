// A table that sorts and filters. A long table contains only the rows in view, with spacers above and below for the
// others: thirty thousand rows of twelve cells took Chromium three seconds for every change.

/// Maximum number of words whose hits are kept.
const MOST_WORDS = 32;

/// Texts that the filter searches, each once for all the rows that have it: a library has a hundred and fifty thousand
/// kernels of twenty thousand names.
class Haystack {
  /// `indexOf(row)` is the index of the row's text, or null.
  constructor(texts, indexOf) {
    Object.assign(this, { texts, indexOf, known: new Map() });
  }

  /// Lowers the texts for the comparison; takes a moment for megabytes of names, so it is done before the first key.
  prepare() {
    this.lowered ??= this.texts.map((text) => text.toLowerCase());
  }

  /// Returns whether the text of a row contains a word in lower case, as a function of the row.
  find(word) {
    const hits = this.known.get(word) ?? this.search(word);
    return (row) => hits[this.indexOf(row)] === 1;
  }

  /// Searches for a word. A word that is being typed is searched in the texts that hold its beginning.
  search(word) {
    this.prepare();
    const beginning = this.known.get(word.slice(0, -1));
    const hits = new Uint8Array(this.lowered.length);
    this.lowered.forEach((text, index) => {
      hits[index] = (!beginning || beginning[index]) && text.includes(word) ? 1 : 0;
    });
    if (this.known.size === MOST_WORDS) this.known.clear();
    this.known.set(word, hits);
    return hits;
  }
}

const NAMES = new Haystack(data.names.map(([name, symbol]) => `${name} ${symbol ?? ""}`), (row) => row.nameIndex);
const IMAGES = new Haystack(images.map((image) => `${image.column.label} ${image.file.path}`), (row) => row.image.number);
const SOURCES = new Haystack(data.sources, (row) => row.sourceIndex);

/// Maximum number of rows of a table that contains all its rows.
const MOST_AT_ONCE = 100;
/// Number of rows that a longer table contains (about 22 are in view), and the number of rows above the view.
const WINDOW = 60;
const ABOVE = 20;
/// Number of rows that a narrow page shows, and that a click adds: nothing scrolls inside the page there.
const STEP = 30;

const NARROW = window.matchMedia("(max-width: 700px)");

/// Creates a table in a section.
///
/// `name` is the name of the table in the address. A column has `heading`, `title`, `isNumber`, `value(row)` to sort by (null comes
/// last), `show(row)` for the text if it differs from the value, `draw(row)` if the cell is an element, and `total(rows)` for the
/// value of a family, `summary(rows)` for its text where the rows differ. `isKey` marks the column that takes the remaining width; `most` is the maximum width of the others in letters,
/// `signs` the width of icons in pixels. The filter searches the texts of `search`, or else `words(row)`.
///
/// With `family(row)`, a label, rows of the same label are one row until it is opened or the filter is used.
class Table {
  constructor(section, { name, noun, rows, columns, words, search, family, controls = [], sort = null, label }) {
    Object.assign(this, { name, noun, rows, first: sort, sort, label, family });
    this.search = search ?? [new Haystack(rows.map(words), (() => {
      const numbers = new Map(rows.map((row, number) => [row, number]));
      return (row) => numbers.get(row);
    })())];
    this.shown = rows;
    this.opened = new Set();
    this.limit = STEP;
    this.filter = element("input", {
      type: "search", placeholder: "Filter", "aria-label": `Filter ${noun}s`, spellcheck: "false", autocomplete: "off",
    });
    this.filter.addEventListener("input", () => {
      visit({ [name]: this.filter.value }, false);
      this.update(true);
    });
    this.table = element("table", { class: `of-${noun}s`, "aria-label": label });
    this.frame = element("div", { class: "frame", tabindex: 0, role: "region", "aria-label": label }, this.table);
    this.frame.addEventListener("scroll", () => this.follow());
    this.count = element("p", { class: "foot" });
    this.more = element("button", { type: "button", class: "more", onclick: () => this.draw(0, this.limit += STEP) });
    section.append(element("div", { class: "controls" }, this.filter, ...controls), this.frame, this.more, this.count);
    NARROW.addEventListener("change", () => this.draw(0));
    this.setColumns(columns);
  }

  setColumns(columns) {
    this.columns = columns;
    this.headings = columns.map((column, index) => {
      const button = element("button", { type: "button", title: column.title, onclick: () => this.sortBy(index) }, column.heading);
      return element("th", { scope: "col", class: column.isNumber ? "number" : "" }, button);
    });
    this.body = element("tbody");
    const group = element("colgroup", {}, ...columns.map((column) => this.width(column)));
    this.table.replaceChildren(group, element("thead", {}, element("tr", {}, ...this.headings)), this.body);
    this.table.style.minWidth = `calc(${this.letters}ch + ${this.pixels}px + var(--key))`;
    this.update(false);
  }

  /// Sets the width of a column. The layout is fixed, because an automatic one is computed again for every inserted
  /// row.
  width(column) {
    if (column === this.columns[0]) [this.letters, this.pixels] = [0, 0];
    const made = element("col", { class: column.isKey ? "key" : "" });
    if (column.isKey) return made;
    let letters = Math.max(column.heading.length + 2, column.least ?? 0, this.longest(column) + 0.5);
    letters = Math.min(letters, column.most ?? 30);
    const pixels = 19 + (column.signs ?? 0);
    made.style.width = `calc(${letters}ch + ${pixels}px)`;
    this.letters += letters;
    this.pixels += pixels;
    return made;
  }

  /// Returns the length of the longest text. The largest number is the longest one; formatting a hundred thousand of
  /// them to compare lengths is slow.
  longest(column) {
    if (!column.isNumber) return this.rows.reduce((most, row) => Math.max(most, this.text(column, row).length), 0);
    if (column.total) return exact(column.total(this.rows)).length;
    const largest = this.rows.reduce((most, row) => (most && column.value(row) <= column.value(most) ? most : row), null);
    return largest ? this.text(column, largest).length : 0;
  }

  text(column, row) {
    const shown = column.show ? column.show(row) : column.value(row);
    if (shown === null || shown === undefined) return "";
    return typeof shown === "number" ? exact(shown) : shown;
  }

  sortBy(index) {
    const isSame = this.sort?.index === index;
    const descending = isSame ? !this.sort.descending : Boolean(this.columns[index].isNumber);
    visit({ [`${this.name}.sort`]: `${descending ? "-" : ""}${this.columns[index].heading}` });
    announce(`Sorted by ${this.columns[index].heading}, ${descending ? "largest" : "smallest"} first`);
  }

  /// Shows what the address states: words of the filter, the order, the labels of open families.
  restore(words, sort, opened) {
    const heading = sort?.replace(/^-/, "");
    const index = this.columns.findIndex((column) => column.heading === heading);
    const order = index >= 0 ? { index, descending: sort.startsWith("-") } : this.first;
    const state = JSON.stringify([words, order, opened]);
    if (state === this.state) return;
    this.state = state;
    this.sort = order;
    this.opened = new Set(opened);
    const isFiltered = this.filter.value !== words;
    this.filter.value = words;
    this.update(isFiltered, false);
  }

  update(isFiltered, isNew = true) {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.map((word) => this.search.map((haystack) => haystack.find(word)));
    const holds = (row) => found.every((places) => places.some((place) => place(row)));
    const rows = words.length > 0 ? this.rows.filter(holds) : [...this.rows];
    const families = this.family && words.length === 0 ? this.families(rows) : rows;
    this.shown = this.sorted(families).flatMap((row) => (this.isOpen(row) ? [row, ...this.sorted(row.rows)] : [row]));
    this.headings.forEach((heading, index) => {
      const isSorted = this.sort?.index === index;
      heading.setAttribute("aria-sort", isSorted ? (this.sort.descending ? "descending" : "ascending") : "none");
    });
    if (isFiltered) announce(counted(rows.length, this.noun));
    this.table.classList.toggle("is-long", this.isLong());
    this.table.setAttribute("aria-rowcount", this.shown.length + 1);
    const of = rows.length < this.rows.length ? ` of ${exact(this.rows.length)}` : "";
    const inRows = families.length < rows.length ? ` in ${counted(families.length, "row")}` : "";
    this.count.textContent = `${exact(rows.length)}${of} ${this.noun}${this.rows.length === 1 ? "" : "s"}${inRows}`;
    if (isNew) [this.frame.scrollTop, this.limit] = [0, STEP];
    this.draw(isNew ? 0 : this.drawn?.from ?? 0);
  }

  /// Returns the rows of families: a row of `rows` where there are several.
  families(rows) {
    const byLabel = new Map();
    for (const row of rows) {
      const label = this.family(row);
      if (!byLabel.has(label)) byLabel.set(label, []);
      byLabel.get(label).push(row);
    }
    return [...byLabel].map(([label, of]) => (of.length === 1 ? of[0] : { label, rows: of }));
  }

  isOpen(row) {
    return row.rows !== undefined && this.opened.has(row.label);
  }

  /// Opens or closes a family.
  toggle(row) {
    const labels = [...this.opened].filter((label) => label !== row.label);
    visit({ [`${this.name}.open`]: this.isOpen(row) ? labels : [...labels, row.label] });
  }

  value(column, row) {
    if (row.rows === undefined) return column.value(row);
    if (column.isKey) return row.label;
    row.totals ??= new Map();
    if (!row.totals.has(column)) row.totals.set(column, this.total(column, row.rows));
    return row.totals.get(column);
  }

  /// Returns the value of a family: the largest number, or the text if all rows have the same.
  total(column, rows) {
    if (column.total) return column.total(rows);
    const values = rows.map((row) => column.value(row));
    if (column.isNumber) return values.reduce((most, value) => (value === null || (most !== null && most >= value) ? most : value), null);
    return values.every((value) => value === values[0]) ? values[0] : null;
  }

  sorted(rows) {
    if (!this.sort) return rows;
    const { index, descending } = this.sort;
    const column = this.columns[index];
    return rows.sort((a, b) => {
      const [x, y] = [this.value(column, a), this.value(column, b)];
      if (x === null || y === null) return (x === null) - (y === null);
      if (x === y) return 0;
      return (x < y) === descending ? 1 : -1;
    });
  }

  isLong() {
    return this.shown.length > MOST_AT_ONCE;
  }

  /// Inserts the rows from an index on: all rows, or as many as a long table contains.
  draw(from) {
    const narrow = NARROW.matches;
    const start = narrow ? 0 : from;
    const to = narrow ? Math.min(this.limit, this.shown.length) : this.isLong() ? Math.min(this.shown.length, start + WINDOW) : this.shown.length;
    const spacer = (rows) => {
      const made = element("tr", { class: "spacer", "aria-hidden": true }, element("td", { colspan: this.columns.length }));
      made.firstChild.style.height = `${rows * this.height}px`;
      return made;
    };
    const rows = this.shown.slice(start, to).map((row, index) => this.row(row, start + index));
    this.body.replaceChildren(...rows);
    this.more.hidden = !narrow || to === this.shown.length;
    this.more.textContent = `Show more of ${counted(this.shown.length, "row")}`;
    this.height = rows[0]?.offsetHeight || this.height || 28;
    if (!narrow && start > 0) this.body.prepend(spacer(start));
    if (!narrow && to < this.shown.length) this.body.append(spacer(this.shown.length - to));
    this.drawn = { from: start, to };
  }

  /// Replaces the rows when the view comes near the first or last row.
  follow() {
    if (!this.isLong() || NARROW.matches) return;
    const first = Math.floor(this.frame.scrollTop / this.height);
    const last = first + Math.ceil(this.frame.clientHeight / this.height);
    const isDrawn = (row) => row >= this.drawn.from && row <= this.drawn.to;
    if (isDrawn(Math.max(0, first - 5)) && isDrawn(Math.min(this.shown.length, last + 5))) return;
    this.draw(Math.max(0, Math.min(first - ABOVE, this.shown.length - WINDOW)));
  }

  row(row, index) {
    const isFamily = row.rows !== undefined;
    const look = isFamily ? "is-family" : this.opened.has(this.family?.(row)) ? "is-member" : "";
    return element("tr", { class: look, "aria-rowindex": index + 2 }, ...this.columns.map((column) => (isFamily ? this.familyCell(column, row) : this.cell(column, row))));
  }

  cell(column, row) {
    const text = this.text(column, row);
    const look = [column.isNumber ? "number" : "", column.isCode ? "code" : "", column.look?.(row) ?? ""].join(" ").trim();
    const title = column.hint ? column.hint(row) : column.isNumber ? null : text;
    const made = element(column.isKey ? "th" : "td", { class: look, scope: column.isKey ? "row" : null, title, "data-heading": column.heading },
      column.draw ? column.draw(row) : text);
    // Long names are cut; a click shows all of one.
    if (column.isCode) made.addEventListener("click", () => made.classList.toggle("is-whole"));
    return made;
  }

  familyCell(column, row) {
    if (column.isKey) {
      const button = element("button", { type: "button", class: "family", "aria-expanded": String(this.isOpen(row)), onclick: () => this.toggle(row) },
        element("span", { class: "name", text: row.label }), element("span", { class: "size", text: counted(new Set(row.rows.map((one) => one.nameIndex)).size, this.noun) }));
      return element("th", { scope: "row", title: row.label }, button);
    }
    const value = this.value(column, row);
    const [first] = row.rows;
    let text = "";
    if (column.isNumber) text = value === null ? "" : exact(value);
    else if (column.summary) text = column.summary(row.rows);
    else text = row.rows.every((one) => this.text(column, one) === this.text(column, first)) ? this.text(column, first) : "…";
    const worst = row.rows.reduce((most, one) => (column.value(one) < column.value(most) ? one : most), first);
    const look = [column.isNumber ? "number" : "", column.look?.(worst) ?? ""].join(" ").trim();
    const title = column.isNumber ? (column.total ? "Sum" : "Largest") : null;
    const shown = column.draw && text === this.text(column, first) ? column.draw(first) : text;
    return element("td", { class: look, title, "data-heading": column.heading }, shown);
  }
}
