// Files that are dropped anywhere on the page.

/** Shows `overlay` while files are over the page, and calls onFiles(FileList) with those dropped. */
export function takeDrops(overlay, onFiles) {
  // dragenter and dragleave fire for every element under the pointer, so their difference counts.
  let depth = 0;
  const show = (newDepth) => {
    depth = newDepth;
    overlay.hidden = depth === 0;
  };
  window.addEventListener('dragenter', () => show(depth + 1));
  window.addEventListener('dragleave', () => show(Math.max(0, depth - 1)));
  window.addEventListener('dragover', (event) => event.preventDefault());
  window.addEventListener('drop', (event) => {
    event.preventDefault();
    show(0);
    onFiles(event.dataTransfer.files);
  });
}
