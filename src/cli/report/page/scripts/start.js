// Builds the page: first what is in view at the top, then the tables.

/// Waits until the browser has drawn the page as it is.
function drawn() {
  return new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); });
}

drawFindings();
startMap();
drawHead();
await drawn();
performance.mark("overview");
drawCoverage();
drawImages();
drawKernels();
startAddress();
await drawn();
NAMES.prepare();
document.documentElement.dataset.state = "complete";
