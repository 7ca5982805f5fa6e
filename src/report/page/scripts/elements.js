// Elements of the page. Whatever comes out of a file goes into it as text and never as markup: nothing here or in the
// other scripts gives a string to the parser of HTML.

const byId = (id) => document.getElementById(id);

/// An element with properties (class, text, attributes by their names) and children, which are elements or texts.
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

/// Tells those who do not see the page what has changed on it.
function announce(text) {
  byId("announcement").textContent = text;
}
