// A program without the SDK, which speaks Deepgram's protocol as browsers do: credentials in the
// subprotocol, a recording of any format. Further options: parameters of the query.
import WebSocket from 'ws';

import {audio, converseAll, options, webSocketUrl} from './client_program.mjs';

function converse(halfWay) {
  const query = new URLSearchParams(
      {model: 'nova-3', interim_results: 'true', ...options.parameters});
  const socket = new WebSocket(`${webSocketUrl}/v1/listen?${query}`, ['token', 'secret']);
  const outcome = {text: '', early: '', openings: 0, kinds: []};
  const texts = [];
  return new Promise((resolve) => {
    const finish = (result) => resolve({...outcome, text: texts.join(' '), ...result});
    socket.on('open', () => {
      outcome.openings += 1;
      outcome.protocol = socket.protocol;
      socket.send(audio.subarray(0, audio.length / 2));
    });
    socket.on('message', async (data) => {
      const message = JSON.parse(data);
      if (outcome.kinds.at(-1) !== message.type) outcome.kinds.push(message.type);
      if (message.type !== 'Results') return;
      const {transcript} = message.channel.alternatives[0];
      if (message.is_final && transcript !== '') texts.push(transcript);
      if (outcome.early !== '' || transcript === '') return;
      outcome.early = transcript;
      await halfWay();
      socket.send(audio.subarray(audio.length / 2));
      socket.send(JSON.stringify({type: 'CloseStream'}));
    });
    socket.on('error', (error) => finish({error: error.message}));
    socket.on('close', (code, reason) => finish({code, reason: reason.toString()}));
  });
}

await converseAll(converse);
