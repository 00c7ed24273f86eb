"""Help, version and wrong flags of every tool."""

import re

import pytest

from tool_runner import (BIN, ROOT, SUCCESS, TINY_MODEL, USAGE, error_line, run, succeed,
                         without_sanitizers)

pytestmark = without_sanitizers

# Every tool and a flag that it requires.
TOOLS = {"bench_encoder": "model", "bench_language_model": "folder", "compile_lm": "arpa",
         "decode_wav": "model", "dump_encoder": "model", "dump_features": "output",
         "list_models": "model", "live_captions": "model", "measure_delay": "model",
         "pack_model": "model", "verify_streaming": "model"}
if (BIN / "stream_server").exists():  # not built where its libraries are missing
    TOOLS.update(stream_server="model", stream_client="server", load_client="server")
WAV = ROOT / "models" / "digits" / "samples" / "ked_year.flac"


@pytest.mark.parametrize("tool", TOOLS)
def test_help(tool):
    done = run(tool, "--help")
    assert done.returncode == SUCCESS
    assert done.stderr == ""
    assert done.stdout.startswith(tool)
    assert re.search(rf"^Examples:\n  {tool} [^-]", done.stdout, re.MULTILINE)
    assert f"--{TOOLS[tool]}=TEXT" in done.stdout
    assert "logtostderr" not in done.stdout and "flagfile" not in done.stdout
    # Only flags that exist are shown.
    flags = set(re.findall(r"^  --(\w+)", done.stdout, re.MULTILINE))
    usage = re.sub(r"^  curl .*$", "", done.stdout.split("\nFlags:\n")[0], flags=re.MULTILINE)
    used = set(re.findall(r"--(\w+)", usage))
    assert used <= flags, f"flags that do not exist: {used - flags}"
    assert max(map(len, done.stdout.splitlines())) <= 120


@pytest.mark.parametrize("tool", TOOLS)
def test_version(tool):
    assert re.fullmatch(rf"{tool} \(Runnel\) \d+\.\d+\.\d+\n", succeed(tool, "--version"))


@pytest.mark.parametrize("tool", TOOLS)
def test_flags_that_do_not_exist(tool):
    assert "unknown flag --no_such_flag" in error_line(run(tool, "--no_such_flag=1"), USAGE)
    meant = f"unknown flag --{TOOLS[tool]}x, did you mean --{TOOLS[tool]}?"
    assert meant in error_line(run(tool, f"--{TOOLS[tool]}x=1"), USAGE)
    assert f"(see {tool} --help)" in error_line(run(tool), USAGE)


@pytest.mark.parametrize("tool, taken", [
    ("bench_encoder", ["model"]), ("bench_language_model", ["folder"]), ("compile_lm", ["arpa"]),
    ("dump_encoder", ["model", "wav"]), ("dump_features", ["wav"]), ("pack_model", ["model"]),
    ("verify_streaming", ["model", "wav"])])
def test_an_argument_too_many(tool, taken):
    assert (f"unexpected argument 'x', expected at most the values of --{', --'.join(taken)}"
            in error_line(run(tool, *taken, "x"), USAGE))


@pytest.mark.parametrize("tool, arguments, message", [
    ("decode_wav", ["--wav=a.wav"], "--model is missing, expected a model file"),
    ("dump_encoder", ["--wav=a.wav"], "--model is missing, expected a model file"),
    ("verify_streaming", ["--seconds=1"], "--model is missing, expected a model file"),
    ("decode_wav", ["--model=m"], "either --wav or --wav_scp"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--wav_scp=l"], "either --wav or --wav_scp"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--search=best"], "--search is 'best'"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--format=xml"], "--format is 'xml'"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--nbest=2"], "--nbest is 2, expected at most 1"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--nbest=9", "--search=beam"],
     "--nbest is 9, expected at most 8"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--nbest=2", "--search=beam", "--format=ctm"],
     "--format=ctm"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--search=beam", "--beam_size=0"], "beam_size"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--word_list=w", "--search=greedy"],
     "--word_list needs --search=beam"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--hotwords=h", "--search=greedy"],
     "--hotwords needs --search=beam"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--language_model=l", "--search=greedy"],
     "--language_model needs --search=beam"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--hotwords="],
     "--hotwords is missing, expected a file"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--language_model="],
     "--language_model is missing, expected a file"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--hotword_score=1"],
     "--hotword_score needs --hotwords"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--search=beam", "--language_model_weight=1"],
     "--language_model_weight needs --language_model"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--language_model_bonus=1"],
     "--language_model_bonus needs --language_model"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--language_model_level=word"],
     "--language_model_level needs --language_model"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--hotwords=h", "--hotword_score=100.5"],
     "--hotword_score is 100.5, expected -100 to 100"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--hotwords=h", "--hotword_score=nan"],
     "--hotword_score"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--language_model=l", "--language_model_weight=-1"],
     "--language_model_weight is -1, expected 0 to 10"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--language_model=l", "--language_model_bonus=1e9"],
     "--language_model_bonus is 1000000000, expected -100 to 100"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--language_model=l",
                    "--language_model_level=letter"],
     "--language_model_level is 'letter', expected word or token"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--word_list=w", "--nbest=9"],
     "--nbest is 9, expected at most 8 with --beam_size=8"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--batch_streams=0"], "--batch_streams is 0"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--num_threads=-1"], "--num_threads is -1"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--num_threads=2000000000"],
     "--num_threads is 2000000000, expected 0 to 1024"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--batch_streams=2000000000"],
     "--batch_streams is 2000000000, expected 1 to 65536"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--channel=-2"],
     "--channel is -2, expected -1 to 1023"),
    ("dump_features", ["--wav=a.wav", "--output=x.npy", "--channel=1024"],
     "--channel is 1024, expected -1 to 1023"),
    ("dump_encoder", ["--model=m", "--features=a.npy", "--output=x.npy", "--channel=0"],
     "--channel cannot be given with --features"),
    ("verify_streaming", ["--model=m", "--seconds=1", "--channel=0"],
     "--channel cannot be given with --seconds"),
    ("verify_streaming", ["--model=m", "--seconds=1", "--num_threads=-1"],
     "--num_threads is -1, expected 0 to 1024"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--shard=0/3"], "--shard is '0/3', expected i/n"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--shard=4/3"], "--shard is '4/3', expected i/n"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--shard=2"], "--shard is '2', expected i/n"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--shard="], "--shard is '', expected i/n"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--resume"], "--resume needs --output=FILE"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--resume", "--output=-"],
     "--resume needs --output=FILE"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--resume", "--output=o", "--nbest=2",
                    "--search=beam"], "--resume with --nbest=2 needs --format=json"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--resume", "--output=o", "--endpointing"],
     "--resume with --endpointing needs --format=json, --format=ctm or --join_segments"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--resume", "--output=o", "--endpointing",
                    "--format=vtt"],
     "--resume with --endpointing needs --format=json, --format=ctm or --join_segments"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--endpoint_silence_s=1.2"],
     "--endpoint_silence_s needs --endpointing"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--reset_encoder"],
     "--reset_encoder needs --endpointing"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--endpointing", "--endpoint_silence_s=0"],
     "--endpoint_silence_s is 0, expected 0.1 to 86400"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--endpointing", "--endpoint_max_utterance_s=nan"],
     "--endpoint_max_utterance_s is nan, expected 1 to 86400"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--endpointing", "--endpoint_initial_silence_s=-1"],
     "--endpoint_initial_silence_s is -1, expected 0.1 to 86400"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--endpointing",
                    "--endpoint_blank_probability=1.5"],
     "--endpoint_blank_probability is 1.5, expected 0.1 to 1"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--join_segments"],
     "--join_segments needs --endpointing"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--endpointing", "--join_segments",
                    "--format=ctm"], "--join_segments needs --format=text, got --format=ctm"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--endpointing", "--join_segments", "--nbest=2",
                    "--search=beam"],
     "--join_segments holds one hypothesis per recording, --nbest is 2"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--format=srt"],
     "--format=srt needs --endpointing"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--endpointing", "--format=vtt", "--nbest=2",
                    "--search=beam"], "--format=vtt holds one hypothesis per utterance"),
    ("decode_wav", ["--model=m", "--wav=a.wav,b.wav", "--endpointing", "--format=srt"],
     "--format=srt holds the captions of one recording, 2 are given"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--beam_size=many"], "--beam_size is 'many'"),
    ("decode_wav", ["--model=m", "--wav=a.wav,a.wav"], "twice"),
    ("compile_lm", ["--output=lm.bin"], "--arpa is missing, expected an n-gram model"),
    ("compile_lm", ["--arpa=lm.arpa"], "--output is missing, expected a file to write"),
    ("bench_language_model", ["--folder=/tmp", "--words=1"],
     "--words is 1, expected 1000 to 100000000"),
    ("bench_language_model", ["--folder=/tmp", "--words=1000", "--ngrams=1"],
     "--ngrams is 1, expected 10000 to 1000000000"),
    ("decode_wav", [f"--model={TINY_MODEL}", f"--wav={WAV}", "--chunk_size=0"], "chunk_size"),
    ("decode_wav", [f"--model={TINY_MODEL}", f"--wav={WAV}", "--left_context=-3"],
     "left_context"),
    ("dump_features", ["--output=x.npy"], "--wav is missing, expected an audio file"),
    ("dump_features", ["--wav=a.wav"], "--output is missing, expected a NumPy file"),
    ("dump_features", ["--wav=a.wav", "--output=x.npy", "--num_mel_bins=0"], "num_mel_bins"),
    ("dump_features", ["--wav=a.wav", "--output=x.npy", "--num_mel_bins=2000000000"],
     "num_mel_bins is 2000000000, expected 3 to 4096"),
    ("dump_features", ["--wav=a.wav", "--output=x.npy", "--dither=1e38"],
     "dither is 1e+38, expected 0 to 1e+06"),
    ("dump_features", ["--wav=a.wav", "--output=x.npy", "--model=m", "--dither=0"],
     "--dither cannot be given with --model"),
    ("dump_encoder", ["--model=m", "--output=y.npy"], "either --wav or --features"),
    ("dump_encoder", ["--model=m", "--wav=a.wav"], "--output is missing, expected a NumPy file"),
    ("dump_encoder", ["--model=m", "--wav=a.wav", "--output=y.npy", "--precision=half"],
     "--precision is 'half', expected float32, bfloat16, int8, float64, default or int4"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--step_threads=0"],
     "--step_threads is 0, expected 1 to 64 threads"),
    ("measure_delay", ["--wav=a.wav"], "--model is missing, expected a model file"),
    ("measure_delay", ["--model=m"], "either --wav or --wav_scp"),
    ("measure_delay", ["--model=m", "--wav=a.wav", "--wav_scp=l"], "either --wav or --wav_scp"),
    ("measure_delay", ["--model=m", "--wav=a.wav,"], "expected file names between commas"),
    ("measure_delay", ["--model=m", "--wav=a.wav", "--channel=-2"],
     "--channel is -2, expected -1 to 1023"),
    ("measure_delay", [f"--model={TINY_MODEL}", f"--wav={WAV}", "--chunk_size=0"],
     "chunk_size is 0"),
    ("measure_delay", [f"--model={TINY_MODEL}", f"--wav={WAV}", "--left_context=-3"],
     "left_context is -3"),
    ("measure_delay", ["--model=m", "--wav=a.wav", "--search=beam"], "unknown flag --search"),
    ("measure_delay", ["--model=m", "--wav=a.wav", "--early_text_padding=2"],
     "--early_text_padding needs --early_text_interval"),
    ("measure_delay", ["--model=m", "--wav=a.wav", "--early_text_interval=-1"],
     "--early_text_interval is -1, expected 0 to 1000000"),
    ("measure_delay", ["--model=m", "--wav=a.wav", "--early_text_interval=2",
                       "--early_text_padding=65"], "--early_text_padding is 65, expected 0 to 64"),
    ("measure_delay", ["--model=m", "--wav=a.wav", "--early_text_interval=2",
                       "--chunk_size=-1"], "--early_text_interval needs a --chunk_size other"),
    ("verify_streaming", ["--model=m"], "either --wav or --seconds"),
    ("verify_streaming", ["--model=m", "--seconds=-1"], "--seconds is -1"),
    ("verify_streaming", ["--model=m", "--seconds=1", "--tolerance=-1"], "--tolerance is -1"),
    ("verify_streaming", ["--model=m", "--seconds=1", "--precision=half"], "--precision is"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--backend=gpu"], "--backend is 'gpu'"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--device=cpu"], "unknown flag --device"),
    ("decode_wav", ["--model=m", "--wav=a.wav", "--cache_precision=int4"],
     "--cache_precision is 'int4', expected float32 or bfloat16"),
])
def test_wrong_values(tool, arguments, message):
    assert message in error_line(run(tool, *arguments), USAGE)
