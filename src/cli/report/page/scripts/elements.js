// Elements of the page. Strings from files are inserted as text and never as markup: no script passes a string to the HTML
// parser.

const byId = (id) => document.getElementById(id);

/// Creates an element with properties (class, text, event handlers, attributes) and children, which are elements or texts.
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/// Announces a change of the page to screen readers.
function announce(text) {
  byId("announcement").textContent = text;
}
