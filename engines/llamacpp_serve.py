"""Run llama.cpp's server until SIGTERM. Started by llamacpp.sh: MODEL PORT SLOTS CONTEXT_PER_SLOT THREADS ALIAS."""
import signal
import sys
import threading

import xllamacpp

model, port, slots, context, threads, alias = sys.argv[1], *map(int, sys.argv[2:6]), sys.argv[6]
params = xllamacpp.CommonParams()
params.model.path = model
params.model_alias = {alias}
params.hostnames = ["127.0.0.1"]
params.port = port
params.n_parallel = slots
params.n_ctx = context * slots
params.cpuparams.n_threads = threads
params.endpoint_metrics = True
params.ui = False
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)

stop = threading.Event()
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: stop.set())
while not stop.wait(0.5):
    pass
