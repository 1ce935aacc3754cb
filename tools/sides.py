"""Two sides of a comparison: another commit, checked out and built, and this tree; and what both are asked."""
import hashlib
import math
import os
import re
import subprocess
import tarfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(HERE, os.environ.get("BUILD", "build"))


def check_out(rev):
    """The tree of a commit under $BUILD/replay, built; it finds the compilers that this build fetched."""
    rev = subprocess.check_output(["git", "rev-parse", "--short", rev + "^{commit}"], cwd=HERE, text=True).strip()
    tree = os.path.join(BUILD, "replay", rev)
    if not os.path.isdir(tree):
        with subprocess.Popen(["git", "archive", rev], cwd=HERE, stdout=subprocess.PIPE) as archive:
            with tarfile.open(fileobj=archive.stdout, mode="r|") as files:
                files.extractall(tree + ".tmp", filter="data")
        os.rename(tree + ".tmp", tree)
    env = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "BUILD")}
    subprocess.run(["make", "-s", "-C", tree, "-j", str(os.cpu_count()), "all"], env=env, check=True)
    for name in ("nvrtc", "nvrtc12"):
        ours, theirs = os.path.join(BUILD, name), os.path.join(tree, "build", name)
        if os.path.isdir(ours) and not os.path.lexists(theirs):
            os.symlink(ours, theirs)
    return tree


def sizes(text):
    """The static sizes that a file names, as they stand there."""
    for line in re.findall(r"^param ([^;]*);", text, re.M):
        for name, value in re.findall(r"(\w+) = (\d+)(?=\s*(?:,|$))", line):
            yield name, int(value)


def variants(path):
    """(name, options) of a case: as written, and its first and its last size known when the kernel runs,
    the first with any value, the last with what divides it."""
    name = os.path.basename(path)[:-len(".te")]
    yield name, []
    with open(path, encoding="utf-8") as f:
        named = [size for size in sizes(f.read()) if size[1] > 1]
    if named:
        options = ["-D", "%s=1..%d" % named[0]]
        if len(named) > 1:
            step = math.gcd(named[-1][1], 16)
            options += ["-D", "%s=%d..%d%%%d" % (named[-1][0], step, named[-1][1], step)]
        yield name + ".sizes", options


def cases():
    """Every case and example of this tree: path, name, options."""
    for folder in ("tests/cases", "examples"):
        for name in sorted(os.listdir(os.path.join(HERE, folder))):
            if name.endswith(".te"):
                path = os.path.join(HERE, folder, name)
                for variant, options in variants(path):
                    yield path, folder.split("/")[-1] + "." + variant, options


def run(tree, build, profile, path, *options):
    """What the tool of a tree says of a case on a profile of its own: exit status, standard output, error."""
    tool = os.path.join(tree, build, "roller-gen")
    done = subprocess.run([tool, "--profile", os.path.join(tree, "profiles", profile + ".json"), "--op", "all",
                           *options, path], cwd=tree, env={**os.environ, "ROLLER_CACHE_DIR": ""},
                          capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def said(tree, profile, path, *options):
    """Exit status and standard output of `run`; what a commit says of a case never changes, so it is kept."""
    if tree == HERE:
        return run(tree, os.path.relpath(BUILD, HERE), profile, path, *options)[:2]
    with open(path, "rb") as f:
        key = hashlib.sha256(repr((profile, f.read(), options)).encode()).hexdigest()[:24]
    kept = os.path.join(tree, "said", key)
    if not os.path.exists(kept):
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        status, out, _ = run(tree, "build", profile, path, *options)
        with open(kept + ".tmp", "w", encoding="utf-8") as f:
            f.write("%d\n%s" % (status, out))
        os.rename(kept + ".tmp", kept)
    with open(kept, encoding="utf-8") as f:
        return int(f.readline()), f.read()
