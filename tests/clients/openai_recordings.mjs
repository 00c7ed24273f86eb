// OpenAI's client for recordings. Half of the upload arrives before the program goes on. Further
// options: key; fields of the form.
import OpenAI from 'openai';

import {audio, converseAll, options} from './client_program.mjs';

const client = new OpenAI({
  baseURL: `${options.url}/v1`, apiKey: options.key ?? 'any', maxRetries: 0,
});

async function converse(halfWay) {
  const file = {
    path: 'recording.wav',
    async* [Symbol.asyncIterator]() {
      yield audio.subarray(0, audio.length / 2);
      await halfWay();
      yield audio.subarray(audio.length / 2);
    },
  };
  try {
    return {text: (await client.audio.transcriptions.create(
        {model: 'digits', file, ...options.fields})).text};
  } catch (error) {
    return {error: error.message};
  }
}

await converseAll(converse);
