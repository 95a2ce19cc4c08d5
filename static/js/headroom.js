"use strict";
/* The few things that HTML alone does not do. Everything works without this file, only slower. */

/* A control with data-key is pressed by that letter, unless one is writing. */
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest("input, select, textarea, [contenteditable], dialog")) return;
  const target = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (!target) return;
  event.preventDefault();
  target.focus();
  target.click();
});

/* A dialog that the server sent open, because what was in it was refused, holds the page like any other. */
document.querySelectorAll("dialog[open]").forEach((dialog) => {
  dialog.close();
  dialog.showModal();
});

/* data-opens names a dialog, data-closes closes the one around. */
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens)?.showModal();
  if (event.target.closest("[data-closes]")) event.target.closest("dialog")?.close();
});

/* A select or checkbox with data-submits sends its form when it changes. */
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
});

/* A form that has been sent is not sent twice; when the page comes back from the cache it may be sent again. */
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || form.matches("[hx-post], [data-hx-post], dialog form[method=dialog]")) return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent));

/* A file being uploaded shows how far it is, in the progress element inside the form. */
document.addEventListener("htmx:xhr:progress", (event) => {
  const bar = event.target.closest("form")?.querySelector("progress");
  if (!bar || !event.detail.lengthComputable) return;
  bar.hidden = false;
  bar.max = event.detail.total;
  bar.value = event.detail.loaded;
});

/* What stands open in a part of the page stays open when the server draws that part again. */
let stood = new Map();
document.addEventListener("htmx:beforeSwap", (event) => {
  const parts = event.detail.target.querySelectorAll("details[data-stays]");
  stood = new Map([...parts].map((part) => [part.dataset.stays, part.open]));
});
document.addEventListener("htmx:afterSwap", (event) => {
  event.detail.target.querySelectorAll("details[data-stays]").forEach((part) => {
    if (stood.has(part.dataset.stays)) part.open = stood.get(part.dataset.stays);
  });
});
