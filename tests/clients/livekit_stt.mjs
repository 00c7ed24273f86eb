// What an agent of LiveKit's framework for JavaScript hears, with its plugin for Deepgram or OpenAI.
// Further options: key; service, "openai" or else Deepgram's; stt, options of the plugin; turns, how
// often the recording is spoken (1), again when the turn before has ended; flush, with which the
// agent ends each turn before the silence; keepAlives, how many intervals of KeepAlive pass half way;
// recorded, which sends a recording.
import {mock} from 'node:test';

import {stt} from '@livekit/agents';
import * as deepgram from '@livekit/agents-plugin-deepgram';
import * as openai from '@livekit/agents-plugin-openai';
import {AudioFrame} from '@livekit/rtc-node';

import {converseAll, options, webSocketUrl} from './client_program.mjs';
import {frames, middle, sampleRate, samples, silence} from './livekit_audio.mjs';

mock.timers.enable({apis: ['setInterval']});

const KEEP_ALIVE_MS = 5000;
const Type = stt.SpeechEventType;
const numTurns = options.turns ?? 1;

async function converse(halfWay) {
  const outcome = {early: '', events: [], turns: []};
  const apiKey = options.key ?? 'secret';
  const recognizer = options.service === 'openai' ?
    new openai.STT({apiKey, baseURL: `${options.url}/v1`, ...options.stt}) :
    new deepgram.STT(
        {apiKey, baseUrl: webSocketUrl, sampleRate, endpointing: 300, ...options.stt});
  recognizer.on('error', ({error}) => { outcome.error = error.message; });
  if (options.recorded) {
    const recording = new AudioFrame(samples, sampleRate, 1, samples.length);
    return {text: (await recognizer.recognize(recording)).alternatives[0].text};
  }
  const stream = recognizer.stream();
  const speak = (part) => {
    for (const frame of frames(part)) stream.pushFrame(frame);
  };
  const endTurn = () => {
    if (options.flush) stream.flush();
    speak(silence);
  };
  let finals = [];
  let hasEnded = false;
  speak(samples.subarray(0, middle));
  for await (const {type, alternatives} of stream) {
    const name = Type[type];
    if (type !== Type.RECOGNITION_USAGE && outcome.events.at(-1) !== name) {
      outcome.events.push(name);
    }
    if (type === Type.FINAL_TRANSCRIPT) finals.push(alternatives[0].text);
    if (alternatives !== undefined && outcome.early === '') {
      outcome.early = alternatives[0].text;
      await halfWay();
      for (let i = 0; i < (options.keepAlives ?? 0); ++i) mock.timers.tick(KEEP_ALIVE_MS);
      speak(samples.subarray(middle));
      endTurn();
    }
    hasEnded ||= type === Type.END_OF_SPEECH;
    if (!hasEnded || finals.length === 0) continue;
    outcome.turns.push(finals.join(' '));
    finals = [];
    hasEnded = false;
    if (outcome.turns.length === numTurns) {
      stream.endInput();
    } else {
      speak(samples);
      endTurn();
    }
  }
  return {...outcome, text: outcome.turns.join(' ')};
}

await converseAll(converse);
