// NVIDIA Riva's live recognition with @grpc/grpc-js, all calls over one channel. Further options: grpc
// (host and port), proto (the file), config of the stream; turns, with which the client ends each
// utterance (force_eou), and speaks the recording that often in one call.
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';

import {audio, converseAll, options, pieces} from './client_program.mjs';

const {nvidia} = grpc.loadPackageDefinition(protoLoader.loadSync(options.proto));
const credentials = options.url.startsWith('https') ? grpc.credentials.createSsl()
                                                    : grpc.credentials.createInsecure();
const client = new nvidia.riva.asr.RivaSpeechRecognition(options.grpc, credentials);

function converse(halfWay) {
  const outcome = {text: '', early: ''};
  let turnsLeft = options.turns;
  const call = client.StreamingRecognize();
  const send = (bytes) => {
    for (const audioContent of pieces(bytes)) call.write({audioContent});
  };
  const endTurn = () => {
    if (options.turns === undefined) return call.end();
    call.write({audioContent: Buffer.alloc(0), runtimeConfig: {force_eou: 'true'}});
  };
  const onFinal = (transcript) => {
    outcome.text += transcript;
    if (options.turns === undefined) return;
    if (--turnsLeft === 0) return call.end();
    send(audio);
    endTurn();
  };
  return new Promise((resolve) => {
    call.on('data', async ({results}) => {
      for (const {isFinal, alternatives: [{transcript}]} of results) {
        if (isFinal) onFinal(transcript);
        if (outcome.early !== '' || transcript === '') continue;
        outcome.early = transcript;
        await halfWay();
        send(audio.subarray(audio.length / 2));
        endTurn();
      }
    });
    call.on('error', ({code, details}) => resolve(
        {...outcome, error: grpc.status[code], details}));
    // The transcripts of utterances end with a space, to be joined.
    call.on('end', () => resolve({...outcome, text: outcome.text.trimEnd()}));
    call.write({streamingConfig: {config: options.config ?? {}, interimResults: true}});
    send(audio.subarray(0, audio.length / 2));
  });
}

await converseAll(converse);
