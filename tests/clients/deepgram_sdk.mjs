// Deepgram's SDK for JavaScript. Further options: parameters of the query; packets, a file with a
// JSON list of messages in base64, which are sent instead of the recording; beforeClose, types of
// messages that precede CloseStream.
import {DeepgramClient} from '@deepgram/sdk';
import {readFileSync} from 'node:fs';

import {audio, converseAll, options, pieces, webSocketUrl as url} from './client_program.mjs';

const messages = options.packets === undefined ? [...pieces(audio)] :
  JSON.parse(readFileSync(options.packets)).map((packet) => Buffer.from(packet, 'base64'));
const middle = Math.floor(messages.length / 2);

async function converse(halfWay) {
  const environment = {base: url, production: url, agent: url, agentRest: url};
  const deepgram = new DeepgramClient({apiKey: 'secret', environment});
  const connection = await deepgram.listen.v1.connect({
    model: 'nova-3', interim_results: 'true', connectionTimeoutInSeconds: 120,
    ...options.parameters,
  });
  const outcome = {text: '', early: '', openings: 0, kinds: [], finals: [], events: {}};
  return await new Promise((resolve) => {
    const finish = (result) => resolve({
      ...outcome,
      text: outcome.finals.map(({transcript}) => transcript).filter(Boolean).join(' '),
      ...result,
    });
    connection.on('open', () => {
      outcome.openings += 1;
      for (const message of messages.slice(0, middle)) connection.sendMedia(message);
    });
    connection.on('message', async (message) => {
      if (outcome.kinds.at(-1) !== message.type) outcome.kinds.push(message.type);
      if (message.type !== 'Results') {
        outcome.events[message.type] = message;
        return;
      }
      const {transcript} = message.channel.alternatives[0];
      if (message.is_final) {
        const {from_finalize: fromFinalize, speech_final: speechFinal} = message;
        outcome.finals.push({transcript, fromFinalize, speechFinal});
      }
      if (outcome.early !== '' || transcript === '') return;
      outcome.early = transcript;
      await halfWay();
      for (const message of messages.slice(middle)) connection.sendMedia(message);
      for (const type of options.beforeClose ?? []) connection[`send${type}`]({type});
      connection.sendCloseStream({type: 'CloseStream'});
    });
    // The SDK would connect again unless it is closed, which is an event of its own.
    connection.on('error', (error) => {
      finish({error: error.message});
      connection.close();
    });
    connection.on('close', ({code, reason}) => {
      if (code === 1000 && outcome.openings === 0) return;  // the error follows
      finish({code, reason});
      connection.close();
    });
    connection.connect();
  });
}

await converseAll(converse);
