// The page's controls. Audio comes from sources.js, text from a session of connection.js and goes to
// caption.js.
import {Caption, formatTime} from './caption.js';
import {explain, openSession, openUpload} from './connection.js';
import {takeDrops} from './drop.js';
import {save} from './exports.js';
import {LevelMeter} from './level_meter.js';
import {Player} from './player.js';
import {keepInLink} from './settings.js';
import {SourceError, openFile, openMicrophone} from './sources.js';

const LEAST_SHARE = 0.02; // of which the time of the rest is told
const REFUSED_FILE = [400, 413, 415]; // of HTTP: the file is at fault, not the server

const byId = (id) => document.getElementById(id);
const elements = Object.fromEntries(['status', 'caption', 'ended', 'stable', 'tentative', 'hint', 'error',
  'recording', 'progress', 'exports', 'microphone', 'file', 'aloud', 'paragraphs', 'hotwords', 'latency', 'chunk',
  'audio', 'model', 'history', 'earlier', 'drop'].map((id) => [id, byId(id)]));
const hotwordScore = byId('hotword-score');
const settings = ['aloud', 'paragraphs', 'hotwords', 'hotword-score'].map(byId);
const meter = new LevelMeter(byId('meter'), byId('levels'));
const caption = new Caption({scroller: elements.caption, ended: elements.ended,
  stable: elements.stable, tentative: elements.tentative});
const player = new Player(byId('player'), (milliseconds) => caption.mark(milliseconds));

let current = null; // {session, source, isStopping} while a stream runs
let title = ''; // of the text: the name of its files

function showStatus(state, text) {
  elements.status.dataset.state = state;
  elements.status.textContent = text;
}

function showError(message) {
  elements.error.textContent = message;
  elements.error.hidden = !message;
}

function showFacts({latencyMs, audioMs}) {
  // A recording that the server reads has none.
  elements.latency.textContent = latencyMs ? `${Math.max(1, Math.round(latencyMs))} ms` : '–';
  elements.audio.textContent = formatTime(audioMs);
}

/** `share` of a step is done, from 0 to 1, since `startedAt` (as performance.now()). */
function showProgress(step, share, startedAt) {
  elements.progress.hidden = false;
  byId('progress-bar').value = share;
  const leftMs = (performance.now() - startedAt) * (1 - share) / share;
  byId('progress-text').textContent = `${step}: ${Math.floor(share * 100)} %` +
    (share > LEAST_SHARE ? `, about ${formatTime(leftMs)} left` : '');
}

/** Moves the last text to the list of earlier ones. */
function putAway() {
  const text = caption.text();
  if (!text) return;
  const item = document.createElement('li');
  item.textContent = text;
  elements.earlier.prepend(item);
  elements.history.hidden = false;
}

/** Begins the text of `recording` (a File), or of the microphone if it is null. */
function beginText(recording) {
  putAway();
  caption.begin(recording && ((milliseconds) => player.seek(milliseconds)));
  title = recording ? recording.name.replace(/\.[^.]*$/, '') : 'captions';
  elements.exports.hidden = true;
  elements.recording.hidden = !recording;
  byId('recording-name').textContent = recording?.name ?? '';
  if (recording) player.open(recording);
  else player.close();
}

function showRunning(isRunning) {
  const {microphone, file} = elements;
  const rested = [file, ...settings]; // while it runs
  microphone.textContent = isRunning ? 'Stop' : 'Start microphone';
  microphone.classList.toggle('running', isRunning);
  // The keyboard would lose its place in a control that is disabled.
  if (rested.includes(document.activeElement)) microphone.focus({preventScroll: true});
  for (const control of rested) control.disabled = isRunning;
}

/** What the controls ask for: fields of the start message. */
function streamOptions() {
  const options = {endpointing: elements.paragraphs.checked};
  const hotwords = elements.hotwords.value.replace(/[,，、]/g, '\n').trim();
  if (!hotwords) return options;
  options.hotwords = hotwords; // a phrase per line
  if (hotwordScore.value) options.hotword_score = hotwordScore.valueAsNumber;
  return options;
}

/**
 * `open(onPacket, hasRoom)` opens the source; `label` describes it while it runs; `recording` is the
 * File that it reads, or null.
 */
async function start(open, label, recording = null) {
  const run = {session: null, source: null, isStopping: false};
  current = run;
  showError('');
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
  beginText(recording);
  run.session = openSession(run.source.rate, streamOptions());
  listen(run, label);
  run.source.ended.then(() => stop(run));
  run.source.start();
}

/** `fail(failure)` tells the reader why the run has ended. */
function listen(run, label, fail = (failure) => showError(explain(failure))) {
  const on = (name, handle) => run.session.addEventListener(name, ({detail}) => handle(detail));
  on('ready', ({model, chunkMs}) => {
    elements.model.textContent = model;
    elements.chunk.textContent = chunkMs < 0 ? 'whole' : `${Math.round(chunkMs)} ms`;
    if (!run.isStopping) showStatus('live', label);
  });
  const endUtterance = (utterance) => {
    caption.endUtterance(utterance);
    elements.exports.hidden = caption.utterances.length === 0;
  };
  on('caption', (detail) => {
    caption.show(detail.stable, detail.tentative, detail.beginsWord);
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
  on('failed', (failure) => {
    end(run);
    fail(failure);
  });
}

/** Has the server read the file, which takes more formats than a browser does. */
function upload(file) {
  const run = {session: openUpload(file, streamOptions()), source: {async stop() {}},
    isStopping: false};
  current = run;
  showError('');
  showRunning(true);
  showStatus('waiting', 'Sending…');
  const on = (name, handle) => run.session.addEventListener(name, ({detail}) => handle(detail));
  let startedAt = performance.now();
  let totalMs = NaN;
  on('sending', ({share}) => showProgress('Sent', share, startedAt));
  on('ready', ({durationMs}) => {
    beginText(file);
    startedAt = performance.now();
    totalMs = durationMs;
  });
  on('caption', ({audioMs}) => {
    const share = audioMs / (totalMs ?? player.durationMs);
    if (share <= 1) showProgress('Read', share, startedAt);
  });
  on('stopped', () => end(run));
  // A file that the server does not take may be one that the browser can decode.
  listen(run, `Reading ${file.name}`, (failure) => {
    if (REFUSED_FILE.includes(failure.status)) return decodeHere(file);
    showError(explain(failure));
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
  elements.progress.hidden = true;
  showRunning(false);
  showStatus('idle', 'Ready');
}

/** `files` that were chosen or dropped. */
function recognise(files) {
  if (current) return showError('A stream is running. Stop it, then drop the recording again.');
  if (files.length !== 1) {
    return showError(`${files.length} files were dropped; expected one recording.`);
  }
  const [file] = files;
  if (openUpload && !elements.aloud.checked) return upload(file);
  decodeHere(file);
}

/** The browser decodes the file, and its samples are sent as a stream. */
function decodeHere(file) {
  const isAloud = elements.aloud.checked;
  const isDue = async (hasRoom, seconds) => {
    await hasRoom();
    if (isAloud) await player.reached(seconds);
  };
  const open = async (onPacket, hasRoom) => {
    const source = await openFile(file, onPacket, (seconds) => isDue(hasRoom, seconds));
    const begin = () => {
      if (isAloud) player.play();
      return source.start();
    };
    return {...source, start: begin};
  };
  start(open, `Reading ${file.name}`, file);
}

elements.microphone.addEventListener('click', () => {
  if (!current) return start(openMicrophone, 'Listening');
  player.pause();
  stop(current);
});

elements.file.addEventListener('change', () => {
  const files = [...elements.file.files];
  elements.file.value = ''; // allows the same recording to be chosen again
  if (files.length > 0) recognise(files);
});

takeDrops(elements.drop, recognise);
keepInLink(byId('link'), settings);

elements.exports.addEventListener('click', ({target}) => {
  const {format} = target.dataset;
  if (format) save(caption.utterances, title, format);
});

window.addEventListener('pagehide', () => current?.session?.cancel());
