"""Runs tests and prints TAP: run.py [MODULE...]; those of this folder if none is named."""
import os
import sys
import unittest


class Tap(unittest.TestResult):
    def addSuccess(self, test):
        print(f"ok - python: {name(test)}", flush=True)

    def addSkip(self, test, reason):
        print(f"ok - python: {name(test)} # SKIP {reason}", flush=True)

    def _bad(self, test, error):
        print("".join(f"# {line}\n" for line in self._exc_info_to_string(error, test).split("\n")))
        print(f"not ok - python: {name(test)}", flush=True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._bad(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self._bad(test, error)


def name(test):
    return test.id().replace("_", " ")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    own = not sys.argv[1:] or os.path.exists(os.path.join(here, sys.argv[1].split(".")[0] + ".py"))
    sys.path = [here] * own + [p for p in sys.path if p != here]
    modules = sys.argv[1:] or sorted(f[:-3] for f in os.listdir(here) if f.startswith("test_"))
    result = Tap()
    unittest.defaultTestLoader.loadTestsFromNames(modules).run(result)
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":                  # processes that tests make import this file
    main()
