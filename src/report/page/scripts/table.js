// A table that sorts and filters. Of many rows it shows the first; all of them are put in when somebody asks, a part at a
// time, so that the page stays alive.

const AT_FIRST = 100;
const AT_A_TIME = 500;

/// Makes a table in a section.
///
/// A column has `heading`, `title`, `isNumber`, `value(row)` to sort by (null comes last), and `show(row)`, which gives text
/// or an element where the value itself is not what is shown. `isKey` marks the one column that takes what room is left,
/// `most` is how many letters the others show, `signs` the pixels of what is no letter. `words(row)` is what the filter looks through.
class Table {
  constructor(section, { noun, rows, columns, words, controls = [], sort = null, label }) {
    Object.assign(this, { noun, rows, words, sort, label });
    this.shown = rows;
    this.limit = AT_FIRST;
    this.filter = element("input", {
      type: "search", placeholder: "Filter", "aria-label": `Filter ${noun}s`, spellcheck: "false", autocomplete: "off",
    });
    this.filter.addEventListener("input", () => this.update(true));
    this.table = element("table", { class: `of-${noun}s`, "aria-label": label });
    const frame = element("div", { class: "frame", tabindex: 0, role: "region", "aria-label": label }, this.table);
    this.count = element("span", { class: "count" });
    this.all = element("button", { type: "button", onclick: () => this.showAll() });
    section.append(
      element("div", { class: "controls" }, this.filter, ...controls),
      frame,
      element("p", { class: "foot" }, this.count, this.all),
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

  /// The layout is fixed, because one that fits the contents is computed anew with every part that is put in.
  width(column) {
    if (column === this.columns[0]) [this.letters, this.pixels] = [0, 0];
    const made = element("col");
    if (column.isKey) return made;
    let letters = column.heading.length + 2;
    for (const row of this.rows) {
      const text = this.text(column, row);
      if (text.length > letters) letters = text.length;
    }
    letters = Math.min(letters, column.most ?? 30);
    const pixels = 19 + (column.signs ?? 0);
    made.style.width = `calc(${letters}ch + ${pixels}px)`;
    this.letters += letters;
    this.pixels += pixels;
    return made;
  }

  text(column, row) {
    const shown = column.show ? column.show(row) : column.value(row);
    if (shown instanceof Node) return shown.textContent;
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
    const holds = (row) => {
      row.haystack ??= this.words(row).toLowerCase();
      return words.every((word) => row.haystack.includes(word));
    };
    this.shown = words.length > 0 ? this.rows.filter(holds) : [...this.rows];
    if (this.sort) this.shown.sort(this.order());
    this.headings.forEach((heading, index) => {
      const isSorted = this.sort?.index === index;
      heading.setAttribute("aria-sort", isSorted ? (this.sort.descending ? "descending" : "ascending") : "none");
    });
    if (isFiltered) {
      this.limit = AT_FIRST;
      announce(counted(this.shown.length, this.noun));
    }
    this.draw();
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

  showAll() {
    this.limit = Infinity;
    this.draw();
    this.filter.focus();
  }

  draw() {
    const part = (from, to) => this.body.append(...this.shown.slice(from, to).map((row) => this.row(row)));
    this.body.replaceChildren();
    const wanted = Math.min(this.limit, this.shown.length);
    part(0, Math.min(wanted, AT_FIRST));
    const turn = (this.turn = {});
    const next = (from) => {
      if (this.turn !== turn || from >= wanted) return;
      part(from, Math.min(wanted, from + AT_A_TIME));
      requestAnimationFrame(() => next(from + AT_A_TIME));
    };
    requestAnimationFrame(() => next(AT_FIRST));
    const of = this.shown.length < this.rows.length ? ` of ${exact(this.rows.length)}` : "";
    const first = wanted < this.shown.length ? `The first ${exact(wanted)} of ` : "";
    this.count.textContent = `${first}${exact(this.shown.length)}${of} ${this.noun}${this.rows.length === 1 ? "" : "s"}`;
    this.all.textContent = `Show all ${exact(this.shown.length)}`;
    this.all.hidden = wanted >= this.shown.length;
  }

  row(row) {
    return element("tr", {}, ...this.columns.map((column) => {
      const shown = column.show ? column.show(row) : column.value(row);
      const text = this.text(column, row);
      const look = [column.isNumber ? "number" : "", column.isCode ? "code" : "", column.look?.(row) ?? ""].join(" ").trim();
      const title = column.hint ? column.hint(row) : column.isNumber ? null : text;
      return element(column.isKey ? "th" : "td", { class: look, scope: column.isKey ? "row" : null, title },
        shown instanceof Node ? shown : text);
    }));
  }
}
