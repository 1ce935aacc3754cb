#include "driver/artefact/launcher.h"
#include "driver/artefact/artefact.h"
#include "driver/artefact/launcher_tables.h"

#include <inttypes.h>
#include <string.h>

static void put_lines(Buf *out, const char *const *line) {
    while (*line) buf_puts(out, *line++);
}

/* ---- declarations ---- */
static const char header_types[] =
    "#include <stddef.h>\n"
    "#include <stdint.h>\n\n"
    "/* A tensor, field for field DLPack's DLTensor.  Strides in elements; NULL: dense.  */\n"
    "#ifndef ROLLER_TENSOR\n"
    "#define ROLLER_TENSOR\n"
    "typedef struct {\n"
    "    void *data;\n"
    "    struct { int32_t type, id; } device;      /* 1 CPU (scalars), 2 CUDA, 13 managed */\n"
    "    int32_t ndim;\n"
    "    struct { uint8_t code, bits; uint16_t lanes; } dtype;\n"
    "    int64_t *shape, *strides;\n"
    "    uint64_t byte_offset;\n"
    "} RollerTensor;\n"
    "#endif\n"
    "/* Statuses; the numbers are those of roller.h.  */\n"
    "#ifndef ROLLER_LAUNCH_STATUS\n"
    "#define ROLLER_LAUNCH_STATUS\n"
    "enum {\n";

/* Columns: name here, status of roller.h.  */
#define LAUNCH_STATUSES(X) X(OK) X(DEVICE) X(DRIVER) X(CUDA) X(NOMEM) X(ARCH) X(ARGS) X(DTYPE)     \
    X(RANK) X(SIZE) X(STRIDE) X(ALIGN) X(NULLPTR) X(WORKSPACE)
static const struct {
    const char *name;
    int status;
} statuses[] = {
#define X(name) {#name, ROLLER_##name},
    LAUNCH_STATUSES(X)
#undef X
};

static const char header_calls[] =
    "/* Loads the program for the device of the current context, whole; ROLLER_LAUNCH_ARCH if\n"
    " * there is no code for it.  Nothing here allocates device memory, waits for the device,\n"
    " * prints or changes the current context; a loaded program serves several threads.  */\n"
    "int roller_%s_load(roller_%s_kernel **out);\n"
    "/* Bytes of workspace that a launch with these shapes needs; data is not looked at.  */\n"
    "int roller_%s_workspace(const roller_%s_kernel *k, const RollerTensor *in, int n_in,\n"
    "    const RollerTensor *out, int n_out, size_t *bytes);\n"
    "/* Queues the program in `stream` (a CUstream), also in capture.  The context of the load is\n"
    " * current; the workspace is aligned to 256 bytes.  */\n"
    "int roller_%s_launch(const roller_%s_kernel *k, const RollerTensor *in, int n_in,\n"
    "    const RollerTensor *out, int n_out, void *workspace, size_t workspace_bytes,\n"
    "    void *stream);\n"
    "/* In the context of the load; nothing of it may run any more.  NULL does nothing.  */\n"
    "void roller_%s_unload(roller_%s_kernel *k);\n"
    "const char *roller_%s_status_text(int status);\n";

/* Arguments as a comment: in their order, with what is expected of each.  */
static void describe_args(const Te *te, Buf *out) {
    for (int i = 0; i < te->n_in + te->n_out; i++) {
        const TeTensor *t = &te->tensor[i];
        buf_printf(out, " *   %s %s: %s[", i < te->n_in ? "in " : "out", t->name,
                   te_dtype_name(t->dtype));
        for (int d = 0; d < t->rank; d++) {
            if (d) buf_putc(out, ',');
            if (t->shape[d].expr) te_print_expr(te, NULL, t->shape[d].expr, out);
            else buf_printf(out, "%" PRId64, t->shape[d].value);
        }
        buf_printf(out, "]%s\n", t->role == TE_VALUE ? ", a scalar in host memory" : "");
    }
}

static void declarations(const Te *te, Buf *out) {
    const char *op = te->name;
    buf_printf(out, "#ifndef ROLLER_KERNEL_%s\n#define ROLLER_KERNEL_%s\n%s", op, op,
               header_types);
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        buf_printf(out, "    ROLLER_LAUNCH_%s = %d%s\n", statuses[i].name, statuses[i].status,
                   i + 1 < sizeof statuses / sizeof *statuses ? "," : "");
    buf_puts(out, "};\n#endif\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    buf_printf(out, "/* Arguments of %s:\n", op);
    describe_args(te, out);
    buf_printf(out, " */\ntypedef struct roller_%s_kernel roller_%s_kernel;\n", op, op);
    buf_printf(out, header_calls, op, op, op, op, op, op, op, op, op);
    buf_puts(out, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

void launcher_header(const Te *te, Buf *out) {
    buf_printf(out, "/* Launches %s without roller: made by roller %s, with its .c or .so.  */\n",
               te->name, ROLLER_VERSION);
    declarations(te, out);
}

/* ---- C ---- */
static void put_launcher(const RollerKernel *const *k, int n, Buf *out) {
    const Te *te = k[0]->plans->op->te;
    declarations(te, out);
    buf_printf(out, "\n#include <dlfcn.h>\n#include <stdlib.h>\n#include <string.h>\n\n"
                    "#define NAME(x) roller_%s_##x\n", te->name);
    launcher_tables(k, n, out);
    put_lines(out, launcher_c_lines);
}

void launcher_c(const RollerKernel *const *k, int n, Buf *out) {
    buf_printf(out, "/* Launches %s without roller: made by roller %s.  C11; needs libdl alone.  */"
                    "\n", k[0]->plans->op->te->name, ROLLER_VERSION);
    put_launcher(k, n, out);
}

/* ---- TVM-FFI ---- */
void launcher_tvm_ffi(const RollerKernel *const *k, int n, Buf *out) {
    const char *op = k[0]->plans->op->te->name;
    buf_printf(out, "/* %s as a module of TVM-FFI: made by roller %s.  C11 for gcc and clang.\n *\n"
                    " *   cc -std=c11 -shared -fPIC FILE.c -ldl  */\n", op, ROLLER_VERSION);
    put_launcher(k, n, out);
    buf_puts(out, "\n#include <stdarg.h>\n#include <stdatomic.h>\n#include <stdio.h>\n\n");
    buf_printf(out, "#define FFI_OP \"%s\"\n\n", op);
    put_lines(out, launcher_tvm_ffi_abi_lines);
    put_lines(out, launcher_tvm_ffi_lines);
    buf_printf(out, "\n__attribute__((visibility(\"default\")))\n"
                    "int __tvm_ffi_%s(void *self, const FfiAny *a, int32_t n, FfiAny *result);\n"
                    "int __tvm_ffi_%s(void *self, const FfiAny *a, int32_t n, FfiAny *result) {\n"
                    "    return ffi_call(self, a, n, result);\n}\n", op, op);
}

/* ---- Python ---- */
static void put_base64(const void *data, size_t len, Buf *out) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789+/";
    const unsigned char *byte = data;
    for (size_t i = 0; i < len; i += 3) {
        size_t have = len - i < 3 ? len - i : 3;
        uint32_t v = (uint32_t)byte[i] << 16;
        if (have > 1) v |= (uint32_t)byte[i + 1] << 8;
        if (have > 2) v |= byte[i + 2];
        if (i % 72 == 0) buf_putc(out, '\n');
        for (unsigned d = 0; d < 4; d++)
            buf_putc(out, d <= have ? digit[v >> (18 - 6 * d) & 63] : '=');
    }
}

static void put_images(const char *name, const RollerKernel *const *k, int n, bool cubin,
                       Buf *out) {
    buf_printf(out, "%s = [", name);
    for (int i = 0; i < n; i++) {
        const NvrtcOutput *o = &k[i]->build.nvrtc;
        buf_puts(out, i ? ", \"\"\"" : "\"\"\"");
        put_base64(cubin ? o->cubin : o->ptx, cubin ? o->cubin_len : strlen(o->ptx), out);
        buf_puts(out, "\"\"\"");
    }
    buf_puts(out, "]\n");
}

void launcher_python(const RollerKernel *const *k, int n, Buf *out) {
    buf_printf(out, "\"\"\"Launches %s without roller: made by roller %s.  Needs the CUDA driver "
                    "alone.\n\nArguments:\n", k[0]->plans->op->te->name, ROLLER_VERSION);
    describe_args(k[0]->plans->op->te, out);
    buf_puts(out, "\"\"\"\nimport base64\nimport collections\nimport ctypes\nimport json\n"
                  "import threading\n\nDESCRIPTION = json.loads(r'''");
    artefact_json(k, n, out);
    buf_puts(out, "''')\n");
    put_images("_CUBINS", k, n, true, out);
    put_images("_PTX", k, n, false, out);
    put_lines(out, launcher_python_lines);
}
