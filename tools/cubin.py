"""What a device reads of a cubin: code, constants, shared memory, registers and parameters, without names.

Code holds no name: calls and tables are relocations, and these say here where they point to, not how
that is called.  A kernel's symbol is the hash of its source and a number; only the number stays.
"""
import re
import struct

SYMTAB, RELA, NOBITS, REL, INFO = 2, 4, 8, 9, 0x70000000
ALLOC = 2
SYMBOL = re.compile(r"rk_[0-9a-f]{16}_")
# Attributes of .nv.info whose value begins with a symbol: frame and stack sizes, registers, callees.
OF_SYMBOL = {0x11, 0x12, 0x23, 0x2F, 0x1B}


def text_at(strings, at):
    return strings[at:strings.index(b"\0", at)].decode()


class Cubin:
    def __init__(self, image):
        self.image = image
        offset, = struct.unpack_from("<Q", image, 40)
        size, count, names = struct.unpack_from("<HHH", image, 58)
        # name, type, flags, address, offset, size, link, info, alignment, size of an entry
        self.section = [struct.unpack_from("<IIQQQQIIQQ", image, offset + i * size) for i in range(count)]
        strings = self.data(self.section[names])
        self.name = [SYMBOL.sub("rk_", text_at(strings, s[0])) for s in self.section]
        self.symbol = [s for table in self.section if table[1] == SYMTAB for s in self.symbols(table)]

    def data(self, section):
        return b"" if section[1] == NOBITS else self.image[section[4]:section[4] + section[5]]

    def symbols(self, table):
        """Where each symbol lies: what a name stands for, and the name only where that is elsewhere."""
        strings = self.data(self.section[table[6]])
        for name, _, _, at, value, size in struct.iter_unpack("<IBBHQQ", self.data(table)):
            inside = 0 < at < len(self.name)
            yield (self.name[at], value, size) if inside else (text_at(strings, name), value, size)

    def relocations(self, section):
        entry = "<QQq" if section[1] == RELA else "<QQ"
        return sorted((offset, info & 0xFFFFFFFF, self.symbol[info >> 32], *rest)
                      for offset, info, *rest in struct.iter_unpack(entry, self.data(section)))

    def attributes(self, section):
        """The attributes of a kernel or of all; a value that is a symbol is what that stands for."""
        data, at, out = self.data(section), 0, []
        while at + 4 <= len(data):
            form, key, size = struct.unpack_from("<BBH", data, at)
            value = data[at + 4:at + 4 + size] if form == 4 else size
            at += 4 + (size if form == 4 else 0)
            if form == 4 and key in OF_SYMBOL:
                words = struct.unpack("<%dI" % (size // 4), value)
                value = (self.symbol[words[0]], *words[1:])
            out.append((key, value))
        return sorted(out, key=repr)

    def parts(self):
        """name: what a device reads of a section."""
        out = {}
        for name, section in zip(self.name, self.section):
            if name.startswith((".rel.debug", ".rela.debug")):
                continue
            if section[1] == INFO:
                out[name] = self.attributes(section)
            elif section[1] in (REL, RELA):
                out[name] = self.relocations(section)
            elif section[2] & ALLOC:
                # The upper byte of a code section's info: registers, where .nv.info does not say.
                out[name] = (section[2], section[7] >> 24, section[5], section[8], self.data(section))
        return {name: part for name, part in out.items() if part}

    def registers(self):
        """Of each kernel, by its number."""
        return {value[0][0]: value[1] for name, section in zip(self.name, self.section)
                if name == ".nv.info" for key, value in self.attributes(section) if key == 0x2F}


def differences(theirs, ours):
    """Lines that say how two images differ for a device; none where they do not."""
    theirs, ours = Cubin(theirs), Cubin(ours)
    before, now = theirs.parts(), ours.parts()
    out = []
    for name in sorted(set(before) | set(now)):
        a, b = before.get(name), now.get(name)
        if a == b:
            continue
        if a is None or b is None:
            out.append("%s: only in %s" % (name, "ours" if a is None else "theirs"))
        elif name.startswith(".text"):
            at = next((i for i, (x, y) in enumerate(zip(a[4], b[4])) if x != y), min(len(a[4]), len(b[4])))
            out.append("%s: %d and %d instructions, first other one at 0x%x; registers %s and %s" % (
                name, a[2] // 16, b[2] // 16, at // 16 * 16, theirs.registers().get(name),
                ours.registers().get(name)))
        else:
            out.append("%s: other %s" % (name, "size" if len(a) != len(b) or a[2:3] != b[2:3] else "content"))
    return out
