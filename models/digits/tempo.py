"""Change of tempo without change of pitch: WSOLA (Verhelst and Roelands 1993)."""

import numpy as np


def change_tempo(samples: np.ndarray, rate: int, tempo: float) -> np.ndarray:
    """Changes the tempo of `samples` (n,) float32 by `tempo`; returns about n / tempo samples.

    Windows of 30 ms overlap by half. Each is taken within 7.5 ms of its position in the input,
    where it continues the previous window best (largest normalised correlation).
    """
    hop = int(0.015 * rate)
    window = 2 * hop
    reach = hop // 2
    shape = np.hanning(window + 1)[:window].astype(np.float32)
    frames = int(len(samples) / tempo) // hop
    if frames < 2:
        return samples
    padded = np.pad(samples, (reach + hop, 2 * window + reach + hop)).astype(np.float32)
    output = np.zeros((frames + 2) * hop, np.float32)
    position = reach
    for frame in range(frames + 1):
        if frame > 0:
            wanted = padded[position + hop:position + hop + window]
            nominal = reach + int(frame * hop * tempo)
            nominal = min(nominal, len(padded) - window - reach)
            if len(wanted) < window:
                wanted = np.pad(wanted, (0, window - len(wanted)))
            around = padded[nominal - reach:nominal + reach + window]
            likeness = np.correlate(around, wanted, "valid")
            power = np.cumsum(np.concatenate(([0.0], np.square(around))))
            energy = power[window:] - power[:-window]
            position = nominal - reach + int(np.argmax(likeness / np.sqrt(energy + 1e-6)))
        output[frame * hop:frame * hop + window] += shape * padded[position:position + window]
    return output[hop:hop + int(len(samples) / tempo)]
