// OpenAI's client: every kind of request about recordings and models. Further options: key.
import fs from 'node:fs';
import OpenAI, {toFile} from 'openai';

import {converseAll, options} from './client_program.mjs';

const path = options.wav;
const client = new OpenAI({baseURL: `${options.url}/v1`, apiKey: options.key, maxRetries: 0});
const transcribe = (options) => client.audio.transcriptions.create(
    {file: fs.createReadStream(path), model: 'whisper-1', ...options});

async function failure(request) {
  try {
    await request;
    return null;
  } catch (error) {
    return {
      name: error.constructor.name, status: error.status, code: error.code, type: error.type,
      param: error.param, message: error.message, requestID: error.requestID,
    };
  }
}

async function converse() {
  const formats = {};
  for (const format of ['json', 'text', 'srt', 'vtt', 'verbose_json']) {
    formats[format] = await transcribe({response_format: format});
  }
  const events = [];
  for await (const event of await transcribe({stream: true})) events.push(event);
  const models = [];
  for await (const model of client.models.list()) models.push(model);
  const wrong = async () => await toFile(Buffer.from('no audio'), 'a.wav');
  return {
    formats,
    events,
    models,
    words: await transcribe({
      response_format: 'verbose_json', timestamp_granularities: ['word', 'segment'],
      language: 'en', temperature: 0, prompt: 'two, zero',
      chunking_strategy: {type: 'server_vad', silence_duration_ms: 400, threshold: 0.5},
    }),
    whole: await transcribe({file: await toFile(fs.readFileSync(path), 'recording.flac')}),
    model: await client.models.retrieve('digits'),
    failures: {
      model: await failure(client.models.retrieve('whisper-1')),
      format: await failure(transcribe({response_format: 'diarized_json'})),
      recording: await failure(transcribe({file: await wrong()})),
      events: await failure(transcribe({file: await wrong(), stream: true})),
      key: await failure(client.withOptions({apiKey: 'wrong'}).models.list()),
    },
  };
}

await converseAll(converse);
