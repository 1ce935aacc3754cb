"""Makes docs/reference, of what the sources say:  python3 tools/reference [--check] BUILD [FOLDER]    (make docs)

Each page has a file here that reads one kind of source.  --check changes nothing, and fails where a
page is not what would be made, or where a page for people repeats a fact wrongly; prints TAP.
"""
import os
import sys

import guide
import headers
import manuals
import messages
import notebooks
import options
import plans
import python_api
import schemas

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = {"c-api.md": lambda build: headers.page(), "messages.md": lambda build: messages.page(),
         "plan.md": lambda build: plans.page(), "python-api.md": lambda build: python_api.page(),
         "options.md": lambda build: manuals.page(build) + options.page(),
         "kernel-json.md": lambda build: schemas.page(),
         "torch-op.ipynb": lambda build: notebooks.page("docs/torch-op.md")}


def main():
    check = "--check" in sys.argv
    build, *folder = (os.path.abspath(a) for a in sys.argv[1:] if a != "--check")
    os.chdir(ROOT)
    failed = False
    for name, made in PAGES.items():
        path, text = f"{(folder or ['docs/reference'])[0]}/{name}", made(build).rstrip() + "\n"
        same = os.path.exists(path) and open(path, encoding="utf-8").read() == text
        if check:
            print(f"{'ok' if same else 'not ok'} - {path} is what its sources say"
                  + ("" if same else " (make docs writes it anew)"))
        elif not same:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            print(f"{path}: written anew")
        failed |= not same
    if check:
        wrong = list(guide.faults())
        print("".join(f"# {w}\n" for w in wrong) + f"{'not ok' if wrong else 'ok'} - "
              f"{guide.PAGE} has the types, errors and limits of the sources")
        failed |= bool(wrong)
    return check and failed


if __name__ == "__main__":
    sys.exit(main())
