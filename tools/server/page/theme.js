// The light and the dark theme: that of the system, until a click on the button chooses one, which is
// remembered. A plain script in the head, so that the page is never painted in the wrong theme.
// Sends the event "themechange" to the document when colours change.
(() => {
  const KEY = 'theme'; // "light" or "dark"
  const system = matchMedia('(prefers-color-scheme: dark)');
  const root = document.documentElement;

  function remembered() {
    try {
      return localStorage.getItem(KEY);
    } catch { // the browser keeps nothing for this page
      return null;
    }
  }

  function remember(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch { // it then holds for this visit
    }
  }

  function theme() {
    return root.dataset.theme ?? (system.matches ? 'dark' : 'light');
  }

  const chosen = remembered();
  if (chosen === 'light' || chosen === 'dark') root.dataset.theme = chosen;

  document.addEventListener('DOMContentLoaded', () => {
    const button = document.getElementById('theme');
    const show = () => {
      button.setAttribute('aria-pressed', String(theme() === 'dark'));
      document.dispatchEvent(new Event('themechange'));
    };
    system.addEventListener('change', show);
    button.addEventListener('click', () => {
      root.dataset.theme = theme() === 'dark' ? 'light' : 'dark';
      remember(root.dataset.theme);
      show();
    });
    show();
  });
})();
