"""Writes the fuzzers' corpora, tests/fuzz/corpus: python3 tests/fuzz/make_corpus.py

The audio files' bytes may differ with the version of libsndfile; nothing depends on them. Language
models are compiled by build/bin/compile_lm.
"""
import base64
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


def repeated(head: str, part: str, tail: str) -> bytes:
    """A long text message, in which `part` is repeated."""
    data = '\n'.join([head, part, tail]).encode()
    return b'r' + struct.pack('<H', len(data)) + data


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


def field(number: int, value: object) -> bytes:
    """A field of Protocol Buffers: an integer below 2**14, a float, or bytes."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack('<f', value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128, value >> 7])


def riva_protocol() -> None:
    """NVIDIA Riva's: samples, a WAV file, every option; the end is a text message."""
    def config(*fields: bytes, interim: int = 1) -> bytes:
        return binary(field(1, field(1, b''.join(fields)) + field(2, interim)))

    def audio(data: bytes) -> bytes:
        return binary(field(2, data) + field(100, field(1, b'id')))

    updates = update('字 two'.encode()) + update(b'x\xe5') + update(b'n two') + update(b'final')
    pcm = field(1, 1) + field(2, 8000)
    write('riva_protocol', 'samples',
          config(pcm) + audio(samples('pcm16')) + audio(b'x') + updates[:12] + text('') + updates)
    file = io.BytesIO()
    soundfile.write(file, np.zeros((20, 2)), 16000, format='WAV', subtype='PCM_16')
    write('riva_protocol', 'wav', config() + audio(file.getvalue()[:30])
          + audio(file.getvalue()[30:]) + updates + text(''))
    context = field(1, b'two') + field(1, '字'.encode()) + field(4, 10.0)
    write('riva_protocol', 'options', config(
        pcm, field(3, b'en-US'), field(4, 3), field(6, context), field(7, 2), field(8, 1),
        field(11, 1), field(13, b'tiny'), field(14, 1), field(24, field(1, b'a') + field(2, b'b')),
        field(25, field(3, 700) + field(4, 0.5)), interim=0) + audio(samples('pcm16')) + updates)
    write('riva_protocol', 'refused', config(field(5, 1)) + audio(b'ab'))
    write('riva_protocol', 'mulaw', config(field(1, 3)) + audio(b'') + audio(b'abcd') + text(''))
    write('riva_protocol', 'audio_first', audio(b'ab') + config())


def riva_recording() -> None:
    """NVIDIA Riva's Recognize: samples, files, options that are refused."""
    pcm = field(1, 1) + field(2, 8000)
    identity = field(100, field(1, '字'.encode()))
    write('riva_recording', 'samples', field(1, pcm) + field(2, samples('pcm16')) + identity)
    context = field(1, b'two') + field(4, 10.0)
    write('riva_recording', 'options', field(1, field(1, 20) + field(4, 3) + field(6, context)
                                             + field(7, 2) + field(8, 1)) + field(2, b'abcd'))
    write('riva_recording', 'wav', field(1, b'') + field(2, wav_header() + samples('pcm16')))
    write('riva_recording', 'refused', field(1, field(5, 1)) + field(2, b'ab'))
    write('riva_recording', 'rate', field(1, field(1, 1) + field(2, 1)) + field(2, b'ab'))


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


def wav_header() -> bytes:
    """Of mono samples of 16 bits at 16 kHz, whose number is not known."""
    return (b'RIFF' + struct.pack('<I', 0xFFFFFFFF) + b'WAVEfmt ' + struct.pack(
        '<IHHIIHH', 16, 1, 1, 16000, 32000, 2, 16) + b'data' + struct.pack('<I', 0xFFFFFFFF))


def deepgram_protocol() -> None:
    """Deepgram's protocol: a query in the first line, then messages."""
    finalize, close = control(type='Finalize'), control(type='CloseStream')
    audio = binary(samples('pcm16'))
    raw = b'model=nova-3&encoding=linear16&sample_rate=16000'
    write('deepgram_protocol', 'conversation',
          raw + b'&interim_results=true&punctuate=true&vad_events=true&utterance_end_ms=1000\n'
          + audio + control(type='KeepAlive') + update('字 two'.encode()) + finalize
          + update(b'news') + update(b'two') + close + update(b'final'))
    write('deepgram_protocol', 'endpoints',
          raw + b'&endpointing=300\n' + audio + update(b'news') + close + update(b'f'))
    write('deepgram_protocol', 'keywords',
          raw + b'&keywords=two:2&keywords=two:-1&keyterm=two two\n' + audio + close)
    write('deepgram_protocol', 'header', raw + b'&channels=2\n' + binary(wav_header()[:9])
          + binary(wav_header()[9:] + samples('pcm16')) + close)
    packets = ogg_packets((FOLDER / 'corpus' / 'audio_reader' / 'ogg_opus').read_bytes())[2:]
    write('deepgram_protocol', 'opus', b'encoding=opus&sample_rate=48000\n'
          + b''.join(map(binary, packets)) + binary(b'') + update(b'two') + close)
    write('deepgram_protocol', 'container', b'\n' + finalize + binary(wav_header() + b'abc')
          + update(b'error') + close)
    write('deepgram_protocol', 'no_audio', raw + b'\n' + finalize + close + update(b'f'))
    write('deepgram_protocol', 'refused', b'encoding=flac&multichannel=true\n')


def vosk_protocol() -> None:
    """Vosk's protocol."""
    audio, eof, reset = binary(samples('pcm16')), control(eof=1), control(reset=1)
    write('vosk_protocol', 'conversation',
          control(config={'sample_rate': 16000, 'words': 1, 'max_alternatives': 2,
                          'phrase_list': ['two', '[unk]']})
          + audio + update('字 two'.encode()) + audio + update(b'news') + audio + reset
          + update(b'two') + eof + update(b'final'))
    write('vosk_protocol', 'wav', binary(wav_header()[:5]) + binary(wav_header()[5:] + b'abc')
          + binary(b'') + update(b'nothing') + eof + update(b'f'))
    write('vosk_protocol', 'no_audio', reset + eof + update(b'f'))
    write('vosk_protocol', 'wrong_config', control(config={'sample_rate': '16000'}) + audio)
    write('vosk_protocol', 'text_for_audio', audio + text('hello'))


def wyoming_protocol() -> None:
    """The Wyoming protocol: conversations, and the bytes of connections."""
    def event(kind: str, payload: bytes = b'', **data: object) -> bytes:
        body = json.dumps(data).encode() if data else b''
        header = {'type': kind, 'data_length': len(body), 'payload_length': len(payload)}
        return json.dumps(header).encode() + b'\n' + body + payload

    mono, wide = dict(rate=16000, width=2, channels=1), dict(rate=48000, width=4, channels=2)
    start, stop = event('audio-start', **mono), event('audio-stop')
    audio = event('audio-chunk', samples('pcm16'), **mono)
    events = [event('describe'), event('transcribe', language='en'), start, audio,
              event('ping', text='a')]
    conversation = b''.join(map(binary, events))
    write('wyoming_protocol', 'conversation', conversation + update('字 two'.encode())
          + binary(audio) + update(b'two') + binary(stop) + update(b'final'))
    write('wyoming_protocol', 'wide', binary(event('audio-start', **wide)) + binary(
        event('audio-chunk', bytes(range(16)), **wide)) + binary(stop) + update(b'error'))
    write('wyoming_protocol', 'mistakes', binary(start) + binary(
        event('audio-chunk', b'abc', **mono)))
    write('wyoming_protocol', 'connection', b''.join(events) + stop
          + b'{"type":"x","data":{"a":1},"data_length":7}\n{"a":2}')
    write('wyoming_protocol', 'lengths', b'{"type":"a","payload_length":1099511627776}\n')
    write('wyoming_protocol', 'cut', b''.join(events)[:-30])


def media_decoder() -> None:
    """Audio files, after the number of a decoder and a size."""
    files = FOLDER / 'corpus' / 'audio_reader'
    for number, name in enumerate(['pcm16.wav', 'pcm24.wav', 'float.wav', 'ulaw.wav',
                                   'open_length.wav', 'header.wav', 'ogg_opus', 'ogg_vorbis',
                                   'pcm16.flac']):
        write('media_decoder', name, bytes([number % 2, 7 * number]) + (files / name).read_bytes())
    write('media_decoder', 'raw', b'\2\3' + samples('pcm16') * 3)
    packets = (files / 'ogg_opus').read_bytes()
    write('media_decoder', 'chain', b'\0\xff' + packets + packets)
    file = (files / 'pcm16.wav').read_bytes()[:100]
    for name, size in ('two_files', 56), ('two_open_files', 0):
        file = file[:40] + struct.pack('<I', size) + file[44:]
        write('media_decoder', name, b'\1\5' + file + file)


def openai_protocol() -> None:
    """OpenAI's realtime protocol: both shapes, server VAD, commits, mistakes."""
    def append(data: bytes) -> bytes:
        return control(type='input_audio_buffer.append', audio=base64.b64encode(data).decode())

    commit = control(type='input_audio_buffer.commit', event_id='c')
    clear = control(type='input_audio_buffer.clear')
    audio = append(bytes(4800))
    updates = update('字 two'.encode()) + update(b'news') + update(b'two')
    general, beta = b'\2', b'\3'

    def settings(**fields: object) -> bytes:
        return control(type='session.update', event_id='e', session={
            'type': 'transcription', 'audio': {'input': fields}})

    write('openai_protocol', 'conversation', general + settings(
        format={'type': 'audio/pcm', 'rate': 24000}, noise_reduction={'type': 'near_field'},
        transcription={'model': 'm', 'language': 'en', 'prompt': 'two', 'keywords': ['字']},
        turn_detection={'type': 'server_vad', 'threshold': 0.5, 'prefix_padding_ms': 300,
                        'silence_duration_ms': 400}) + audio + updates + update(b'e'))
    write('openai_protocol', 'commits', general + settings(turn_detection=None) + audio + commit
          + updates + clear + audio + clear + updates + commit)
    write('openai_protocol', 'semantic', b'\0' + settings(
        turn_detection={'type': 'semantic_vad', 'eagerness': 'high'}) + audio + updates)
    write('openai_protocol', 'beta', beta + control(
        type='transcription_session.update', session={
            'input_audio_format': 'g711_ulaw', 'include': [], 'input_audio_transcription': {
                'model': 'm'}, 'turn_detection': None}) + audio + updates + commit)
    write('openai_protocol', 'late_update', general + audio + settings(turn_detection=None))
    write('openai_protocol', 'odd_bytes', b'\1' + append(b'abc') + append(b'd'))
    write('openai_protocol', 'mistakes', general + control(type='response.create') + binary(b'xx')
          + control(type='input_audio_buffer.append', audio='a=b=') + text('[') + commit)


def multipart_form() -> None:
    """Forms of recordings, each after its content type."""
    def part(name: str, value: bytes, extra: str = '') -> bytes:
        return (f'--b\r\nContent-Disposition: form-data; name="{name}"{extra}\r\n\r\n'.encode()
                + value + b'\r\n')

    line = b'multipart/form-data; boundary=b\n'
    file = part('file', b'RIFF\0\r\n-', '; filename="a.wav"\r\nContent-Type: audio/wav')
    write('multipart_form', 'plain', line + file + part('model', b'm') + b'--b--\r\n')
    write('multipart_form', 'options', b'multipart/form-data; boundary="b"\n' + b''.join(
        part(name, value) for name, value in (
            ('model', b'm'), ('response_format', b'verbose_json'), ('keywords[]', b'two'),
            ('prompt', b'two, \xe5\xad\x97'), ('language', b'en'), ('temperature', b'0'),
            ('timestamp_granularities[]', b'word'), ('chunking_strategy[type]', b'server_vad'),
            ('chunking_strategy[silence_duration_ms]', b'300'))) + file + b'--b--')
    write('multipart_form', 'events', line + file + part('stream', b'true') + b'--b--\r\nrest')
    write('multipart_form', 'cut', line + file)
    write('multipart_form', 'encoded', line + part(
        'file', b'x', '\r\nContent-Transfer-Encoding: base64') + b'--b--')
    write('multipart_form', 'no_form', b'audio/wav\nRIFF')


def model_config() -> None:
    """The digit model's description and units, and other kinds of some sections."""
    with zipfile.ZipFile(MODEL) as archive:
        extra = {Path(name).name: archive.read(name) for name in archive.namelist()
                 if '/extra/' in name}
    config = json.loads(extra['runnel.json'])
    units = extra['units.txt']

    def variant(name: str, **sections: object) -> None:
        changed = json.loads(json.dumps(config))
        changed['encoder'].update(sections)
        write('model_config', name, json.dumps(changed).encode() + b'\0' + units)

    variant('digits')
    variant('conv2d6', subsampling={'type': 'conv2d6'})
    variant('rel_pos', position={'scheme': 'legacy_rel_pos', 'linear_pos_bias': True})
    variant('absolute', position={'scheme': 'absolute'})
    variant('transformer', convolution=None, type='transformer')
    variant('running', normalization={'type': 'per_utterance', 'epsilon': 1e-5})
    variant('mean', normalization={'type': 'running_mean'})
    convolution = {**config['encoder']['convolution'], 'norm': 'none', 'norm_epsilon': None}
    variant('reworked', type='reworked_conformer', subsampling={'type': 'conv2d_1_2_2'},
            convolution=convolution)
    variant('multitalker', type='multitalker_conformer')
    groups = {**config['encoder']['position'], 'scheme': 'grouped_unshifted'}
    del groups['table_order']
    efficient = {'type': 'efficient_conformer', 'strides_divide_kernels': True}
    variant('efficient', **efficient, strides=[1, 2, 1, 1],
            position={**groups, 'group_sizes': [3, 3, 1, 1]})
    variant('efficient_large', **efficient, num_layers=11, strides=[64] * 10 + [8],
            position={**groups, 'group_sizes': [64, 63, 61, 59, 55, 53, 47, 43, 41, 37, 31]})
    fbank = config['features']
    config['features'] = {**fbank, 'type': 'mfcc', 'num_ceps': 40, 'cepstral_lifter': 22.0}
    variant('mfcc')
    config['features'] = fbank
    config.update(format_version=5, transducer=None, attention_decoder=None, prompt=None,
                  vocabularies=[{'language': 'en', 'size': 5}, {'language': 'de', 'size': 4}],
                  special_tokens=[{'id': 1, 'kind': 'language', 'language': 'en-US'},
                                  {'id': 2, 'kind': 'end'}, {'id': 3, 'kind': 'hidden'},
                                  {'id': 4, 'kind': 'byte'}])
    variant('token_kinds')
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


def media_replies() -> None:
    """What media_decoder sends (frontend/media/media_protocol.h)."""
    def reply(kind: int, body: bytes) -> bytes:
        return struct.pack('<II', kind, len(body)) + body

    begin = reply(1, struct.pack('<ii', 16000, 2)) + reply(2, struct.pack('<3f', 0, 0.5, -1))
    write('media_replies', 'file', begin + reply(4, struct.pack('<q', 100)))
    write('media_replies', 'stream', reply(3, b'') + begin + reply(3, b'') + reply(2, bytes(8))
          + reply(4, bytes(8)))
    write('media_replies', 'error', begin + reply(5, b'is damaged'))
    write('media_replies', 'warning', begin + reply(6, b'has 2 tracks')
          + reply(4, struct.pack('<q', 0)))


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


def web_frame(data: bytes, opcode: int = 1) -> bytes:
    """A WebSocket frame, masked by zeros."""
    size = bytes([0x80 | len(data)]) if len(data) < 126 else struct.pack('!BH', 0xFE, len(data))
    return bytes([0x80 | opcode]) + size + bytes(4) + data


def http2_frame(kind: int, flags: int, stream: int, data: bytes = b'') -> bytes:
    """A frame of HTTP/2."""
    size = struct.pack('!I', len(data))[1:]
    return size + bytes([kind, flags]) + struct.pack('!I', stream) + data


def connection() -> None:
    """Whole connections, as fuzz_connection.cc reads them."""
    http, grpc, wyoming, stream, realtime, listen, vosk = range(7)

    def seed(name: str, port: int, data: bytes, end: int = 0, pieces: bytes = b'\0\0') -> None:
        write('connection', name, bytes([port, end]) + pieces + data)

    wav = (FOLDER / 'corpus' / 'audio_reader' / 'pcm16.wav').read_bytes()
    begin = web_frame(json.dumps({'type': 'start', 'version': 1, 'chunk_size': 4}).encode())
    audio = web_frame((np.sin(np.arange(1600)) * 8000).astype('<i2').tobytes(), 2)
    finish = web_frame(b'{"type":"finish"}')
    post = (b'POST /v1/recognize?format=json HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n'
            % len(wav)) + wav
    get = b'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
    seed('get', http, get + get.replace(b'healthz', b'metrics'))
    seed('post', http, post)
    seed('post_chunked', http, b'POST /v1/recognize HTTP/1.1\r\nHost: x\r\n'
         b'Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n' % (len(wav), wav), 0,
         b'\x40\x03')
    seed('post_left', http, post[:-10], 1)
    seed('post_expect', http, post.replace(b'Host', b'Expect: 100-continue\r\nHost'))
    seed('upgrade', http, b'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n'
         b'Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n'
         b'Sec-WebSocket-Version: 13\r\n\r\n' + begin + audio + finish)
    seed('stream', stream, begin + audio + web_frame(b'{"type":"flush"}') + audio + finish)
    seed('stream_bytes', stream, begin + audio + finish, 0, b'\x01\x07')
    seed('stream_left', stream, begin + audio + web_frame(b'{"type":"flush"}') + audio, 1)
    seed('stream_left_48', stream,
         web_frame(b'{"type":"start","version":1,"sample_rate":48000}') + audio * 5
         + web_frame(b'{"type":"flush"}') + audio, 1)
    seed('fragments', stream, b'\x01\x81\0\0\0\0{' + web_frame(b'', 9) + b'\x80\x81\0\0\0\0}')
    seed('closed', stream, begin + web_frame(b'\x03\xe8', 8))
    seed('realtime', realtime, web_frame(json.dumps({
        'type': 'input_audio_buffer.append',
        'audio': base64.b64encode(audio[8:]).decode()}).encode())
        + web_frame(b'{"type":"input_audio_buffer.commit"}'))
    seed('objects', realtime, web_frame(b'{"type":"x","a":[' + b'{},' * 1500 + b'{}]}'))
    seed('listen', listen, audio + web_frame(b'{"type":"CloseStream"}'))
    seed('vosk', vosk, web_frame(b'{"config":{"sample_rate":16000}}') + audio
         + web_frame(b'{"eof":1}'))
    seed('describe', wyoming, b'{"type":"describe"}\n' * 20)
    chunk = b'{"type":"audio-chunk","data":{"rate":16000,"width":2,"channels":1},' \
        b'"payload_length":%d}\n' % len(audio[8:]) + audio[8:]
    begin_event = b'{"type":"audio-start","data":{"rate":16000,"width":2,"channels":1}}\n'
    seed('wyoming', wyoming, begin_event + chunk + b'{"type":"audio-stop"}\n')
    seed('wyoming_left', wyoming, begin_event + chunk, 1, b'\x20\x05')

    preface = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + http2_frame(4, 0, 0)
    head = b''.join(b'\0' + bytes([len(name)]) + name + bytes([len(value)]) + value
                    for name, value in (
        (b':method', b'POST'), (b':scheme', b'http'), (b':authority', b'x'),
        (b':path', b'/nvidia.riva.asr.RivaSpeechRecognition/StreamingRecognize'),
        (b'content-type', b'application/grpc'), (b'te', b'trailers')))
    config = b'\x0a\x0a\x0a\x08\x08\x01\x10\x80\x7d\x1a\x01a'
    call = http2_frame(1, 4, 1, head) + http2_frame(0, 0, 1, b'\0' + struct.pack(
        '!I', len(config)) + config)
    seed('grpc', grpc, preface + call + http2_frame(0, 1, 1))
    seed('grpc_resets', grpc, preface + b''.join(
        http2_frame(1, 4, i, head) + http2_frame(3, 0, i, b'\0\0\0\x08') for i in (1, 3, 5)))
    seed('grpc_left', grpc, preface + call, 1, b'\x09\x30')


def script_archive() -> None:
    """Modules as torch.jit.save writes them: attributes of all kinds, layouts, packed weights."""
    import torch  # pylint: disable=import-outside-toplevel

    class Part(torch.nn.Module):
        """Parameters, buffers, constants."""
        __constants__ = ['eps', 'size']

        def __init__(self) -> None:
            super().__init__()
            self.eps, self.size, self.scale = 1e-5, 3, 2.5
            self.weight = torch.nn.Parameter(torch.ones(2, 3).t())
            self.register_buffer('halves', torch.ones(2, 2).half()[1])
            self.register_buffer('byte', torch.ones(3, 2, dtype=torch.uint8)[:, 1])
            self.numbers, self.names = [1, 300, -2, 1 << 40], {'a': torch.zeros(1)}
            self.pair = (0.5, 'text', [True, False])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.eps * self.scale + self.size + self.pair[0] + self.numbers[0]

    class Whole(torch.nn.Module):
        """Two parts that share a weight, and one that is held twice."""

        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.other = Part(), Part()
            self.other.weight = self.encoder.weight
            self.again = self.encoder

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.again(self.other(self.encoder(x)))

    packed = torch.nn.Sequential(torch.nn.quantized.dynamic.Linear(4, 2))
    rows = torch.quantization.quantize_dynamic(
        torch.nn.Sequential(torch.nn.Linear(4, 2)),
        {torch.nn.Linear: torch.quantization.per_channel_dynamic_qconfig})
    for name, module in (('part', Part()), ('whole', Whole()), ('packed', packed),
                         ('packed_rows', rows)):
        file = io.BytesIO()
        torch.jit.save(torch.jit.script(module), file)
        with zipfile.ZipFile(file) as archive:
            files = {entry.split('/', 1)[1]: archive.read(entry) for entry in archive.namelist()}
        write('script_archive', name,
              files.get('code/__torch__.py', b'') + b'\0' + files['data.pkl'])
    code = b'class A(Module):\n  a : Tensor\n\0'
    objects = b'\x80\x02c__torch__\nA\nq\x00)\x81q\x01}(X\x01\0\0\0ah\x01ub.'
    write('script_archive', 'cycle', code + objects)
    write('script_archive', 'deep', b'\0\x80\x02]' + b'\x85' * 1000 + b'.')


def long_messages() -> None:
    """Messages whose parsing must take time that is linear in their size."""
    write('openai_protocol', 'objects', repeated('{"type":"x","a":[', '{},', '{}]}'))
    write('openai_protocol', 'keys', repeated('{"type":"x","a":[', '{"b":[{}]},', '{}]}'))
    write('deepgram_protocol', 'objects', b'encoding=linear16\n' + repeated(
        '{"type":"KeepAlive","x":[', '{},', '{}]}'))
    write('vosk_protocol', 'objects', repeated('{"config":{"x":[', '{},', '{}]}}'))
    write('runnel_protocol', 'objects', repeated('{"type":"ping","id":[', '{},', '{}]}'))
    write('runnel_protocol', 'words', repeated(
        '{"type":"start","version":1,"hotwords":"', 'two 字\\n', 'two"}'))


if __name__ == '__main__':
    audio_reader()
    media_replies()
    runnel_protocol()
    wenet_protocol()
    riva_protocol()
    riva_recording()
    sherpa_protocol()
    deepgram_protocol()
    vosk_protocol()
    wyoming_protocol()
    media_decoder()
    openai_protocol()
    multipart_form()
    model_config()
    hotwords()
    language_model()
    script_archive()
    long_messages()
    connection()
