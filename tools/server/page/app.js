// The page's buttons and captions. Audio comes from sources.js, text from session.js.
import {Caption, formatTime} from './caption.js';
import {LevelMeter} from './level_meter.js';
import {Session} from './session.js';
import {SourceError, openFile, openMicrophone, openPlayback} from './sources.js';

const byId = (id) => document.getElementById(id);
const elements = Object.fromEntries(['status', 'caption', 'hint', 'error', 'microphone', 'file',
  'aloud', 'paragraphs', 'hotwords', 'latency', 'chunk', 'audio', 'model', 'history', 'earlier', 'drop',
  'token'].map((id) => [id, byId(id)]));
const tokenForm = byId('token-form');
const meter = new LevelMeter(byId('meter'), byId('levels'));
const caption = new Caption(elements.caption);

let current = null; // {session, source, isStopping} while a stream runs
let accessToken = '';

function showStatus(state, text) {
  elements.status.dataset.state = state;
  elements.status.textContent = text;
}

function showError(message) {
  elements.error.textContent = message;
  elements.error.hidden = !message;
}

function showFacts({latencyMs, audioMs}) {
  elements.latency.textContent = `${Math.max(1, Math.round(latencyMs))} ms`;
  elements.audio.textContent = formatTime(audioMs);
}

/** Moves the last text to the list of earlier ones. */
function putAway() {
  const text = caption.text();
  if (text) {
    const item = document.createElement('li');
    item.textContent = text;
    elements.earlier.prepend(item);
    elements.history.hidden = false;
  }
  caption.clear();
}

function showRunning(isRunning) {
  const {microphone, file, aloud, paragraphs, hotwords} = elements;
  microphone.textContent = isRunning ? 'Stop' : 'Start microphone';
  microphone.setAttribute('aria-pressed', String(isRunning));
  file.disabled = aloud.disabled = paragraphs.disabled = hotwords.disabled = isRunning;
}

/** What the controls ask of the server: fields of the start message. */
function streamOptions() {
  const options = {endpointing: elements.paragraphs.checked};
  const hotwords = elements.hotwords.value.replace(/[,，、]/g, '\n').trim();
  if (hotwords) options.hotwords = hotwords; // a phrase per line
  return options;
}

function serverUrl() {
  const url = new URL('/', location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url;
}

/** `open(onPacket, hasRoom)` opens the source; `label` describes it while it runs. */
async function start(open, label) {
  if (current) return;
  const run = {session: null, source: null, isStopping: false, options: streamOptions()};
  current = run;
  showError('');
  putAway();
  showRunning(true);
  showStatus('waiting', 'Starting…');
  const onPacket = (samples, peak) => {
    run.session?.send(samples);
    meter.add(peak);
  };
  try {
    run.source = await open(onPacket, () => run.session.hasRoom());
  } catch (error) {
    end(run);
    if (error instanceof SourceError) return showError(error.message);
    throw error;
  }
  if (run.isStopping) {
    await run.source.stop();
    return end(run);
  }
  run.session = new Session(serverUrl(), accessToken, run.source.rate, run.options);
  listen(run, label);
  run.source.ended.then(() => stop(run));
  run.source.start();
}

function listen(run, label) {
  const on = (name, handle) => run.session.addEventListener(name, ({detail}) => handle(detail));
  on('ready', ({model, chunkMs}) => {
    tokenForm.hidden = true;
    elements.model.textContent = model;
    elements.chunk.textContent = chunkMs < 0 ? 'whole' : `${Math.round(chunkMs)} ms`;
    if (!run.isStopping) showStatus('live', label);
  });
  const endUtterance = (utterance) => caption.endUtterance(utterance, run.options.endpointing);
  on('caption', (detail) => {
    caption.show(detail.stable, detail.tentative);
    if (detail.stable || detail.tentative) elements.hint.hidden = true;
    showFacts(detail);
  });
  on('utterance', endUtterance);
  on('reconnecting', () => showStatus('waiting', 'Connection lost, trying again…'));
  on('final', (utterance) => {
    endUtterance(utterance);
    elements.hint.hidden = caption.text() !== '';
    end(run);
  });
  on('failed', ({code, message}) => {
    end(run);
    if (code === 'unauthorized') return askForToken();
    showError(message);
  });
}

/** Ends the audio. The run ends with the final text. */
async function stop(run) {
  if (run.isStopping) return;
  run.isStopping = true;
  if (!run.source) return; // start() checks isStopping
  showStatus('waiting', 'Finishing…');
  await run.source.stop();
  if (current === run) run.session.finish();
}

function end(run) {
  if (current !== run) return;
  current = null;
  if (run.source && !run.isStopping) {
    run.isStopping = true;
    run.source.stop();
  }
  meter.clear();
  showRunning(false);
  showStatus('idle', 'Ready');
}

function askForToken() {
  showError(accessToken ? 'The server does not know this access token.' : '');
  tokenForm.hidden = false;
  elements.token.focus();
}

function recognise(file) {
  // Browsers play audio only after a click or key press on the page; dropping a file is neither.
  if (elements.aloud.checked && navigator.userActivation?.hasBeenActive !== false) {
    return start((onPacket) => openPlayback(file, onPacket), `Playing ${file.name}`);
  }
  return start((onPacket, hasRoom) => openFile(file, onPacket, hasRoom), `Reading ${file.name}`);
}

elements.microphone.addEventListener('click', () => {
  if (current) stop(current);
  else start(openMicrophone, 'Listening');
});

elements.file.addEventListener('change', () => {
  const [file] = elements.file.files;
  elements.file.value = ''; // allows the same recording to be chosen again
  if (file) recognise(file);
});

tokenForm.addEventListener('submit', (event) => {
  event.preventDefault();
  accessToken = elements.token.value.trim();
  tokenForm.hidden = true;
  showError('');
  elements.microphone.focus();
});

// dragenter and dragleave fire for every element under the pointer, so their difference counts.
let dragDepth = 0;
function showDrop(depth) {
  dragDepth = depth;
  elements.drop.hidden = depth === 0 || current !== null;
}
window.addEventListener('dragenter', () => showDrop(dragDepth + 1));
window.addEventListener('dragleave', () => showDrop(Math.max(0, dragDepth - 1)));
window.addEventListener('dragover', (event) => event.preventDefault());
window.addEventListener('drop', (event) => {
  event.preventDefault();
  showDrop(0);
  const [file] = event.dataTransfer.files;
  if (file && !current) recognise(file);
});
window.addEventListener('pagehide', () => current?.session?.cancel());
