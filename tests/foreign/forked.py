"""Runs unittest tests, a process for each, since a fault of a kernel ends its whole context.

    forked.py [--jobs N] [--limit SECONDS] [--load MODULE]... [--match PATTERN]
              [--from N] [--every K] MODULE...

Modules of --load are imported once and must not touch the driver, whose state does not survive a
fork; those with tests are imported by every process anew.  Prints a line of JSON for each test as
it ends: `test`, `result` (passed, failed, skipped), `seconds`, and in `said` what it printed and
why it failed.
"""
import argparse
import ctypes
import faulthandler
import fnmatch
import gc
import importlib
import json
import os
import signal
import sys
import tempfile
import time
import traceback
import unittest

PASSED, FAILED, SKIPPED = 0, 1, 2
NAMES = {PASSED: "passed", FAILED: "failed", SKIPPED: "skipped"}


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def names(module):
    """The tests of a module; one that cannot be imported is a test that fails."""
    try:
        loaded = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(module))
    except BaseException:
        return [module]
    return [test.id() for test in flat(loaded)]


def say_driver_message():
    """Prints what the simulated driver says of its last failure, if this process opened it."""
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD)
        text = ctypes.create_string_buffer(4096)
        driver.roller_sim_driver_message(text, ctypes.c_size_t(len(text)))
    except (OSError, AttributeError):
        return
    if text.value:
        print("simulated driver:", text.value.decode(errors="replace").strip())


def run(name):
    """Runs one test in this process; its status."""
    faulthandler.enable()
    test = unittest.defaultTestLoader.loadTestsFromName(name)
    result = unittest.TestResult()
    test.run(result)
    for _, trace in result.errors + result.failures:
        print(trace)
    for unexpected in result.unexpectedSuccesses:
        print("unexpected success:", unexpected)
    say_driver_message()
    if not result.wasSuccessful() or not result.testsRun and not result.skipped:
        return FAILED
    if result.skipped:
        print("\n".join(why for _, why in result.skipped))
    return SKIPPED if len(result.skipped) == result.testsRun else PASSED


def forked(body, out):
    """A process that ends with the status that body returns, in a group of its own."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = FAILED
    try:
        os.setpgid(0, 0)
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        status = body()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def listed(modules):
    """All tests; a process looks for them, since importing may touch the driver."""
    with tempfile.TemporaryFile("w+") as out:
        read, write = os.pipe()
        def body():
            with os.fdopen(write, "w") as to:
                json.dump([name for module in modules for name in names(module)], to)
            return PASSED
        pid = forked(body, out)
        os.close(write)
        with os.fdopen(read) as source:
            text = source.read()
        os.waitpid(pid, 0)
        return json.loads(text) if text else list(modules)


class Running:
    def __init__(self, name):
        self.name, self.begin = name, time.monotonic()
        self.out = tempfile.TemporaryFile("w+", errors="replace")
        self.pid = forked(lambda: run(name), self.out)

    def ended(self, limit):
        """Its row once it has ended, within the limit or by force; else None."""
        seconds = time.monotonic() - self.begin
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        note = ""
        if not pid:
            if seconds < limit:
                return None
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            note = f"over its time of {limit:g} s\n"
            code = FAILED
        else:
            code = os.waitstatus_to_exitcode(status)
            if code not in NAMES:
                note = f"ended by signal {-code}\n" if code < 0 else f"ended with status {code}\n"
        self.out.seek(0)
        said = self.out.read() + note
        self.out.close()
        return {"test": self.name, "result": NAMES.get(code, "failed"),
                "seconds": round(seconds, 2), "said": said}


def main():
    say = argparse.ArgumentParser()
    say.add_argument("--jobs", type=int, default=1)
    say.add_argument("--limit", type=float, default=300)
    say.add_argument("--load", action="append", default=[])
    say.add_argument("--match", default="*")
    say.add_argument("--from", type=int, default=0, dest="first")
    say.add_argument("--every", type=int, default=1)
    say.add_argument("modules", nargs="+")
    args = say.parse_args()
    waiting = [n for n in listed(args.modules) if fnmatch.fnmatchcase(n, args.match)]
    waiting = waiting[args.first::args.every]
    for module in args.load:
        importlib.import_module(module)
    gc.freeze()                              # collecting would copy every page that is shared
    running = []
    while waiting or running:
        while waiting and len(running) < args.jobs:
            running.append(Running(waiting.pop(0)))
        time.sleep(0.01)
        rows = [(r, r.ended(args.limit)) for r in running]
        running = [r for r, row in rows if row is None]
        for _, row in rows:
            if row is not None:
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
