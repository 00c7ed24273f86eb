// Deepgram's SDK for JavaScript, for recordings. Half of the upload arrives before the program goes
// on. Further options: parameters of the query; remote, a URL to be fetched instead.
import {DeepgramClient} from '@deepgram/sdk';
import {Readable} from 'node:stream';

import {audio, converseAll, options} from './client_program.mjs';

const {url} = options;
const deepgram = new DeepgramClient({
  apiKey: options.key ?? 'any', maxRetries: 0,
  environment: {base: url, production: url, agent: url, agentRest: url},
});

async function converse(halfWay) {
  const halves = async function* () {
    yield audio.subarray(0, audio.length / 2);
    await halfWay();
    yield audio.subarray(audio.length / 2);
  };
  const {media} = deepgram.listen.v1;
  try {
    const reply = await (options.remote === undefined ?
      media.transcribeFile(Readable.from(halves()), {model: 'nova-3', ...options.parameters}) :
      media.transcribeUrl({url: options.remote, ...options.parameters}));
    return {text: reply.results.channels[0].alternatives[0].transcript, reply};
  } catch (error) {
    return {error: error.message, status: error.statusCode, body: error.body};
  }
}

await converseAll(converse);
