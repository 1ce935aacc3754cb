"""What a wheel asks of a system: audit.py WHEEL GLIBC REPORT

REPORT is what `auditwheel show` said.  Ends with 1 if the wheel does not keep its platform tag.
"""
import io
import re
import sys
import zipfile

from elftools.elf.elffile import ELFFile

wheel, glibc, report = sys.argv[1:]
wanted = re.search(r"(manylinux_\d+_\d+_\w+)\.whl", wheel)[1]
said = " ".join(open(report, encoding="utf-8").read().split())
tag = re.search(r'(?:following platform tag: |platform tags?: )"?(\w+)"?', said)


def number(version):
    return tuple(map(int, version.split(".")))


def tag_number(text):
    return tuple(map(int, re.match(r"manylinux_(\d+)_(\d+)_", text).groups()))


if not tag or not tag[1].startswith("manylinux") or tag_number(tag[1]) > tag_number(wanted):
    sys.exit(f"{wheel}: auditwheel does not agree with {wanted}:\n{said}")
with zipfile.ZipFile(wheel) as z:
    for name in z.namelist():
        data = z.read(name)
        if data[:4] != b"\x7fELF":
            continue
        elf, newest, libraries = ELFFile(io.BytesIO(data)), "0", []
        for version, auxiliary in elf.get_section_by_name(".gnu.version_r").iter_versions():
            for a in auxiliary:
                if a.name.startswith("GLIBC_"):
                    newest = max(newest, a.name[6:], key=number)
        for entry in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED"):
            libraries.append(entry.needed)
        print(f"{name} for {elf['e_machine'][3:].lower()}: {len(data)} bytes, GLIBC_{newest}, "
              f"{' '.join(sorted(libraries))}")
        if number(newest) > number(glibc):
            sys.exit(f"{wheel}: {name} needs GLIBC_{newest}")
print(f"{wheel.rpartition('/')[2]}: auditwheel says {tag[1]}")
