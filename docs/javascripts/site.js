// The theme puts a landmark without a name beside each block of code; screen readers list them, so each gets one.
(() => {
  let count = 0;
  const name = () => {
    for (const each of document.querySelectorAll(".md-code__nav:not([aria-label])")) {
      each.setAttribute("aria-label", `Code block ${++count}`);
    }
  };
  new MutationObserver(name).observe(document.documentElement, { childList: true, subtree: true });
  name();
})();
