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

/// Creates a table in a section.
///
/// A column has `heading`, `title`, `isNumber`, `value(row)` to sort by (null comes last), `show(row)` for the text if
/// it differs from the value, and `draw(row)` if the cell is an element. `isKey` marks the column that takes the
/// remaining width; `most` is the maximum width of the others in letters, `signs` the width of icons in pixels. The
/// filter searches the texts of `search`, or else `words(row)`.
class Table {
  constructor(section, { noun, rows, columns, words, search, controls = [], sort = null, label }) {
    Object.assign(this, { noun, rows, sort, label });
    this.search = search ?? [new Haystack(rows.map(words), (() => {
      const numbers = new Map(rows.map((row, number) => [row, number]));
      return (row) => numbers.get(row);
    })())];
    this.shown = rows;
    this.filter = element("input", {
      type: "search", placeholder: "Filter", "aria-label": `Filter ${noun}s`, spellcheck: "false", autocomplete: "off",
    });
    this.filter.addEventListener("input", () => this.update(true));
    this.table = element("table", { class: `of-${noun}s`, "aria-label": label });
    this.frame = element("div", { class: "frame", tabindex: 0, role: "region", "aria-label": label }, this.table);
    this.frame.addEventListener("scroll", () => this.follow());
    this.count = element("p", { class: "foot" });
    section.append(
      element("div", { class: "controls" }, this.filter, ...controls),
      this.frame,
      this.count,
    );
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
    this.sort = { index, descending };
    this.update(false);
    announce(`Sorted by ${this.columns[index].heading}, ${descending ? "largest" : "smallest"} first`);
  }

  setFilter(text) {
    this.filter.value = text;
    this.update(true);
  }

  update(isFiltered) {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.map((word) => this.search.map((haystack) => haystack.find(word)));
    const holds = (row) => found.every((places) => places.some((place) => place(row)));
    this.shown = words.length > 0 ? this.rows.filter(holds) : [...this.rows];
    if (this.sort) this.shown.sort(this.order());
    this.headings.forEach((heading, index) => {
      const isSorted = this.sort?.index === index;
      heading.setAttribute("aria-sort", isSorted ? (this.sort.descending ? "descending" : "ascending") : "none");
    });
    if (isFiltered) announce(counted(this.shown.length, this.noun));
    this.table.classList.toggle("is-long", this.isLong());
    this.table.setAttribute("aria-rowcount", this.shown.length + 1);
    const of = this.shown.length < this.rows.length ? ` of ${exact(this.rows.length)}` : "";
    this.count.textContent = `${exact(this.shown.length)}${of} ${this.noun}${this.rows.length === 1 ? "" : "s"}`;
    this.frame.scrollTop = 0;
    this.draw(0);
  }

  order() {
    const { index, descending } = this.sort;
    const { value } = this.columns[index];
    return (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      if (x === y) return 0;
      return (x < y) === descending ? 1 : -1;
    };
  }

  isLong() {
    return this.shown.length > MOST_AT_ONCE;
  }

  /// Inserts the rows from an index on: all rows, or as many as a long table contains.
  draw(from) {
    const to = this.isLong() ? Math.min(this.shown.length, from + WINDOW) : this.shown.length;
    const spacer = (rows) => {
      const made = element("tr", { class: "spacer", "aria-hidden": true }, element("td", { colspan: this.columns.length }));
      made.firstChild.style.height = `${rows * this.height}px`;
      return made;
    };
    const rows = this.shown.slice(from, to).map((row, index) => this.row(row, from + index));
    this.body.replaceChildren(...rows);
    this.height = rows[0]?.offsetHeight || this.height || 28;
    if (from > 0) this.body.prepend(spacer(from));
    if (to < this.shown.length) this.body.append(spacer(this.shown.length - to));
    this.drawn = { from, to };
  }

  /// Replaces the rows when the view comes near the first or last row.
  follow() {
    if (!this.isLong()) return;
    const first = Math.floor(this.frame.scrollTop / this.height);
    const last = first + Math.ceil(this.frame.clientHeight / this.height);
    const isDrawn = (row) => row >= this.drawn.from && row <= this.drawn.to;
    if (isDrawn(Math.max(0, first - 5)) && isDrawn(Math.min(this.shown.length, last + 5))) return;
    this.draw(Math.max(0, Math.min(first - ABOVE, this.shown.length - WINDOW)));
  }

  row(row, index) {
    return element("tr", { "aria-rowindex": index + 2 }, ...this.columns.map((column) => {
      const text = this.text(column, row);
      const look = [column.isNumber ? "number" : "", column.isCode ? "code" : "", column.look?.(row) ?? ""].join(" ").trim();
      const title = column.hint ? column.hint(row) : column.isNumber ? null : text;
      return element(column.isKey ? "th" : "td", { class: look, scope: column.isKey ? "row" : null, title },
        column.draw ? column.draw(row) : text);
    }));
  }
}
