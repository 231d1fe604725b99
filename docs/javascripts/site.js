// Two things that the theme leaves to be done: a name for the landmark beside each block of code, which screen readers
// list, and the keyboard's way to a table that is too wide and scrolls.
(() => {
  let count = 0;
  const mend = () => {
    for (const each of document.querySelectorAll(".md-code__nav:not([aria-label])")) {
      each.setAttribute("aria-label", `Code block ${++count}`);
    }
    for (const each of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
      if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
    }
  };
  new MutationObserver(mend).observe(document.documentElement, { childList: true, subtree: true });
  addEventListener("load", mend);
  addEventListener("resize", mend);
  mend();
})();
