// A session of LiveKit's framework for JavaScript with an agent that only listens. Its speech
// recognition is the plugin for Deepgram, which also finds the turns. Further options: stt, options
// of the plugin; turns, how often the recording is spoken (1), again when the agent has got a turn.
import {voice} from '@livekit/agents';
import {STT} from '@livekit/agents-plugin-deepgram';

import {converseAll, options, webSocketUrl} from './client_program.mjs';
import {frames, middle, sampleRate, samples, silence} from './livekit_audio.mjs';

const numTurns = options.turns ?? 1;

class Microphone extends voice.AudioInput {
  #frames;

  constructor() {
    super();
    const start = (controller) => { this.#frames = controller; };
    this.multiStream.addInputStream(new ReadableStream({start}));
  }

  hear(part) {
    for (const frame of frames(part)) this.#frames.enqueue(frame);
  }
}

class Listener extends voice.Agent {
  constructor(onTurn) {
    super({instructions: ''});
    this.onTurn = onTurn;
  }

  async onUserTurnCompleted(_context, message) {
    this.onTurn(message.textContent);
  }
}

async function converse(halfWay) {
  const outcome = {early: '', states: [], turns: []};
  const microphone = new Microphone();
  const stt = new STT({
    apiKey: 'secret', baseUrl: webSocketUrl, sampleRate, endpointing: 300, ...options.stt,
  });
  const session = new voice.AgentSession({
    stt, vad: null, turnHandling: {turnDetection: 'stt', endpointing: {minDelay: 0}},
  });
  session.input.audio = microphone;
  return await new Promise((resolve) => {
    const finish = (result) => {
      resolve({...outcome, text: outcome.turns.join(' '), ...result});
      session.close();
    };
    session.on(voice.AgentSessionEventTypes.Error, ({error}) => finish({error: String(error)}));
    session.on(voice.AgentSessionEventTypes.UserStateChanged, ({newState}) => {
      outcome.states.push(newState);
    });
    session.on(voice.AgentSessionEventTypes.UserInputTranscribed, async ({transcript}) => {
      if (outcome.early !== '') return;
      outcome.early = transcript;
      await halfWay();
      microphone.hear(samples.subarray(middle));
      microphone.hear(silence);
    });
    const onTurn = (text) => {
      outcome.turns.push(text);
      if (outcome.turns.length === numTurns) return finish({});
      microphone.hear(samples);
      microphone.hear(silence);
    };
    session.start({agent: new Listener(onTurn)});
    microphone.hear(samples.subarray(0, middle));
  });
}

await converseAll(converse);
