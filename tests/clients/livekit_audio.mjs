// What the programs with LiveKit's framework share: the recording as an agent gets it.
import {initializeLogger} from '@livekit/agents';
import {AudioFrame} from '@livekit/rtc-node';

import {audio} from './client_program.mjs';

const HEADER_BYTES = 44;  // of a WAV file
const RATE_AT = 24;       // where the header has the sample rate
const FRAMES_PER_S = 50;  // an agent gets audio in frames of 20 ms

initializeLogger({pretty: false, level: 'silent'});

export const sampleRate = audio.readUInt32LE(RATE_AT);
// Copies: the framework sends the whole buffer behind an array.
export const samples = new Int16Array(audio.buffer.slice(
    audio.byteOffset + HEADER_BYTES, audio.byteOffset + audio.length));
export const middle = Math.floor(samples.length / 2);
export const silence = new Int16Array(sampleRate);

export function* frames(part) {
  const size = sampleRate / FRAMES_PER_S;
  for (let begin = 0; begin < part.length; begin += size) {
    const frame = part.slice(begin, begin + size);
    yield new AudioFrame(frame, sampleRate, 1, frame.length);
  }
}
