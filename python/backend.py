"""Makes wheels: a build backend (`pip install ./python`), and the last step of `make wheel`.

    backend.py PACKAGE PLATFORM FOLDER [LICENCE...]

PACKAGE is a folder `roller` as `make package` lays it out.  Same input, same bytes.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import zipfile

try:
    import tomllib
except ImportError:                      # before Python 3.11
    from pip._vendor import tomli as tomllib

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(here)


def project_table():
    with open(os.path.join(here, "pyproject.toml"), "rb") as f:
        return tomllib.load(f)["project"]


def metadata():
    """Name, version and the text of METADATA."""
    project = project_table()
    with open(os.path.join(root, "include", "roller.h"), encoding="utf-8") as f:
        version = re.search(r'#define ROLLER_VERSION "(.*)"', f.read())[1]
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version}",
             f"Summary: {project['description']}", f"License-Expression: {project['license']}",
             "License-File: LICENSE", f"Keywords: {','.join(project['keywords'])}",
             f"Requires-Python: {project['requires-python']}"]
    lines += [f"Classifier: {c}" for c in project["classifiers"]]
    lines += [f"Requires-Dist: {d}" for d in project["dependencies"]]
    for extra, needs in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}"]
        lines += [f'Requires-Dist: {d}; extra == "{extra}"' for d in needs]
    with open(os.path.join(here, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    lines += ["Description-Content-Type: text/markdown", "", readme]
    return project["name"], version, "\n".join(lines)


def files_of(package):
    for folder, folders, files in os.walk(package, followlinks=True):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        for file in sorted(files):
            path = os.path.join(folder, file)
            yield os.path.join("roller", os.path.relpath(path, package)), path


def assemble(package, platform, out, licences=()):
    """Writes the wheel; gives its file name."""
    name, version, text = metadata()
    info = f"{name}-{version}.dist-info"
    tag = f"py3-none-{platform}"
    extra = "".join(f"License-File: {os.path.basename(f)}\n" for f in licences)
    text = text.replace("License-File: LICENSE\n", "License-File: LICENSE\n" + extra)
    wheel = f"Wheel-Version: 1.0\nGenerator: roller {version}\nRoot-Is-Purelib: false\nTag: {tag}\n"
    members = []
    for at, path in files_of(package):
        with open(path, "rb") as f:
            members.append((at, f.read(), os.access(path, os.X_OK)))
    for file in (os.path.join(root, "LICENSE"), *licences):
        with open(file, "rb") as f:
            members.append((f"{info}/licenses/{os.path.basename(file)}", f.read(), False))
    project = project_table()
    points = {"console_scripts": project["scripts"], **project["entry-points"]}
    entry_points = "\n".join(f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in of.items())
                             for group, of in points.items())
    members += [(f"{info}/METADATA", text.encode(), False), (f"{info}/WHEEL", wheel.encode(), False),
                (f"{info}/entry_points.txt", entry_points.encode(), False)]
    record = ""
    for at, data, _ in members:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{at},sha256={digest},{len(data)}\n"
    record += f"{info}/RECORD,,\n"
    members.append((f"{info}/RECORD", record.encode(), False))
    os.makedirs(out, exist_ok=True)
    file = f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(out, file + ".tmp"), "w", zipfile.ZIP_DEFLATED) as z:
        for at, data, executable in members:
            member = zipfile.ZipInfo(at, (1980, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (0o100755 if executable else 0o100644) << 16
            z.writestr(member, data)
    os.replace(os.path.join(out, file + ".tmp"), os.path.join(out, file))
    return file


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """For this machine alone, with its C compiler and jansson."""
    subprocess.run(["make", "-C", root, "-j", str(os.cpu_count() or 1), "package"], check=True)
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return assemble(os.path.join(root, "build", "python", "roller"), platform, wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("the source is the repository")


if __name__ == "__main__":
    print(assemble(*sys.argv[1:4], licences=sys.argv[4:]))
