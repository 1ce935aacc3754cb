"""Libraries in the place of NVIDIA's, so that PyPI's torch imports on a machine without them.

    stubs.py TORCH FOLDER

TORCH is the package's folder.  For each library of NVIDIA that its own ask for, FOLDER gets one of
that name with the symbols and versions that are missing elsewhere.  Every function returns 35,
which is cudaErrorInsufficientDriver, so that torch finds no device.
"""
import collections
import glob
import os
import re
import subprocess
import sys

PREFIXES = {                        # of the symbols that a library has
    "libcudart": "cuda|__cuda", "libcublasLt": "cublasLt", "libcublas": "cublas(?!Lt)",
    "libcufft": "cufft", "libcurand": "curand", "libcusolver": "cusolver",
    "libcusparseLt": "cusparseLt", "libcusparse": "cusparse(?!Lt)", "libcufile": "cuFile",
    "libcupti": "cupti", "libcudnn": "cudnn", "libnccl": "p?nccl",
    "libnvshmem_host": "nvshmem|_Z.*nvshmem", "libnvrtc": "nvrtc", "libnvJitLink": "nvJitLink"}


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def wanted(libraries):
    """Of each of NVIDIA's libraries that these need, the versions of symbols."""
    versions = {}
    for file in libraries:
        head = said("objdump", "-p", file)
        for name in re.findall(r"NEEDED\s+(lib(?:cu|nccl|nv)\S+)", head):
            if not name.startswith("libcuda.so"):
                versions.setdefault(name, set())
        for name, block in re.findall(r"required from (\S+):\n((?:\s+0x.*\n)+)", head):
            if name in versions:
                versions[name] |= set(re.findall(r"0x\S+ 0x\S+ \d+ (\S+)", block))
    return versions


def symbols(libraries):
    """Those that these libraries miss, with their versions, and that none of them has."""
    missing, present = {}, set()
    for file in libraries:
        for symbol in re.findall(r" [Uw] (\S+)", said("nm", "-D", "--undefined-only", file)):
            missing.setdefault(symbol.split("@")[0], symbol.partition("@")[2].lstrip("@"))
        for symbol in re.findall(r" [A-Za-z] (\S+)", said("nm", "-D", "--defined-only", file)):
            present.add(symbol.split("@")[0])
    return {name: version for name, version in missing.items() if name not in present}


def build(folder, library, names, versions):
    """names: {symbol: version or ""}; versions: those that must exist, with symbols or not."""
    source, script = os.path.join(folder, "stub.c"), os.path.join(folder, "stub.map")
    with open(source, "w", encoding="ascii") as file:
        file.write("int stub;\n" + "".join(f"long {n}(void) {{ return 35; }}\n" for n in names))
    of_version = collections.defaultdict(list, {v: [] for v in versions})
    for name, version in names.items():
        of_version[version].append(name)
    text = "".join(f"{v} {{ {'global: ' + '; '.join(n) + ';' if n else ''} }};\n"
                   for v, n in of_version.items() if v)
    with open(script, "w", encoding="ascii") as file:
        file.write(text)
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-fno-builtin", f"-Wl,-soname,{library}", source,
                    "-o", os.path.join(folder, library)]
                   + ([f"-Wl,--version-script,{script}"] if text else []), check=True)


def main():
    libraries, folder = glob.glob(os.path.join(sys.argv[1], "lib", "*.so*")), sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    missing, made = symbols(libraries), 0
    for library, versions in sorted(wanted(libraries).items()):
        prefix = PREFIXES.get(library.partition(".so")[0], "(?!)")
        names = {n: v for n, v in missing.items() if re.match(prefix, n)}
        build(folder, library, names, versions)
        made += len(names)
    print(f"{len(os.listdir(folder)) - 2} libraries, {made} symbols")


if __name__ == "__main__":
    main()
