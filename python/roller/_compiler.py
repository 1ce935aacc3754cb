"""From expressions to kernels."""
import concurrent.futures
import contextlib
import os
import re
import string
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p, cast, string_at
from functools import lru_cache

from . import _abi
from ._errors import ArgumentError, text
from ._kernel import Kernel, defines
from ._library import Contexts, lib, strings, struct
from ._measure import over_devices, race, shared_out
from ._op import Op
from ._plan import plans_of
from ._tensors import dtype_of


class Compiler:
    """Compiles expressions, with options of its own; may be used from any thread.

    cache           keep compiled kernels in the cache, and take them from there
    cache_dir       its folder (the user's standard one)
    cache_key_file  entries bear a tag by the secret in this file
    profile_path    folders of device profiles, a list or colon-separated (the standard ones)
    nvrtc           path of libnvrtc.so.N (the newest that fits, of this Python's wheels and
                    the system)
    threads         of the simulator and of compilations (one per core)
    line_info       line information in PTX and cubin
    """

    def __init__(self, *, cache=True, cache_dir=None, cache_key_file=None, profile_path=None,
                 nvrtc=None, threads=0, line_info=False):
        self._options = dict(
            cache=cache, cache_dir=cache_dir, cache_key_file=cache_key_file,
            profile_path=profile_path, nvrtc=nvrtc, threads=threads, line_info=line_info)
        self._contexts = Contexts(self._options)
        self._einsum = lru_cache(256)(self._einsum_for)

    def compile(self, te, *, op=None, sizes=None, profile=None, arch=None, plan=None, align=None,
                workspace_limit=None, check=False, fast_compile=False, static_smem=False,
                plain_abi=False, programs=None, file=None):
        """A kernel for an expression: its text, or the path of a .te file.

        op       which op, where there are several
        sizes    {"M": 64, "N": "1..4096%8"}: as -D of roller-gen
        profile  a name or file (the default one); arch alone picks a profile for it
        plan     a plan's text, in the place of planning
        check    prove it before it is given out
        programs  at most so many for run-time sizes (12)
        static_smem, plain_abi   kernels that declare their shared memory, that take no tensor maps
        """
        context = self._contexts.get()
        handle = self._profile(context, profile, arch)
        parsed = self._parse(context, te, op, sizes, file)
        options = struct(_abi.RollerPlanOptions, align=align or 0, check=bool(check),
                         workspace_limit=workspace_limit or 0, fast_compile=bool(fast_compile),
                         static_smem=bool(static_smem), plain_abi=bool(plain_abi),
                         programs=programs or 0,
                         arch=None if arch is None else arch.encode())
        if plan is None:
            made = context.make(lib.roller_compile, lib.roller_kernel_destroy, parsed.at,
                                handle.at, byref(options))
            return Kernel(self._contexts, made, parsed, handle, options)
        plan = plan.encode()
        plans = context.make(lib.roller_plan_read, lib.roller_plans_destroy, parsed.at, handle.at,
                             plan, len(plan), b"<plan>", byref(options))
        made = context.make(lib.roller_build_best, lib.roller_kernel_destroy, plans.at, None)
        kernel = Kernel(self._contexts, made, parsed, handle, options)
        if check:
            kernel.check()
        return kernel

    def plan(self, te, **options):
        """The plan that compile would take first, with its prediction.  No code is made, so it
        needs neither NVRTC nor a GPU.  Arguments are those of plans.
        """
        return self.plans(te, top=1, **options)[0]

    def plans(self, te, *, top=8, op=None, sizes=None, profile=None, align=None,
              workspace_limit=None, plain_abi=False, file=None):
        """The best plans, at most `top` of them, the best first.  Other arguments are those of
        compile, which takes the text of a plan as plan=.
        """
        options = struct(_abi.RollerPlanOptions, align=align or 0, plain_abi=bool(plain_abi),
                         workspace_limit=workspace_limit or 0, top=top)
        context = self._contexts.get()
        handle = self._profile(context, profile, None)
        parsed = self._parse(context, te, op, sizes, file)
        return plans_of(self._contexts, parsed, handle, options)

    def fastest(self, te, *, top=10, trials=None, time_limit=None, device=None, at=None, seed=None,
                op=None, sizes=None, profile=None, align=None, workspace_limit=None,
                plain_abi=False, file=None):
        """The fastest right kernel of the `top` best plans, each proved and timed on a device.

        trials      how many are timed, those most worth it (all); time_limit: seconds, for all
        device, at  a number or UUID (the first), and values of run-time sizes (the largest)
        The kernel's `trials` has what was found of each plan.  Times are kept in the cache.
        """
        return self._fastest_of([dict(te=te, top=top, at=at, op=op, sizes=sizes, profile=profile,
                                      align=align, workspace_limit=workspace_limit,
                                      plain_abi=plain_abi, file=file)],
                                device=device, trials=trials, time_limit=time_limit, seed=seed)[0]

    def measure_many(self, programs, *, devices=("0",), executor=None, trials=None,
                     time_limit=None, seed=None, **options):
        """The fastest kernels of many programs, as `fastest` finds them.

        devices     numbers or UUIDs; executor: as of compile_many, each of whose workers sees them
        trials      how many plans of all programs are timed: the next one is the one that is
                    expected to save most time, and equal programs count as often as they come; of
                    a program that none is left for the first plan is taken
        time_limit  seconds, for all

        Without a limit each device times one program at a time and takes the next when it is done;
        with one it has a share of the programs and of the trials.
        """
        jobs = [{**options, **(p if isinstance(p, dict) else {"te": p})} for p in programs]

        def run(device, some, share):
            shared = dict(device=device, trials=share, time_limit=time_limit, seed=seed)
            if executor is None:
                return self._fastest_of(some, **shared)
            return executor.submit(_fastest_of, self._options, some, shared).result()
        if trials or time_limit:
            return shared_out(list(devices), jobs, trials, run)
        return over_devices(list(devices), jobs, lambda device, job: run(device, [job], None)[0])

    def _fastest_of(self, jobs, **shared):
        context = self._contexts.get()
        planned = [self._plan_job(context, **job) for job in jobs]
        found = race(context, [(plans, at) for plans, at, *_ in planned], defines, **shared)
        kernels = []
        for (plans, at, parsed, handle, options), (best, trials) in zip(planned, found):
            kernels.append(Kernel(self._contexts, best, parsed, handle, options))
            kernels[-1].trials = tuple(trials)
        return kernels

    def _plan_job(self, context, te, *, top=10, at=None, op=None, sizes=None, profile=None,
                  align=None, workspace_limit=None, plain_abi=False, file=None):
        options = struct(_abi.RollerPlanOptions, align=align or 0, plain_abi=bool(plain_abi),
                         workspace_limit=workspace_limit or 0, top=top)
        handle = self._profile(context, profile, None)
        parsed = self._parse(context, te, op, sizes, file)
        plans = context.make(lib.roller_plan, lib.roller_plans_destroy, parsed.at, handle.at,
                             byref(options))
        return plans, at, parsed, handle, options

    def compile_many(self, programs, *, executor=None, progress=None, **options):
        """Kernels of many programs: texts, or dicts of what compile takes.

        executor  anything with submit() of concurrent.futures, as processes and clusters have
                  (threads of this process, if there is none)
        progress  called with how many are made, and how many there are, after each
        Equal programs are compiled once; other options are those of compile.
        """
        wanted = [{**options, **(p if isinstance(p, dict) else {"te": p})} for p in programs]
        keys = [repr(sorted(w.items(), key=lambda item: item[0])) for w in wanted]
        made = self._compile_each(dict(zip(keys, wanted)), executor, progress)
        for refused in made.values():
            if isinstance(refused, Exception):
                raise refused
        return [made[k] for k in keys]

    def _compile_each(self, jobs, executor, progress):
        """{key: what compile takes} becomes {key: the kernel, or why there is none}."""
        made = {}
        with contextlib.ExitStack() as stack:
            if executor is None:
                executor = stack.enter_context(concurrent.futures.ThreadPoolExecutor(
                    os.cpu_count()))
            futures = {executor.submit(_compile, self._options, job): key
                       for key, job in jobs.items()}
            for future in concurrent.futures.as_completed(futures):
                made[futures[future]] = future.exception() or future.result()
                if progress:
                    progress(len(made), len(jobs))
        return made

    @staticmethod
    def _parse(context, te, op, sizes, file=None):
        if isinstance(te, os.PathLike) or (isinstance(te, str) and te.endswith(".te")):
            file = file or os.fspath(te)
            with open(te, "rb") as f:
                te = f.read()
        elif isinstance(te, str):
            te = te.encode()
        given, n = defines(sizes)
        options = struct(_abi.RollerParseOptions, op=None if op is None else op.encode(),
                         defines=cast(given, c_void_p), n_defines=n)
        return context.make(lib.roller_parse, lib.roller_op_destroy, te, len(te),
                            os.fsencode(file or "<expression>"), byref(options))

    def _profile(self, context, name, arch):
        """Read once, and again when its file has changed."""
        place = (name, arch if name is None else None, os.getcwd(),
                 os.environ.get("ROLLER_PROFILE"), os.environ.get("ROLLER_PROFILE_PATH"))
        handle, seen = context.profiles.get(place, (None, None))
        if seen is not None and seen == _state(lib.roller_profile_file(handle.at)):
            return handle
        if name is None and arch is not None:
            handle = context.make(lib.roller_profile_for_arch, lib.roller_profile_destroy,
                                  arch.encode())
        else:
            handle = context.make(lib.roller_profile_load, lib.roller_profile_destroy,
                                  None if name is None else os.fsencode(name))
        context.profiles[place] = handle, _state(lib.roller_profile_file(handle.at))
        return handle

    # ---- values by definition ----
    def evaluate(self, te, *inputs, out=None, op=None, sizes=None):
        """The values of an op by its definition, without plan or code: evaluate(te, a, b, out=c).

        Slow and exact: reals are computed in f64 and rounded once.  Arrays lie in host memory.
        """
        if out is not None and not isinstance(out, (tuple, list)):
            out = (out,)
        results = Op(self, te, op=op, sizes=sizes).evaluate(inputs, out)
        return results[0] if len(results) == 1 else tuple(results)

    def judge(self, te, inputs, outputs, *, op=None, sizes=None):
        """Whether outputs, whoever made them, are right for these inputs (docs/te-reference.md,
        "Values"): how many elements were compared, undecided and wrong, and the worst excess.
        """
        return Op(self, te, op=op, sizes=sizes).judge(tuple(inputs), tuple(outputs))

    # ---- derivatives, batches ----
    def _text(self, function, context, *args):
        te, size = c_void_p(), c_size_t()
        context.call(function, *args, byref(te), byref(size))
        return string_at(te.value, size.value).decode()

    def gradient_te(self, te, wrt=None, *, op=None, sizes=None):
        """The text of the derivative of an op (docs/te.md, "Derivatives").

        Its arguments are those inputs that it needs, and d_C for each real output C; its outputs
        are d_A for each input A of wrt, a list of names (all that are real tensors).
        """
        context = self._contexts.get()
        names, n = strings(wrt or ())
        parsed = self._parse(context, te, op, sizes)
        return self._text(lib.roller_gradient, context, parsed.at, names, n)

    def batch_te(self, te, batched=None, extent=-1, *, op=None, sizes=None):
        """The text of an op over arrays alone: scalars become tensors of rank 0.

        With extent each input whose place in `batched` is true has a first dimension of that
        extent, and so have all outputs.
        """
        context = self._contexts.get()
        parsed = self._parse(context, te, op, sizes)
        given = [bool(x) for x in batched or ()] + [False] * lib.roller_op_args(parsed.at)
        return self._text(lib.roller_batch, context, parsed.at,
                          (c_int * len(given))(*given), extent)

    # ---- einsum ----
    def einsum_te(self, spec, types=None):
        """The text of an op for einsum notation; its sizes are the letters.

        types    of the operands ("f16", ...), where the notation does not say them (f32)
        """
        given, n = strings(types or ())
        return self._text(lib.roller_einsum, self._contexts.get(), spec.encode(), given, n)

    def einsum_kernel(self, spec, sizes, *, types=None, **options):
        """A kernel for einsum notation: einsum_kernel("mk,kn->mn", {"m": "1..64", "k": 8, "n": 8}).

        Options are those of compile.
        """
        return self.compile(self.einsum_te(spec, types), sizes=sizes, file="einsum.te", **options)

    def einsum(self, spec, *arrays, out=None, profile=None, stream=None, workspace=None):
        """The sum of products that `spec` says, as numpy.einsum: einsum("bmk,bkn->bmn", a, b).

        spec = operand {"," operand} [ "->" operand ]; operand = { LETTER } [ ":" type ].  "..."
        stands for the axes that an array has beside its letters.
        The kernel for these shapes and types is compiled once.  Arrays are as for a kernel's call.
        """
        types = tuple(dtype_of(x) for x in arrays)
        if None in types:
            x = arrays[types.index(None)]
            raise TypeError(f"{type(x).__module__}.{type(x).__qualname__} is no array of a type "
                            "that roller has")
        shapes = tuple(tuple(x.shape) for x in arrays)
        kernel = self._einsum(_spelled(spec, shapes), types, shapes, profile)
        return kernel(*arrays, out=out, stream=stream, workspace=workspace)

    def _einsum_for(self, spec, types, shapes, profile):
        te, sizes = self.einsum_te(spec, types), {}
        operands = re.findall(r"\bin\d+: \w+\[([\w,]*)\]", te.partition(" -> ")[0])
        for i, (letters, shape) in enumerate(zip(operands, shapes)):
            letters = letters.split(",") if letters else []
            if len(letters) != len(shape):
                raise ArgumentError(f"operand {i} of '{spec}' has {len(letters)} dimensions, and "
                                    f"the array {len(shape)}", status="RANK")
            for letter, extent in zip(letters, shape):
                if sizes.setdefault(letter, extent) != extent:
                    raise ArgumentError(f"'{letter}' of '{spec}' is {sizes[letter]}, and {extent} "
                                        f"in operand {i}", status="SIZE")
        return self.compile(te, sizes=sizes, profile=profile, file="einsum.te")

    def read(self, json, cubin, ptx, *, arch=None):
        """A kernel from its files, without NVRTC: STEM.json as text, cubin as bytes, PTX as text.

        The profile that it was planned for must be there.  A cubin is code: who can write these
        files can run code.
        """
        json, ptx = json.encode(), ptx.encode()
        files = struct(_abi.RollerKernelFiles, json=json, json_len=len(json), cubin_len=len(cubin),
                       cubin=cast(c_char_p(cubin), c_void_p), ptx=ptx, ptx_len=len(ptx),
                       arch=None if arch is None else arch.encode())
        context = self._contexts.get()
        return Kernel(self._contexts, context.make(lib.roller_kernel_read,
                                                   lib.roller_kernel_destroy, byref(files)))

    def profiles(self):
        """Names of the device profiles that are found."""
        return self._list(lib.roller_profile_names)

    def archs(self):
        """Architectures that the newest NVRTC can target."""
        context = self._contexts.get()
        names, version = c_void_p(), c_char_p()
        context.call(lib.roller_archs, byref(names), byref(version))
        found = []
        while (name := c_char_p.from_address(names.value + 8 * len(found)).value) is not None:
            found.append(text(name))
        return found

    def _list(self, function):
        names, n = c_void_p(), c_int()
        self._contexts.get().call(function, byref(names), byref(n))
        return [text(s) for s in (c_char_p * n.value).from_address(names.value)] if n.value else []


def _compile(options, wanted):
    """One program of compile_many, wherever it runs."""
    return Compiler(**options).compile(**wanted)


def _fastest_of(options, jobs, shared):
    return Compiler(**options)._fastest_of(jobs, **shared)


def _spelled(spec, shapes):
    """einsum's notation with letters in the place of "...", which stands for the axes that the
    others leave."""
    operands, arrow, result = spec.replace(" ", "").partition("->")
    operands = operands.split(",")
    if "..." not in spec or len(operands) != len(shapes):
        return spec
    pool = [c for c in string.ascii_letters if c not in spec]
    most = max((len(shape) - len(o.replace("...", "")) for o, shape in zip(operands, shapes)
                if "..." in o), default=0)
    letters = "".join(pool[:max(most, 0)])
    if most > len(pool) or any("..." in o and len(shape) < len(o.replace("...", ""))
                               for o, shape in zip(operands, shapes)):
        return spec
    spelled = [o.replace("...", letters[len(letters) - max(len(shape) - len(
        o.replace("...", "")), 0):]) for o, shape in zip(operands, shapes)]
    if not arrow:
        once = "".join(operands).replace(".", "")
        result = "..." + "".join(sorted(c for c in set(once) if once.count(c) == 1))
    if letters and "..." not in result:
        raise ArgumentError(f"the result of '{spec}' has no '...'", status="RANK",
                            hint="write a letter for each axis that is summed")
    return ",".join(spelled) + "->" + result.replace("...", letters)


def _state(file):
    try:
        s = os.stat(file)
    except OSError:
        return None
    return s.st_mtime_ns, s.st_size, s.st_ino
