#!/bin/sh
# What `make foreign` runs with, on tests of its own: each result a test can have, and the list of
# known failures.
. tests/tap
python3 -c 'import tomllib' 2>/dev/null || { echo 'ok - foreign # SKIP Python 3.11 is needed'; exit; }
cd "$dir" || exit 1
cat >test_toy.py <<'END'
import os
import signal
import time
import unittest


class Toy(unittest.TestCase):
    def test_good(self):
        pass

    def test_bad(self):
        self.assertEqual(1, 2)

    def test_crash(self):
        os.kill(os.getpid(), signal.SIGSEGV)

    def test_skip(self):
        self.skipTest("not here")


class Late(unittest.TestCase):
    def test_late(self):
        time.sleep(600)
END
PYTHONPATH=$dir python3 "$root/tests/foreign/forked.py" nowhere >rows
has rows 'nowhere", "result": "failed".*No module named' 'a module that is not there fails'
PYTHONPATH=$dir python3 "$root/tests/foreign/forked.py" --jobs 2 --match '*.Toy.*' test_toy >rows
has rows 'test_good", "result": "passed"' 'a test passes'
has rows 'test_bad", "result": "failed".*1 != 2' 'a test fails, and says why'
has rows 'test_crash", "result": "failed".*ended by signal 11' 'a test crashes alone'
has rows 'test_skip", "result": "skipped".*not here' 'a test is skipped'
PYTHONPATH=$dir python3 "$root/tests/foreign/forked.py" --limit 1 --match '*.Late.*' test_toy >rows
has rows 'test_late", "result": "failed".*over its time' 'a test has its time'
PYTHONPATH=$dir python3 "$root/tests/foreign/forked.py" --match '*good' test_toy >rows
is 'a pattern chooses' "$(wc -l <rows)" = 1
cat >judge.py <<'END'
import run
rows = [{"test": name, "result": result, "said": said} for name, result, said in (
    ("a", "failed", "misaligned"), ("b", "failed", "another"), ("c", "passed", ""),
    ("d", "failed", "misaligned"))]
known = [run.Known("toy", list("abce"), "misaligned", "its own fault"),
         run.Known("other", ["d"], "", "of another suite")]
for line in run.judge(run.Suite("toy", ()), rows, known):
    print(line)
print([row["test"] for row in rows if "known" in row])
END
PYTHONPATH=$root/tests/foreign python3 judge.py >judged
has judged "^\['a'\]$" 'a known failure is excused'
has judged '^b fails, but does not say' 'a known test that fails in another way is told'
has judged '^c is passed, but known to fail' 'a known test that passes is told'
has judged '^e: no such test' 'a known test that is gone is told'
