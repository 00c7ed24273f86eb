// Runs in the audio thread: posts the audio in packets of about 40 ms.
// Messages out: {samples: Float32Array (mono), peak: 0 to 1}, and {flushed: true} after "flush".

const PACKET_SECONDS = 0.04;

class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    this.packet = new Float32Array(Math.round(sampleRate * PACKET_SECONDS));
    this.size = 0;
    this.isOver = false;
    this.port.onmessage = () => {
      this.post();
      this.port.postMessage({flushed: true});
      this.isOver = true;
    };
  }

  /** Mixes the channels of the first input; false ends the node. */
  process([channels]) {
    if (this.isOver) return false; // it is asked again for as long as it is connected
    const length = channels.length > 0 ? channels[0].length : 0;
    for (let i = 0; i < length; ++i) {
      let sum = 0;
      for (const channel of channels) sum += channel[i];
      this.packet[this.size++] = sum / channels.length;
      if (this.size === this.packet.length) this.post();
    }
    return true;
  }

  post() {
    const samples = this.packet.slice(0, this.size);
    this.size = 0;
    let peak = 0;
    for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
    this.port.postMessage({samples, peak}, [samples.buffer]);
  }
}

registerProcessor('capture', Capture);
