"""A Python exception for each kind of status of roller.h."""
import re

from ._abi import STATUS


class Error(Exception):
    """What roller refused, and why.

    str() is the message as the tools print it: with its place, the source line, a caret and a
    hint.  `status` is the name of roller.h's status ("TE", "NVRTC", "STRIDE", ...); `tag` the kind
    of a fault in an expression ("bounds", "axis", ...); `file`, `line` and `column` are None where
    there is no place, `hint` where there is none.
    """

    def __init__(self, rendered, *, status="INTERNAL", message=None, hint=None, tag=None,
                 file=None, line=None, column=None):
        self.status, self.message = status, rendered if message is None else message
        if message is None and hint:
            rendered = f"{rendered}\nroller: hint: {hint}"
        super().__init__(rendered)
        self.hint, self.tag = hint, tag
        self.file, self.line, self.column = file, line, column


class ExpressionError(Error, ValueError):
    """The expression is wrong, or its sizes are."""


class ProfileError(Error, ValueError):
    """The device profile is wrong, or there is none of that name."""


class PlanError(Error, ValueError):
    """The plan text is wrong, or no plan is valid."""


class UsageError(Error, ValueError):
    """Unknown or contradictory options."""


class ArgumentError(Error, ValueError):
    """The arguments of a call do not fit the kernel."""


class DeviceError(Error, RuntimeError):
    """No device, no driver, or a call of the driver failed."""


class NvrtcError(Error, RuntimeError):
    """NVRTC is missing, or cannot target the architecture."""


class FileError(Error, RuntimeError):
    """A file cannot be read or written."""


class CheckError(Error, RuntimeError):
    """The kernel computes something else than its expression says."""


class InternalError(Error, RuntimeError):
    """A fault of roller itself."""


class CancelledError(Error, RuntimeError):
    """The call was ended."""


class OutOfMemoryError(Error, MemoryError):
    """There was no memory."""


_KINDS = {
    ExpressionError: "TE", ProfileError: "PROFILE", PlanError: "PLAN_TEXT NO_PLAN",
    UsageError: "USAGE", DeviceError: "DEVICE DRIVER CUDA ARCH", NvrtcError: "NVRTC",
    FileError: "IO", OutOfMemoryError: "NOMEM", CheckError: "CHECK",
    InternalError: "COMPILE SIMULATOR INTERNAL", CancelledError: "CANCELLED",
    ArgumentError: "ARGS DTYPE RANK SIZE STRIDE ALIGN NULLPTR WORKSPACE",
}
for _kind in (Error, *_KINDS):
    _kind.__module__ = "roller"
KIND_OF = {status: kind for kind, names in _KINDS.items() for status in names.split()}


# The tools' options and C's functions in messages, as Python's.
_SPOKEN = [(re.compile(pattern), said) for pattern, said in (
    (r"^-D (\w+):", r'sizes["\1"]:'),
    (r"roller_op_for makes the op for these strides: compile that; or copy the tensor",
     "copy the array (torch: x.contiguous(), numpy: ascontiguousarray(x)), or declare its strides "
     "in the expression: A: f32[M,K] strides(LD,1)"),
    (r"compile a kernel with the alignment that roller_op_for tells: .*",
     "compile(..., align=N) makes a kernel for arrays that are aligned to N bytes"),
    (r"-D (\w+)=(\d+\.\.\d+(?:%\d+)?|LO\.\.HI(?:\[%Q\])?)", r'sizes={"\1": "\2"}'),
    (r"-D (\w+)=(\w+)", r'sizes={"\1": \2}'), (r"with -D\b", "with sizes="),
    (r"\s-D\b", " sizes="), (r"^-D\b", "sizes="),
    (r"--list-profiles", "roller.profiles()"), (r"--check-budget (\d+)", r"check(budget=\1)"),
    (r"(?<!roller-gen )--device (\w+)", r'device="\1"'), (r"--emit (\w+)", r'k.artefact("\1")'),
    (r"--(profile|arch|plan)\b", r"\1="))]


_SAID = re.compile(r"^(\S.*?: (?:error|hint): )(.*)$", re.M)


def spoken(message):
    """A message or hint with the names that a Python program has."""
    for pattern, said in _SPOKEN:
        message = pattern.sub(said, message)
    return message


def text(b):
    return None if b is None else b.decode("utf-8", "replace")


def error_of(status, e):
    """The exception for a status; `e` is a RollerError, or None where nothing more is known."""
    name = STATUS[status] if 0 <= status < len(STATUS) else "INTERNAL"
    kind = KIND_OF.get(name, InternalError)
    if e is None:
        return kind(name, status=name)
    message, hint = text(e.message) or name, text(e.hint)
    rendered = (text(e.rendered) or message).rstrip()
    rendered = _SAID.sub(lambda line: line[1] + spoken(line[2]), rendered)
    return kind(rendered, status=name, message=spoken(message), hint=hint and spoken(hint),
                tag=text(e.tag) or None, file=text(e.file), line=e.line or None,
                column=e.column or None)
