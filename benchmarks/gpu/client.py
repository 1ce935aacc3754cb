"""The process that times rows (worker.py), seen from outside: a line in, a line out."""
import json
import os
import queue
import signal
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
START_SECONDS = 180


def kill(p):
    """A process that leads a session of its own, and all its children."""
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Client:
    """`session`: whose kit, device, folder and environment it has."""

    def __init__(self, session, script="worker.py"):
        arguments = [sys.executable, os.path.join(HERE, script), "--kit", session.kit,
                     "--device", str(session.o.device), "--profile", session.profile(),
                     "--profile-path", session.env["ROLLER_PROFILE_PATH"]]
        shipped = session.shipped()
        if session.profile() != shipped:
            arguments += ["--shipped", shipped]
        if session.o.simulated or session.o.no_peers:
            arguments.append("--plain")
        self.log = open(os.path.join(session.folder, "worker.log"), "a", encoding="utf-8")
        self.p = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=self.log, env=session.env, text=True,
                                  start_new_session=True, cwd=os.path.dirname(HERE))
        self.lines = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()
        self.hello, lost = self.next(min(START_SECONDS, session.left()))
        if lost:
            self.close()
            raise RuntimeError(f"the worker does not start ({lost}); see worker.log")

    def listen(self):
        for line in self.p.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def next(self, limit):
        """(answer, None), or (None, why there is none)."""
        try:
            line = self.lines.get(timeout=max(limit, 0.1))
        except queue.Empty:
            return None, f"no answer within {limit:.0f} s"
        if line is None:
            return None, f"the process ended with status {self.p.wait()}"
        try:
            return json.loads(line), None
        except ValueError:
            return None, f"no answer: {line[:100]}"

    def ask(self, request, limit):
        try:
            self.p.stdin.write(json.dumps(request) + "\n")
            self.p.stdin.flush()
        except OSError as e:
            return None, f"the process is gone: {e}"
        record, lost = self.next(limit)
        if record and record.get("lost"):
            return record, "the context is lost"
        return record, lost

    def close(self):
        kill(self.p)
        self.p.wait()
        for f in (self.p.stdin, self.p.stdout, self.log):
            try:
                f.close()
            except OSError:
                pass
