// What the programs in this folder share. A program gets its options as JSON in its only argument:
// url of the server (http or https), wav, count, and its own. Each of its `count` connections sends
// half of the recording and waits for text. When all have it, the program prints "half way". It
// sends the rest when its standard input ends, and prints the outcome of every connection as a line
// of JSON.
import {readFileSync} from 'node:fs';

export const options = JSON.parse(process.argv[2]);
export const audio = readFileSync(options.wav);
export const webSocketUrl = options.url.replace('http', 'ws');

const inputEnded = new Promise((resolve) => process.stdin.once('end', resolve).resume());

export function* pieces(bytes, size = 3200) {
  for (let begin = 0; begin < bytes.length; begin += size) {
    yield bytes.subarray(begin, begin + size);
  }
}

// `converse` serves one connection and returns its outcome. It gets a function that it calls half
// way, whose promise is fulfilled when the rest may be sent.
export async function converseAll(converse) {
  let beforeHalf = options.count;
  const outcomes = await Promise.all(Array.from({length: options.count}, async () => {
    let counted = false;
    const halfWay = () => {
      if (!counted && --beforeHalf === 0) console.log('half way');
      counted = true;
      return inputEnded;
    };
    const outcome = await converse(halfWay);
    halfWay();  // also after an error
    return outcome;
  }));
  const lines = outcomes.map((outcome) => `${JSON.stringify(outcome)}\n`);
  // A pipe takes 64 KiB at a time; without the wait, exit() drops what it has not taken yet.
  process.stdout.write(lines.join(''), () => process.exit());
}
