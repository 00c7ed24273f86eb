// OpenAI's client for live audio. Further options: key; input, fields of the session's audio.input
// or, in the beta shape, of the session; raw, which sends the file as it is, not the samples of a
// WAV file; shape: general, beta or browser; mistake, which commits before there is audio; items,
// how many the server's turn detection makes. Without items the client commits.
import OpenAI from 'openai';
import {OpenAIRealtimeWS as BetaRealtimeWS} from 'openai/beta/realtime/ws';
import {OpenAIRealtimeWebSocket} from 'openai/realtime/websocket';
import {OpenAIRealtimeWS} from 'openai/realtime/ws';
import WebSocket from 'ws';

import {audio, converseAll, options, pieces} from './client_program.mjs';

globalThis.WebSocket ??= WebSocket;  // browsers have it, Node.js since version 22

const Client = {
  general: OpenAIRealtimeWS, beta: BetaRealtimeWS, browser: OpenAIRealtimeWebSocket,
}[options.shape ?? 'general'];
const HEADER_BYTES = 44;  // of a WAV file
const RATE_AT = 24;       // where the header has the sample rate
const TRANSCRIPTION = 'conversation.item.input_audio_transcription';
const samples = options.raw ? audio : audio.subarray(HEADER_BYTES);
const middle = Math.floor(samples.length / 4) * 2;
const client = new OpenAI({baseURL: `${options.url}/v1`, apiKey: options.key ?? 'any'});

function sessionFields() {
  const input = {turn_detection: null, ...options.input};
  if (options.shape === 'beta') return {input_audio_format: 'pcm16', ...input};
  const format = {type: 'audio/pcm', rate: audio.readUInt32LE(RATE_AT)};
  return {type: 'transcription', audio: {input: {format, ...input}}};
}

function converse(halfWay) {
  const live = new Client({model: 'digits'}, client);
  const speak = (bytes) => {
    for (const piece of pieces(bytes)) {
      live.send({type: 'input_audio_buffer.append', audio: piece.toString('base64')});
    }
  };
  const outcome = {early: '', types: [], items: [], errors: []};
  const deltas = {};
  return new Promise((resolve) => {
    const finish = (result) => {
      const text = outcome.items.map(({transcript}) => transcript).join(' ');
      resolve({...outcome, text, ...result});
      live.close();
    };
    live.on('error', (error) => {
      if (error.error === undefined) return finish({error: error.message});
      const {type, code, message, event_id: id} = error.error;
      outcome.errors.push({kind: error.constructor.name, type, code, message, id});
    });
    live.socket.addEventListener('close', ({code, reason}) => finish({code, reason}));
    live.on('event', ({type}) => {
      if (type !== `${TRANSCRIPTION}.delta` && type !== 'error') outcome.types.push(type);
    });
    live.on('session.created', () => {
      if (options.mistake) live.send({type: 'input_audio_buffer.commit', event_id: 'mistake'});
      live.send({type: 'session.update', session: sessionFields()});
    });
    live.on('session.updated', () => speak(samples.subarray(0, middle)));
    live.on(`${TRANSCRIPTION}.delta`, async ({item_id: item, delta}) => {
      deltas[item] = (deltas[item] ?? '') + delta;
      if (outcome.early !== '') return;
      outcome.early = delta;
      await halfWay();
      speak(samples.subarray(middle));
      if (options.items === undefined) live.send({type: 'input_audio_buffer.commit'});
    });
    live.on(`${TRANSCRIPTION}.completed`, ({item_id: item, transcript, usage}) => {
      outcome.items.push({transcript, deltas: deltas[item], usage: usage.type});
      if (outcome.items.length === (options.items ?? 1)) finish({});
    });
  });
}

await converseAll(converse);
