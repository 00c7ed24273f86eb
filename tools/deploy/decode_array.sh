#!/usr/bin/env bash
# Decodes a corpus as a Slurm array, one part of the list per task (docs/deploy.md):
#   sbatch --array=1-20 tools/deploy/decode_array.sh models/digits/digits.pt corpus/wav.scp results
# The same line repeats killed, preempted and failed tasks: --resume keeps finished results.
#SBATCH --job-name=runnel
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=1G
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=decode_array.%a.log
set -euo pipefail

if (($# != 3)); then
  echo "usage: sbatch --array=1-N decode_array.sh MODEL LIST FOLDER" >&2
  exit 2
fi
model=$1 list=$2 folder=$3

# decode_wav reads its shard from Slurm's variables; {shard} becomes for example 3-of-20.
mkdir -p "$folder"
exec "${RUNNEL_DECODE_WAV:-decode_wav}" --model="$model" --wav_scp="$list" \
  --output="$folder/{shard}.txt" --resume \
  --num_threads="${SLURM_CPUS_PER_TASK:-1}" --batch_streams=16
