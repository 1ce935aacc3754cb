"""A C program that the compiler refuses unless structs, enums and prototypes are as the package
has them."""
import ctypes

from roller import _abi


def fields(struct, name):
    print(f"_Static_assert(sizeof({name}) == {ctypes.sizeof(struct)}, \"\");")
    for field, kind in struct._fields_:
        at = getattr(struct, field)
        print(f"_Static_assert(offsetof({name}, {field}) == {at.offset}, \"\");")
        print(f"_Static_assert(sizeof((({name} *)0)->{field}) == {at.size}, \"\");")
        if hasattr(kind, "_fields_"):
            for inner, _ in kind._fields_:
                print(f"_Static_assert(offsetof({name}, {field}.{inner}) == "
                      f"{at.offset + getattr(kind, inner).offset}, \"\");")


print("#include <roller.h>\n#include <stddef.h>")
for name, value in vars(_abi).items():
    if isinstance(value, type) and issubclass(value, ctypes.Structure) and value.__module__ == \
            _abi.__name__ and "_" not in name:
        fields(value, name)
    elif name.startswith("ROLLER_"):
        print(f"_Static_assert((int){name} == {value}, \"\");")
for i, status in enumerate(_abi.STATUS):
    print(f"_Static_assert((int)ROLLER_{status} == {i}, \"\");")
SIZES = {None: "0"}
for name, (result, arguments) in _abi.FUNCTIONS.items():
    if result is not None:
        zeros = ", ".join("0" for _ in arguments)
        print(f"_Static_assert(sizeof({name}({zeros})) == {ctypes.sizeof(result)}, \"\");")
    else:
        print(f"void use_{name}(void);\nvoid use_{name}(void) {{ "
              f"{name}({', '.join('0' for _ in arguments)}); }}")
