"""What threads gain where kernels for run-time sizes are compiled.

    python3 benchmarks/threads.py [--gen build/roller-gen] [--profile h200] [--threads N] [--rounds R] FILE.te...

Compiles each file without the cache on 1 thread and on N (one per core) in turn, R times, and prints a
Markdown table: kernels, the least wall time of NVRTC in ms of each, and their ratio.  Fails if the two
do not write the same bytes.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

KINDS = ("cu", "json", "ptx", "cubin")


def compiled(gen, profile, threads, path, folder):
    """The milliseconds, the number of kernels, and the files."""
    stem = os.path.join(folder, "k.cu")
    said = subprocess.run([gen, "--json", "--no-cache", "--profile", profile, "--threads", str(threads),
                           "--emit", ",".join(KINDS), "-o", stem, path],
                          stdout=subprocess.PIPE, check=True).stdout
    files = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            files.append((name, f.read()))
    kernels = json.loads(dict(files)["k.json"])["targets"][0]["kernels"]
    return (json.loads(said)["results"][0]["timing_ms"]["compile"], len({k["symbol"] for k in kernels}),
            files)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gen", default="build/roller-gen")
    parser.add_argument("--profile", default="h200")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("files", nargs="+")
    o = parser.parse_args()
    print("| file | kernels | 1 thread, ms | %d threads, ms | ratio |\n|---|---|---|---|---|" % o.threads)
    for path in o.files:
        best, first = [float("inf")] * 2, None
        for _ in range(o.rounds):
            for i, threads in enumerate((1, o.threads)):
                with tempfile.TemporaryDirectory() as folder:
                    ms, kernels, files = compiled(o.gen, o.profile, threads, path, folder)
                best[i] = min(best[i], ms)
                first = first or files
                if files != first:
                    sys.exit("%s: other files with %d threads" % (path, threads))
        print("| %s | %d | %.0f | %.0f | %.2f |" % (os.path.basename(path), kernels, *best,
                                                    best[0] / best[1]), flush=True)


if __name__ == "__main__":
    main()
