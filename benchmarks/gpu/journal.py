"""What a run has done so far: one line of JSON per finished piece of work, so that the next call
goes on where this one stopped, whatever stopped it."""
import json
import os


class Journal:
    def __init__(self, path):
        self.path, self.records = path, {}
        self._mend()

    def _mend(self):
        """Reads it; a line that a kill cut off, and what follows, goes from the file too."""
        if not os.path.exists(self.path):
            return
        whole = 0
        with open(self.path, "rb") as f:
            for line in f:
                try:
                    entry = json.loads(line)
                    part, key, record = entry["part"], entry["key"], entry["record"]
                except (ValueError, KeyError, TypeError):
                    break
                if not line.endswith(b"\n"):
                    break
                self.records[part, key] = record
                whole += len(line)
        os.truncate(self.path, whole)

    def __contains__(self, part_key):
        return part_key in self.records

    def add(self, part, key, record):
        os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(json.dumps({"part": part, "key": key, "record": record}) + "\n")
            f.flush()
            os.fsync(f.fileno())
        self.records[part, key] = record

    def of(self, part):
        return {key: r for (p, key), r in self.records.items() if p == part}

    def forget(self, drop):
        """Leaves out every record for which drop(part, record)."""
        self.records = {k: r for k, r in self.records.items() if not drop(k[0], r)}
        with open(self.path + ".part", "w", encoding="utf-8") as f:
            for (part, key), record in self.records.items():
                f.write(json.dumps({"part": part, "key": key, "record": record}) + "\n")
        os.replace(self.path + ".part", self.path)
