"""Writes the fuzzers' corpora, tests/fuzz/corpus: python3 tests/fuzz/make_corpus.py

The audio files' bytes may differ with the version of libsndfile; nothing depends on them. Language
models are compiled by build/bin/compile_lm.
"""
import io
import json
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import List

import numpy as np
import soundfile

FOLDER = Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent / 'support' / 'python'))
from audio_files import ogg_packets  # noqa: E402  pylint: disable=wrong-import-position
MODEL = FOLDER.parent.parent / 'models' / 'digits' / 'digits.pt'
COMPILE_LM = FOLDER.parent.parent / 'build' / 'bin' / 'compile_lm'


def write(fuzzer: str, name: str, data: bytes) -> None:
    """Writes one file of a fuzzer's corpus."""
    path = FOLDER / 'corpus' / fuzzer / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def text(message: str) -> bytes:
    """A text message, framed as protocol_fuzzing.h says."""
    data = message.encode()
    return b't' + struct.pack('<H', len(data)) + data


def control(**fields: object) -> bytes:
    """A text message that holds a JSON object."""
    return text(json.dumps(fields))


def binary(data: bytes) -> bytes:
    """A binary message."""
    return b'b' + struct.pack('<H', len(data)) + data


def update(data: bytes) -> bytes:
    """An update of the stream."""
    return b'u' + struct.pack('<H', len(data)) + data


def samples(encoding: str) -> bytes:
    """Three samples."""
    values = np.array([0.5, -0.25, 0.125], dtype=np.float32)
    return values.tobytes() if encoding == 'float32' else (values * 32767).astype('<i2').tobytes()


def runnel_protocol() -> None:
    """Our own protocol: a whole conversation, a resumed one, mistakes."""
    start = control(type='start', version=1)
    finish = control(type='finish')
    updates = update('字 two'.encode()) + update(b'x\xe5') + update(b'final')
    write('runnel_protocol', 'conversation',
          start + binary(samples('pcm16')) + control(type='ping', id=7) + updates[:9] + finish
          + updates)
    write('runnel_protocol', 'options', control(
        type='start', version=1, sample_rate=48000, encoding='float32', chunk_size=4,
        left_context=-1, search='beam', beam_size=5, nbest=3, resume=True, tokens=False)
        + binary(samples('float32')[:5]) + binary(samples('float32')[5:]) + updates + finish)
    write('runnel_protocol', 'heads', control(
        type='start', version=1, search='modified_beam', head='transducer', max_symbols=2,
        ctc_weight=0.5, rescoring=True, first_pass_weight=1, reverse_weight=0.5, language='en')
        + binary(samples('pcm16')) + updates + finish)
    write('runnel_protocol', 'resumed',
          control(type='resume', version=1, token='abc', encoding='float32') + updates)
    write('runnel_protocol', 'utterances',
          control(type='start', version=1, endpointing={
              'silence_s': 1.2, 'initial_silence_s': 2.4, 'max_utterance_s': 20,
              'blank_probability': 0.8, 'reset_encoder': False}, nbest=2, search='beam')
          + binary(samples('pcm16')) + control(type='flush') + update(b'news') + update(b'two')
          + finish + update(b'n') + update(b'f'))
    write('runnel_protocol', 'resumed_utterances',
          control(type='resume', version=1, token='abc', utterances=2) + update(b'new')
          + control(type='flush') + update(b'two'))
    for encoding in 'mulaw', 'alaw':
        write('runnel_protocol', encoding, control(type='start', version=1, encoding=encoding)
              + binary(bytes(range(200))) + updates + finish)
    packets = ogg_packets((FOLDER / 'corpus' / 'audio_reader' / 'ogg_opus').read_bytes())[2:]
    write('runnel_protocol', 'opus', control(type='start', version=1, encoding='opus',
                                             sample_rate=48000)
          + b''.join(map(binary, packets)) + binary(b'') + updates + finish)
    write('runnel_protocol', 'resumed_opus', control(
        type='resume', version=1, token='abc', encoding='opus') + binary(packets[0]) + finish)
    write('runnel_protocol', 'second_start', start + start)
    write('runnel_protocol', 'odd_bytes', start + binary(b'abc') + finish)
    write('runnel_protocol', 'cancelled', start + update(b'error') + control(type='cancel'))
    write('runnel_protocol', 'deep', text('{"type":' + '[' * 40 + ']' * 40 + '}'))


def wenet_protocol() -> None:
    """WeNet's protocol."""
    start = control(signal='start', nbest=2, continuous_decoding=False)
    end = control(signal='end')
    audio = binary(samples('pcm16'))
    write('wenet_protocol', 'conversation',
          start + audio + update(b'two') + end + update(b'f two'))
    write('wenet_protocol', 'continuous',
          control(signal='start', nbest=1, continuous_decoding=True) + audio + update(b'two')
          + update(b'news') + end + update(b'f'))
    write('wenet_protocol', 'cut_samples', start + binary(b'abc') + binary(b'd') + end)
    write('wenet_protocol', 'second_start', start + audio + start)
    write('wenet_protocol', 'text_for_audio', start + text('hello'))
    write('wenet_protocol', 'audio_first', audio + start)


def sherpa_protocol() -> None:
    """sherpa-onnx's protocol."""
    audio = binary(samples('float32'))
    done = text('Done')
    write('sherpa_protocol', 'conversation', audio + update('字'.encode()) + done + update(b'final'))
    write('sherpa_protocol', 'segments',
          audio + update(b'two') + update(b'news') + update(b'two') + done + update(b'f'))
    write('sherpa_protocol', 'cut_samples', binary(samples('float32')[:7]) + audio[:8] + done)
    write('sherpa_protocol', 'nothing', done + update(b'f'))
    write('sherpa_protocol', 'not_a_number', binary(struct.pack('<f', float('nan'))))
    write('sherpa_protocol', 'text_for_audio', audio + update(b'two') + text('{"signal":"end"}'))


def model_config() -> None:
    """The digit model's description and units, and other kinds of some sections."""
    with zipfile.ZipFile(MODEL) as archive:
        extra = {Path(name).name: archive.read(name) for name in archive.namelist()
                 if '/extra/' in name}
    config = json.loads(extra['runnel.json'])
    units = extra['units.txt']

    def variant(name: str, **sections: object) -> None:
        changed = json.loads(json.dumps(config))
        for section, value in sections.items():
            changed['encoder'][section] = value
        write('model_config', name, json.dumps(changed).encode() + b'\0' + units)

    variant('digits')
    variant('conv2d6', subsampling={'type': 'conv2d6'})
    variant('rel_pos', position={'scheme': 'legacy_rel_pos', 'linear_pos_bias': True})
    variant('absolute', position={'scheme': 'absolute'})
    variant('transformer', convolution=None, type='transformer')
    variant('running', normalization={'type': 'per_utterance', 'epsilon': 1e-5})
    write('model_config', 'units_only', b'\0' + '<blank> 0\r\n字 1\r\n\u2581a 2\n'.encode())


def hotwords() -> None:
    """Lists of phrases, each after the number of its vocabulary in fuzz_hotwords.cc."""
    write('hotwords', 'words', b'\0' + '# names\nab a :1.5\r\n\n\u2581\u00c9b :-2\na\n'.encode())
    write('hotwords', 'scores', b'\0' + b':1 :1e-3\na :1\nA :100\n #a\nab1 :-1e2\n')
    write('hotwords', 'characters', b'\1' + '\ufeff中 a\n中a :3\n丰中 :0.1\nB:1\n'.encode())
    write('hotwords', 'spelling', b'\2' + b'ab a\nba\nb a b\nabab :.5\nbb\n')


def audio_reader() -> None:
    """Short files of every format that libsndfile writes, whole and cut off."""
    wave = (np.sin(np.arange(300) * 0.3) * 0.5).astype(np.float32)
    stereo = np.stack([wave[:100], -wave[:100]], axis=1)
    files = {}
    for form in soundfile.available_formats():
        for subtype in soundfile.available_subtypes(form):
            # The encodings of samples are the same in all containers.
            if form in ('RAW', 'SD2') or (subtype[:4] in ('PCM_', 'FLOA', 'DOUB', 'ULAW', 'ALAW')
                                          and subtype != soundfile.default_subtype(form)):
                continue
            file = io.BytesIO()
            try:
                soundfile.write(file, wave, 16000, format=form, subtype=subtype)
            except soundfile.LibsndfileError:
                continue  # listed, but not implemented
            files[f'{form}_{subtype}'.lower()] = file.getvalue()
    for name, data, form, subtype in (
            ('pcm16.wav', wave, 'WAV', 'PCM_16'), ('pcm24.wav', stereo, 'WAVEX', 'PCM_24'),
            ('float.wav', wave[:60], 'WAV', 'FLOAT'), ('ulaw.wav', wave, 'WAV', 'ULAW'),
            ('adpcm.wav', wave, 'WAV', 'IMA_ADPCM'), ('rf64.wav', wave[:60], 'RF64', 'PCM_16'),
            ('pcm16.flac', wave, 'FLAC', 'PCM_16'), ('pcm24.flac', stereo, 'FLAC', 'PCM_24')):
        file = io.BytesIO()
        soundfile.write(file, data, 16000, format=form, subtype=subtype)
        files[name] = file.getvalue()
    files['big_endian.wav'] = (b'RIFX' + struct.pack('>I', 36 + 8) + b'WAVEfmt ' + struct.pack(
        '>IHHIIHH', 16, 1, 1, 16000, 32000, 2, 16) + b'data' + struct.pack('>I4h', 8, 1, 2, 3, 4))
    files['open_length.wav'] = files['pcm16.wav'][:40] + b'\xff' * 4 + files['pcm16.wav'][44:]
    files['cut.flac'] = files['pcm16.flac'][:-50]
    # An MP3 file without its Info frame, between tags.
    mp3 = files['mp3_mpeg_layer_iii']
    files['tags.mp3'] = (b'ID3\x04\0\0\0\0\0\x10' + bytes(16) + mp3[mp3.index(mp3[:2], 4):]
                         + b'TAG' + bytes(125))
    files['header.wav'] = files['pcm16.wav'][:30]
    for name, data in files.items():
        write('audio_reader', name, data)


def arpa(*sections: List[str]) -> str:
    """ARPA text of lines of n-grams, by length."""
    counts = [f'ngram {i + 1}={len(lines)}' for i, lines in enumerate(sections)]
    parts = ['\\data\\', *counts, '']
    for i, lines in enumerate(sections):
        parts += [f'\\{i + 1}-grams:', *lines, '']
    return '\n'.join([*parts, '\\end\\', ''])


def language_model() -> None:
    """ARPA texts and compiled models."""
    words = ['-99\t<s>\t-0.5', '-1.2\t</s>', '-1\ta\t-0.3', '-0.5\tab\t-0.25', '-2\tb\t0.1',
             '-1.5\t\u2581a']
    pairs = ['-0.4\t<s> ab\t-0.1', '-0.7\ta b\t-0.2', '-0.1\tab ab']
    compiled = {
        'unigrams': arpa(words[1:]),
        'trigrams': arpa(words + ['-3\t<unk>\t-0.3'], pairs, ['-0.2\t<s> ab ab', '-0.3\ta b a']),
        'missing': arpa(words, pairs[1:], ['-0.2\tb b a\t-1'], ['-0.1\tb b b b', '-1\t<s> a b a']),
    }
    for name, lines in compiled.items():
        write('language_model', f'{name}.arpa', lines.encode())
        path = FOLDER / 'corpus' / 'language_model' / name
        subprocess.run([COMPILE_LM, f'--arpa={path}.arpa', f'--output={path}.bin'], check=True)
    odd = b'\xef\xbb\xbfjunk\n' + compiled['trigrams'].replace('\n', '\r\n').encode()
    write('language_model', 'odd.arpa', odd.replace(b'ngram 1=7', b'ngram  1=     7 '))
    write('language_model', 'cut.arpa', compiled['trigrams'][:-40].encode())


if __name__ == '__main__':
    audio_reader()
    runnel_protocol()
    wenet_protocol()
    sherpa_protocol()
    model_config()
    hotwords()
    language_model()
