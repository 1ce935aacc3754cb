"""Cases of tests/unit/test_fragment.c against tensor-layouts: tests/layouts.py FILE"""
import sys

from tensor_layouts import atoms_nv

# Instructions by shape and by operand's type: the package's name for them.
ATOMS = {
    ("16x8x8", "f16"): "SM75_16x8x8_F32F16F16F32_TN",
    ("16x8x16", "f16"): "SM80_16x8x16_F32F16F16F32_TN",
    ("16x8x16", "bf16"): "SM80_16x8x16_F32BF16BF16F32_TN",
    ("16x8x8", "f32"): "SM80_16x8x8_F32TF32TF32F32_TN",
    ("8x8x4", "f64"): "SM80_8x8x4_F64F64F64F64_TN",
    ("16x8x32", "i8"): "SM80_16x8x32_S32S8S8S32_TN",
}


def fragment(words):
    """Row and column of each lane's slots, as m + column * rows."""
    parts = {"lane": [], "slot": []}
    for word in words:
        level, side, extent, step = word.split(":")
        parts[level].append((side, int(extent), int(step)))

    def at(level, x):
        row = column = 0
        for side, extent, step in parts[level]:
            move = x % extent * step
            row, column = (row + move, column) if side == "row" else (row, column + move)
            x //= extent
        return row, column

    slots = 1
    for _, extent, _ in parts["slot"]:
        slots *= extent
    places = []
    for lane in range(32):
        for slot in range(slots):
            a, b = at("lane", lane), at("slot", slot)
            places.append((lane, slot, a[0] + b[0], a[1] + b[1]))
    return places


def same_fragment(shape, operand, role, words):
    name = ATOMS.get((shape, operand))
    if name is None:
        return None
    atom = getattr(atoms_nv, name)
    theirs = atom.c_layout if role == "result" else atom.a_layout
    rows = atom.shape_mnk[0]
    return all(theirs(lane, slot) == row + column * rows
               for lane, slot, row, column in fragment(words))


def main():
    done, wrong, refused, operand = 0, [], 0, ""
    for line in open(sys.argv[1]):
        kind, _, rest = line.partition(" ")
        if kind != "fragment":
            continue
        _, shape, role, *words = rest.split()
        operand = role if role != "result" else operand
        case = same_fragment(shape, operand, role, words)
        refused += case is None
        done += case is True
        wrong += [line.strip()] if case is False else []
    for line in wrong[:5]:
        print("#", line)
    verdict = "ok" if done >= 10 and not wrong else "not ok"
    print(f"{verdict} - fragments: {done} as tensor-layouts has them, {len(wrong)} not, "
          f"{refused} that it does not have")


main()
