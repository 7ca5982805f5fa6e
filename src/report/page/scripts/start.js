// Puts the page together, and remembers whether it is to be dark.

function startTheme() {
  const button = byId("theme");
  const wantsDark = window.matchMedia("(prefers-color-scheme: dark)");
  const memory = { read: () => null, write: () => {} };
  try {
    // Not every browser lets a page from a file remember anything.
    const storage = window.localStorage;
    memory.read = () => storage.getItem("fatbin-theme");
    memory.write = (theme) => storage.setItem("fatbin-theme", theme);
    memory.read();
  } catch {
    memory.read = () => null;
    memory.write = () => {};
  }
  let chosen = memory.read();
  const show = () => {
    const isDark = chosen ? chosen === "dark" : wantsDark.matches;
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    button.setAttribute("aria-pressed", String(isDark));
  };
  button.addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    memory.write(chosen);
    show();
  });
  wantsDark.addEventListener("change", show);
  show();
}

startTheme();
drawFindings();
startMap();
drawCoverage();
drawImages();
drawKernels();
drawHead();
