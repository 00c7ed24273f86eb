// The server that the page comes from, and the access token that it may ask for.
import {Session} from './session.js';
import {Upload} from './upload.js';

const byId = (id) => document.getElementById(id);
const form = byId('token-form');
const field = byId('token');

let accessToken = '';

// The page may lie below a path of a proxy: all its addresses are relative to its own.
function serverUrl() {
  const url = new URL('.', location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url;
}

/** A stream of samples at `rate` (Hz). `options`: further fields of the start message. */
export function openSession(rate, options) {
  const session = new Session(serverUrl(), accessToken, rate, options);
  session.addEventListener('ready', () => { form.hidden = true; });
  return session;
}

/** A recording (a File) that the server reads. `options`: as for openSession. */
export function openUpload(file, options) {
  const upload = new Upload(new URL('v1/recognize', location.href), accessToken, file, options);
  upload.addEventListener('ready', () => { form.hidden = true; });
  return upload;
}

/** The text for the reader about a session that failed. Asks for a token where one is missing. */
export function explain({code, message}) {
  if (code !== 'unauthorized') return message;
  form.hidden = false;
  field.focus();
  return accessToken ? 'The server does not know this access token.' : '';
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  accessToken = field.value.trim();
  form.hidden = true;
  byId('error').hidden = true;
  byId('microphone').focus();
});
