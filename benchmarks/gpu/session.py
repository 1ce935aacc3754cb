"""One call of benchmarks/gpu/run: its clock, its processes, the kit, the device, the results."""
import datetime
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

import cases
import report
from client import Client, kill
from journal import Journal

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
MARGIN = 8                                # seconds kept for the reports at the end


class Stop(Exception):
    """The time is over."""


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


def slug(name):
    words = re.sub(r"(?i)\b(nvidia|geforce|tesla|quadro|graphics|device)\b", " ", name).split()
    return re.sub(r"[^a-z0-9]+", "-", "".join(words[:3]).lower()).strip("-") or "gpu"


class Session:
    """`o`: the options of run."""

    def __init__(self, o):
        self.o = o
        self.deadline = time.monotonic() + o.time if o.time else None
        self.kit = os.path.abspath(o.kit)
        self.gen = os.path.join(self.kit, "bin", "roller-gen")
        self.profiler = os.path.join(self.kit, "bin", "roller-profile")
        self.env = dict(os.environ, ROLLER_PROFILE_PATH=os.path.join(TREE, "profiles"),
                        ROLLER_CACHE_DIR="")
        self.env.pop("ROLLER_PROFILE", None)
        self.worker, self.failed, self.alive = None, 0, set()
        self.folder_of_scratch, self.journal = None, None
        if o.simulated:
            self.env["ROLLER_LIBCUDA"] = os.path.join(self.kit, "lib", "simdriver",
                                                      "libcuda.so.1")
            self.env["ROLLER_SIM_PROFILE"] = o.simulated
            self.env["ROLLER_SIM_THREADS"] = "1"

    # ---- time ----
    def left(self):
        return self.deadline - MARGIN - time.monotonic() if self.deadline else float("inf")

    def need(self, seconds):
        if self.left() < seconds:
            raise Stop

    # ---- processes ----
    def command(self, arguments, limit):
        """(status, standard output, standard error); status None: it ran into the limit, and was
        killed with its children.  Stop, if that was the time of the whole run."""
        limit = min(limit, max(self.left(), 1))
        p = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             stdin=subprocess.DEVNULL, env=self.env, text=True, errors="replace",
                             start_new_session=True, cwd=TREE)
        self.alive.add(p)
        try:
            out, err = p.communicate(timeout=limit)
            return p.returncode, out, err
        except subprocess.TimeoutExpired:
            kill(p)
            out, err = p.communicate()
            if self.left() <= 1:
                raise Stop from None
            return None, out, err
        finally:
            self.alive.discard(p)

    def close(self):
        for p in list(self.alive):
            kill(p)
        if self.worker:
            self.worker.close()
            self.worker = None

    # ---- the kit ----
    def prepare(self):
        """The tools start, or are built here; NVRTC is found."""
        self.need(3)
        if not self.starts():
            say("the tools of the kit do not start here; building them")
            self.rebuild()
            if not self.starts():
                raise SystemExit("run: the tools do not start, and building them did not help")
        self.find_nvrtc()

    def starts(self):
        if not os.path.exists(self.gen):
            return False
        try:
            status, out, err = self.command([self.gen, "--list-ops",
                                             os.path.join(TREE, "examples", "matmul.te")], 30)
        except OSError:
            return False
        return status == 0

    def rebuild(self):
        build = os.path.join(TREE, "build", "gpu-rebuilt")
        own = os.path.join(self.kit, "lib", "libjansson.so.4")
        status, out, err = self.command(
            ["make", f"-j{os.cpu_count() or 1}", "all", f"{build}/benchmarks/expressions",
             f"BUILD={build}", f"CPPFLAGS=-I{self.kit}/jansson",
             f"JANSSON_LIBS={own} -Wl,-rpath,{self.kit}/lib"], 400)
        if status:
            raise SystemExit(f"run: make failed:\n{err[-3000:]}")
        kit = os.path.join(TREE, "build", "gpu-kit-here")
        for folder, names in (("bin", ("roller-gen", "roller-profile", "roller-sim")),
                              ("lib", ("libroller.so.0",)),
                              ("lib/simdriver", ("simdriver/libcuda.so.1",))):
            os.makedirs(os.path.join(kit, folder), exist_ok=True)
            for name in names:
                if os.path.exists(os.path.join(build, name)):
                    shutil.copy(os.path.join(build, name), os.path.join(kit, folder))
        shutil.copy(os.path.join(self.kit, "rows.jsonl"), kit)
        self.kit = kit
        self.gen, self.profiler = (os.path.join(kit, "bin", n)
                                   for n in ("roller-gen", "roller-profile"))

    def find_nvrtc(self):
        """Where the tools find none themselves: that of the Python packages or of any toolkit."""
        status, out, err = self.command([self.gen, "--list-arch"], 60)
        if status == 0 and out.strip():
            return
        places = [os.path.join(p, "nvidia", "*", "lib") for p in sys.path]
        places += ["/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/x86_64-linux/lib",
                   "/usr/lib/x86_64-linux-gnu", "/opt/*/lib64"]
        for place in places:
            for name in sorted(glob.glob(os.path.join(place, "libnvrtc.so.1[0-9]")), reverse=True):
                self.env["ROLLER_NVRTC"] = os.path.realpath(name)
                if self.command([self.gen, "--list-arch"], 60)[0] == 0:
                    say(f"NVRTC: {name}")
                    return
        raise SystemExit(f"run: no NVRTC that roller can use:\n{err[-1000:]}")

    # ---- the device and its folder ----
    def device_info(self):
        code = ("import json, sys; sys.path.insert(0, sys.argv[1]); import driver; "
                "c = driver.Cuda(int(sys.argv[2])); i = c.info(); "
                "i['clocks'] = driver.Nvml(c.uuid).state(); print(json.dumps(i))")
        status, out, err = self.command([sys.executable, "-c", code, HERE, str(self.o.device)], 120)
        if status:
            raise SystemExit(f"run: no device: {err.strip().splitlines()[-1] if err else status}")
        return json.loads(out)

    def open(self):
        self.info = self.device_info()
        self.model = self.info["name"].removesuffix(" (simulated)")
        name = slug(self.model)
        if self.info["simulated"]:
            name = "simulated-" + name
        base = os.path.join(TREE, "benchmarks", "results", name)
        folder = self.o.results or self.unfinished(base) or os.path.join(
            base, datetime.date.today().isoformat())
        self.folder = os.path.abspath(folder)
        os.makedirs(self.folder, exist_ok=True)
        self.journal = Journal(os.path.join(self.folder, "journal.jsonl"))
        self.rows = cases.rows(self.kit)
        if self.o.quick:
            self.rows = cases.tiny_rows()
        say(f"{self.info['name']}: results in {os.path.relpath(self.folder, TREE)}")

    @staticmethod
    def unfinished(base):
        """The newest folder that a run has not finished."""
        for folder in sorted(glob.glob(os.path.join(base, "*-*-*")), reverse=True):
            journal = os.path.join(folder, "journal.jsonl")
            if os.path.exists(journal) and not os.path.exists(os.path.join(folder, "complete")):
                return folder
        return None

    def forget(self, names, which):
        """Drops what the parts did, or what of it is marked as failed."""
        def drop(part, record):
            bad = record.get("failed") or record.get("end", "ok") != "ok" or (
                record.get("exact") and record.get("same") is False)
            return part in names and (which == "all" or bad)
        self.journal.forget(drop)
        complete = os.path.join(self.folder, "complete")
        if os.path.exists(complete):
            os.remove(complete)

    # ---- which profile plans are made with ----
    def profile(self):
        """The measured one if it was made and is right, else the shipped one of this device."""
        if self.o.profile and self.o.profile != "measured":
            return self.o.profile
        for key, name in (("first", "profile-1.json"), ("quick", "profile-quick.json")):
            measured = os.path.join(self.folder, name)
            if ("profile", key) in self.journal and os.path.exists(measured) and \
                    self.journal.of("profile")[key]["end"] == "ok":
                return measured
        return self.shipped()

    def shipped(self):
        family = []
        for path in sorted(glob.glob(os.path.join(TREE, "profiles", "*.json"))):
            with open(path, encoding="utf-8") as f:
                gpu = json.load(f)["gpu"]
            if gpu["name"] == self.model:
                return os.path.basename(path)[:-5]
            if gpu["compute_capability"] == f"{self.info['cc_major']}.{self.info['cc_minor']}":
                family.append(os.path.basename(path)[:-5])
        if not family:
            raise SystemExit(f"run: no profile for {self.info['name']}: name one with --profile")
        return family[0]

    # ---- rows ----
    def time_row(self, row, top, peers, limit):
        """One row in the worker; a worker that dies or hangs is replaced."""
        if not self.worker:
            self.need(10)
            self.worker = Client(self)
        limit = min(limit, self.left())
        record, lost = self.worker.ask(
            {"row": row, "top": top, "peers": peers, "seconds": 0.2 if self.o.quick else 1.5,
             "compile_seconds": 120}, limit)
        if lost:
            self.worker.close()
            self.worker = None
            if record is None and self.left() <= 1:
                raise Stop
        if record is None:
            record = {"id": row["id"], "set": row["set"], "op": row["op"], "dtype": row["dtype"],
                      "failed": lost, "contenders": []}
        return record

    def scratch(self):
        if not self.folder_of_scratch:
            self.folder_of_scratch = tempfile.mkdtemp(prefix="roller-gpu-")
        return self.folder_of_scratch

    def finish(self):
        if not self.journal:
            return
        found = self.journal.of("environment").get("environment", {"device": self.info})
        report.write_all(self.folder, self.journal, dict(
            found, profile=os.path.basename(self.profile())))

    def pack(self):
        """What is there, as one file; even if no report could be made of it."""
        if self.folder_of_scratch:
            shutil.rmtree(self.folder_of_scratch, ignore_errors=True)
        if self.o.pack and self.journal:
            with tarfile.open(self.o.pack, "w:gz") as t:
                t.add(self.folder, arcname=os.path.relpath(self.folder, TREE))
            say(f"packed into {self.o.pack}")
