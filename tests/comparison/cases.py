"""The cases that compare_builds.py runs with both builds: one command line each.

A row is one or more cases: (a|b) stands for each of the alternatives. An indented line continues a
row. inputs.py makes the files behind most names. $OUT is a folder for what the case writes, $SERVER
a server of the build. `;` separates commands. A command is a program of the build, or

    post MODEL TARGET FILE               a recording over HTTP; to OpenAI's target as a form
    socket MODEL TARGET FIRST FILE LAST  a live stream: a text, 16-bit samples of the file, a text
    stream MODEL FILE [OPTION=VALUE ...] a stream of the Python package, with two snapshots
"""

import itertools
import re
from typing import List

TABLE = r"""
# decode_wav: output formats, searches, contexts, utterances
decode_wav --model=$DIGITS $SAMPLES (--partial|--word_list=$WORDS) --format=(text|json|ctm)
  --num_threads=1
decode_wav --model=$BOTH $SAMPLES --partial --num_threads=1 --format=json
  --head=ctc (--search=greedy|--search=beam|
  --search=beam --beam_size=3 --token_beam=5|--search=beam --nbest=8|--word_list=$WORDS|
  --hotwords=$HOTWORDS|--hotwords=$HOTWORDS --hotword_score=2|--language_model=$ARPA|
  --language_model=$TOKENS --language_model_level=token|
  --language_model=$ARPA --hotwords=$HOTWORDS --nbest=4)
decode_wav --model=$BOTH $SAMPLES --partial --num_threads=1 --format=json
  (--search=greedy|--max_symbols=1|
  --search=modified_beam --ctc_weight=0.3 --nbest=4|--search=(beam|modified_beam) (--nbest=1|
  --nbest=4|--hotwords=$HOTWORDS|--language_model=$ARPA --language_model_weight=0.5|
  --language_model=$TOKENS --language_model_level=token|
  --language_model=$ARPA --hotwords=$HOTWORDS --nbest=4))
decode_wav --model=$BOTH $SAMPLES --search=beam --nbest=3 --head=(ctc|transducer)
decode_wav --model=$BOTH $SAMPLES --format=json --head=(ctc|transducer) --chunk_size=(1|5|-1)
  --left_context=(0|16|-1)
decode_wav --model=$BOTH --wav=$LONG --endpointing --endpoint_silence_s=0.3 (--format=text|
  --format=json|--format=ctm|--format=srt|--format=vtt|--join_segments|--search=beam --nbest=3)
decode_wav --model=$BOTH --wav=$LONG --endpointing --format=json --head=(ctc|transducer) (--partial|
  --endpoint_initial_silence_s=0.3|--endpoint_max_utterance_s=2|--endpoint_silence_s=0.3
  (--search=beam|--reset_encoder|--skip_silence|--endpoint_blank_probability=0.99))

# decode_wav: data types, backends, instruction sets, threads, files, mistakes
decode_wav --model=$BOTH $SAMPLES --format=json --head=(ctc|transducer)
  --precision=(float32|bfloat16|int8) --cache_precision=(float32|bfloat16)
decode_wav --model=$BOTH $SAMPLES --format=json --backend=libtorch --precision=(float32|float64)
RUNNEL_INSTRUCTION_SET=(avx2|avx512) decode_wav --model=$DIGITS $SAMPLES --format=json
  --precision=(float32|bfloat16|int8)
decode_wav --model=$BOTH $SAMPLES --format=json --search=(greedy|beam) (--num_threads=3|
  --batch_streams=4|--num_threads=2 --batch_streams=3|--step_threads=2|--shard=2/3)
decode_wav --model=$DIGITS $FORMATS --format=json
decode_wav --model=$DIGITS --wav=$STEREO --format=json --channel=(0|1|2)
decode_wav --model=$DIGITS $SAMPLES --output=$OUT/text --format=ctm ;
  decode_wav --model=$DIGITS $SAMPLES --output=$OUT/text --format=ctm --resume
decode_wav --model=$DIGITS --wav=(missing.wav|README.md|$KED --chunk_size=0|$KED --nbest=2|
  $KED --hotwords=missing)

# Programs that write files
pack_model --model=($DIGITS|$BOTH) --precision=(float32|bfloat16|int8) --output=$OUT/packed ;
  decode_wav --model=$OUT/packed $SAMPLES --format=json --search=beam --nbest=3
compile_lm --arpa=($ARPA|$TOKENS) --output=$OUT/lm.bin
compile_lm --arpa=$ARPA --output=$OUT/lm.bin ;
  decode_wav --model=$BOTH $SAMPLES --format=json --language_model=$OUT/lm.bin
dump_features --wav=$KED --output=$OUT/x.npy (--model=$DIGITS|--num_mel_bins=80|--raw_energy=false|
  --use_energy --htk_compat|--snip_edges=false|--use_log_fbank=false --use_power=false|--dither=1|
  --window_type=(hamming|hanning|blackman|rectangular)|--sample_frequency=8000)
dump_features --model=$DIGITS --wav=$KED --output=$OUT/x.npy ;
  dump_encoder --model=$DIGITS --features=$OUT/x.npy --output=$OUT/y.npy ;
  decode_wav --model=$DIGITS --features=$OUT/x.npy --format=json
dump_encoder --model=$BOTH --wav=$KED --output=$OUT/x.npy (--log_probs|--caches=$OUT/caches.npy)
  (--precision=(float32|bfloat16|int8|float64)|--cache_precision=bfloat16|--backend=libtorch|
  --chunk_size=4 --left_context=8|--chunk_size=-1)
make_snapshot_corpus $OUT

# Other programs
verify_streaming --model=($TINY|$BOTH) --seconds=1 --precision=(float32|bfloat16|int8)
  --num_threads=1 --verbose
measure_delay --model=($DIGITS|$BOTH) $SAMPLES --text=models/digits/samples/text --verbose
  (--chunk_size=4|--chunk_size=16 --left_context=8|--early_text_interval=2)
runnel (decode --model=$DIGITS $SAMPLES|encoder --model=$DIGITS --wav=$KED --output=$OUT/x.npy|none)
(bench_encoder|bench_language_model|compile_lm|decode_wav|dump_encoder|dump_features|load_client|
  measure_delay|pack_model|runnel|stream_client|stream_server|verify_streaming) (--help|--version)
write_options (page|module)

# The server
post $BOTH /v1/recognize?head=(ctc|transducer)&(search=greedy|search=beam&nbest=3|
  search=beam&nbest=3&hotwords=seven%20:2|chunk_size=4&left_context=16) $KED
post $BOTH /v1/recognize?endpointing=true&endpoint_silence_s=0.3&(head=ctc|skip_silence=true|
  search=modified_beam&nbest=2) $LONG
post $BOTH /v1/recognize?(nbest=2|unknown=1) $KED
post $BOTH /v1/audio/transcriptions?response_format=(json|text|srt|vtt|
  verbose_json&timestamp_granularities=word) $LONG
post $BOTH /v1/listen?(utterances=true|keyterm=two) $LONG
socket $BOTH /v1/stream '{"type":"start","version":1,"head":"(ctc|transducer)",
  "search":"(greedy|beam)"}' $KED '{"type":"finish"}'
socket $BOTH /v1/stream '{"type":"start","version":1,"search":"beam","nbest":3,
  "endpointing":{"silence_s":0.3}}' $LONG '{"type":"finish"}'
socket $BOTH /v1/stream '{"signal":"start","nbest":3,"continuous_decoding":true}' $LONG
  '{"signal":"end"}'
socket $BOTH /vosk '{"config":{"sample_rate":16000,"words":true,"max_alternatives":(0|3)}}' $LONG
  '{"eof":1}'
socket $BOTH /v1/listen?encoding=linear16&sample_rate=16000 '' $LONG '{"type":"CloseStream"}'
stream_client --server=$SERVER --speed=0 $SAMPLES (--protocol=(runnel|wenet|sherpa)|
  --encoding=(float32|mulaw|alaw|opus))

# Streams of the Python package
stream $BOTH $KED head=ctc chunk_size=4 (search=greedy|search=beam (nbest=3|word_list=$WORDS|
  hotwords=$HOTWORDS nbest=3|language_model=$ARPA))
stream $BOTH $KED chunk_size=4 (search=greedy|search=(beam|modified_beam) (nbest=3|
  hotwords=$HOTWORDS nbest=3|language_model=$ARPA))
stream $BOTH $LONG (left_context=-1|sample_rate_hz=8000|endpointing=true endpoint_silence_s=0.3
  search=(greedy|beam))

# Models of other families, and real speech
decode_wav --model=$MODEL_(hybrid_streaming|rnnt_lstm1_streaming|rnnt_lstm2_offline|stateless_ctx2|
  tdt_offline|tdt_streaming|wenet_transducer_conv|wenet_transducer_embedding|wenet_transducer_rnn|
  conformer_batchnorm_k15_conv2d6|conformer_layernorm_k8) --wav=$KED --format=json
  --search=(greedy|beam)
decode_wav --model=$MODEL_(rescore_transformer|rescore_bitransformer --reverse_weight=0.3)
  --wav=$KED --format=json --rescoring --nbest=4 --precision=(float32|int8)
decode_wav --model=$MODEL_nemo_conformer_ctc_small $SPEECH --format=json (--search=greedy|
  --search=beam --nbest=3|--dynamic_chunk_convolution --running_normalization --partial|
  --precision=int8)
"""

_INNERMOST = re.compile(r"\(([^()]*)\)")


def expand(row: str) -> List[str]:
    """The cases of a row."""
    found = _INNERMOST.search(row)
    if not found:
        return [" ".join(row.split())]
    begin, end = row[:found.start()], row[found.end():]
    return list(itertools.chain.from_iterable(
        expand(begin + choice.strip() + end) for choice in found[1].split("|")))


def all_cases() -> List[str]:
    """Every case of the table, each once."""
    lines = re.sub(r"^#.*\n", "", TABLE.replace("\n  ", " "), flags=re.MULTILINE).splitlines()
    return list(dict.fromkeys(itertools.chain.from_iterable(map(expand, filter(None, lines)))))
