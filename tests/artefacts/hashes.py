"""hashes.py STEM FOLDER: the PTX of STEM under the hash of each image of its cubin, for a driver that
looks for it there."""
import hashlib
import json
import shutil
import struct
import sys


def size(image):
    """From the headers of an ELF image: its tables lie behind all else."""
    programs, sections = struct.unpack_from("<QQ", image, 32)
    n_programs, = struct.unpack_from("<H", image, 56)
    n_sections, = struct.unpack_from("<H", image, 60)
    return max(programs + 56 * n_programs, sections + 64 * n_sections)


stem, folder = sys.argv[1:]
kernels = json.load(open(stem + ".json"))["targets"][0]["kernels"]
cubin = open(stem + ".sm_90a.cubin", "rb").read()
for at in {k.get("image", 0) for k in kernels}:
    image = cubin[at:]
    name = hashlib.sha256(image[:size(image)]).hexdigest()
    shutil.copy(stem + ".sm_90a.ptx", "%s/%s.ptx" % (folder, name))
