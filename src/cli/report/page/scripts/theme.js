// The choice of light or dark, which is stored. It applies before the data is unpacked.

function startTheme() {
  const button = byId("theme");
  const wantsDark = window.matchMedia("(prefers-color-scheme: dark)");
  const memory = { read: () => null, write: () => {} };
  try {
    // Some browsers deny storage to pages that were opened from files.
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
