// Times a step of an exported model (onnx_export.py) in ONNX Runtime, on one thread.
//
//   NODE_PATH=DIR/node_modules node time_onnx.js MODEL.onnx INPUTS_PREFIX SHAPES_JSON SECONDS
//
// INPUTS_PREFIX.NAME.bin hold the inputs and the log probabilities that PyTorch computed. Each step
// takes the caches of the step before, if the model has any. Steps of the first SECONDS, at most
// 10, are not measured. Prints one line of JSON: ms of the steps (median, p95, min), the largest
// difference of the first log probabilities, and ONNX Runtime's version.
'use strict';

const fs = require('fs');
const ort = require('onnxruntime-node');

const MOST_WARM_UP_STEPS = 10;

function readFloats(path) {
  const bytes = fs.readFileSync(path);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
}

async function main() {
  const [model, prefix, shapesJson, seconds] = process.argv.slice(2);
  const shapes = JSON.parse(shapesJson);
  const session = await ort.InferenceSession.create(model, {
    executionProviders: ['cpu'],
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
  });
  const feeds = {};
  for (const name of Object.keys(shapes)) {
    feeds[name] = new ort.Tensor('float32', readFloats(`${prefix}.${name}.bin`), shapes[name]);
  }
  const expected = readFloats(`${prefix}.log_probs.bin`);
  let error = 0;
  const times = [];
  const least = Number(seconds) * 1000;
  let warmUp = 0;
  let spent = 0;
  for (let i = 0; spent < least; ++i) {
    const start = process.hrtime.bigint();
    const results = await session.run(feeds);
    const ms = Number(process.hrtime.bigint() - start) / 1e6;
    if (i === 0) {
      const found = results.log_probs.data;
      for (let j = 0; j < expected.length; ++j) {
        error = Math.max(error, Math.abs(found[j] - expected[j]));
      }
    }
    if (i < MOST_WARM_UP_STEPS && warmUp < least) {
      warmUp += ms;
    } else {
      times.push(ms);
      spent += ms;
    }
    for (const name of Object.keys(shapes)) {
      feeds[name] = results[`next_${name}`] || feeds[name];
    }
  }
  times.sort((a, b) => a - b);
  console.log(JSON.stringify({
    median_ms: quantile(times, 0.5),
    p95_ms: quantile(times, 0.95),
    min_ms: times[0],
    largest_difference: error,
    version: ort.env.versions.node,
  }));
}

main().catch((error) => {
  console.error(`time_onnx.js: ${String(error.message || error).split('\n')[0]}`);
  process.exit(1);
});
