// The settings that a link keeps. They are in its fragment, which browsers do not send to servers.

/**
 * Sets `controls` (inputs and text areas) to what the page's address says, and keeps `link` (an
 * anchor to "#") at the address that says what they hold. A control has its id for a name there.
 */
export function keepInLink(link, controls) {
  const write = () => {
    link.hash = new URLSearchParams(controls.map(({id, type, checked, value}) =>
      [id, type === 'checkbox' ? checked : value]));
  };
  const read = () => {
    const settings = new URLSearchParams(location.hash.slice(1));
    for (const control of controls.filter(({id}) => settings.has(id))) {
      const value = settings.get(control.id);
      if (control.type === 'checkbox') control.checked = value === 'true';
      else control.value = value;
    }
    write();
  };
  for (const control of controls) control.addEventListener('input', write);
  window.addEventListener('hashchange', read);
  read();
}
