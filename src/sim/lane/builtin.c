/* vprintf and __assertfail.  */
#include "sim/lane/builtin.h"
#include "sim/state/memory.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- what the call passes ---- */

static unsigned char *variable(SimLane by, int64_t at) {
    const SimBuiltinCall *c = by.i->extra;
    int64_t base = c->base == SLOT_NONE ? 0 : sim_u32(by.w, c->base)[by.lane];
    return by.w->local + by.lane * by.w->local_bytes + base + at;
}

static uint64_t argument(SimLane by, int k, size_t bytes) {
    const SimBuiltinCall *c = by.i->extra;
    uint64_t v = 0;
    memcpy(&v, variable(by, c->in[k]), bytes);
    return v;
}

/* ---- memory ---- */

/* Bytes at a generic address; NULL after a fault.  */
static const unsigned char *generic(SimLane by, uint64_t at, uint32_t bytes) {
    uint32_t offset;
    SimBlock *b;
    switch (sim_classify(at)) {
    case SPACE_SHARED:
        b = sim_shared(by, (uint32_t)at, bytes, 1, &offset);
        return b ? b->smem + offset : NULL;
    case SPACE_LOCAL: return sim_local(by, at & 0xffffffffu, bytes, 1);
    case SPACE_PARAM: return sim_param(by, at & 0xffffffffu, bytes, 1);
    default: return sim_global(by, at, bytes, 1, false);
    }
}

/* The text that ends with a zero; NULL after a fault.  */
static const char *text_at(SimLane by, uint64_t at) {
    Buf b = buf_new(by.w->block->cluster->arena);
    for (;; at++) {
        const unsigned char *c = generic(by, at, 1);
        if (!c) return NULL;
        if (*c == 0) return buf_str(&b);
        buf_putc(&b, (char)*c);
    }
}

/* ---- printf ---- */

typedef struct {
    SimLane by;
    uint64_t at;              /* the next argument */
    bool failed;
    Buf *out;
    int printed;              /* arguments */
} Printer;

/* The next argument, which is as aligned as it is long; 0 after a fault.  */
static uint64_t next(Printer *p, uint32_t bytes) {
    uint64_t v = 0;
    p->at = (p->at + bytes - 1) / bytes * bytes;
    const unsigned char *from = p->failed ? NULL : generic(p->by, p->at, bytes);
    p->failed = !from;
    if (from) memcpy(&v, from, bytes);
    p->at += bytes;
    return v;
}

/* The largest precision and width: no number needs more.  */
static int small(uint64_t v) {
    int64_t n = (int32_t)(uint32_t)v;
    return (int)(n > 1000 ? 1000 : n < -1000 ? -1000 : n);
}

/* * or digits, copied to the host's format.  */
static const char *number(Printer *p, const char *s, Buf *spec) {
    if (*s == '*') {
        buf_printf(spec, "%d", small(next(p, 4)));
        p->printed++;
        return s + 1;
    }
    int v = 0;
    const char *from = s;
    for (; *s >= '0' && *s <= '9'; s++) v = v < 1000 ? v * 10 + (*s - '0') : v;
    if (s > from) buf_printf(spec, "%d", v < 1000 ? v : 1000);
    return s;
}

static void put_number(Printer *p, Buf *spec, char conversion, bool wide, int narrow) {
    char text[2048];
    if (strchr("di", conversion)) {
        uint64_t bits = next(p, wide ? 8 : 4);
        int64_t v = wide ? (int64_t)bits : (int32_t)(uint32_t)bits;
        v = narrow == 1 ? (int16_t)v : narrow == 2 ? (int8_t)v : v;
        buf_puts(spec, PRId64);
        snprintf(text, sizeof text, buf_str(spec), v);
    } else if (strchr("uoxX", conversion)) {
        uint64_t v = next(p, wide ? 8 : 4);
        v = narrow == 1 ? (uint16_t)v : narrow == 2 ? (uint8_t)v : v;
        buf_puts(spec, conversion == 'u'   ? PRIu64
                       : conversion == 'o' ? PRIo64
                       : conversion == 'x' ? PRIx64
                                           : PRIX64);
        snprintf(text, sizeof text, buf_str(spec), v);
    } else {
        uint64_t bits = next(p, 8);
        double v;
        memcpy(&v, &bits, sizeof v);
        buf_putc(spec, conversion);
        snprintf(text, sizeof text, buf_str(spec), v);
    }
    buf_puts(p->out, text);
}

static void put_text(Printer *p, Buf *spec, char conversion) {
    char text[1024] = {0};
    if (conversion == 'c') {
        buf_putc(spec, 'c');
        int c = (unsigned char)next(p, 4);
        int n = snprintf(text, sizeof text, buf_str(spec), c);
        buf_add(p->out, text, n > 0 ? (size_t)n : 0);
        return;
    }
    uint64_t at = next(p, 8);
    if (conversion == 'p') {
        buf_puts(spec, "s");
        char address[32];
        snprintf(address, sizeof address, "0x%" PRIx64, at);
        snprintf(text, sizeof text, buf_str(spec), address);
        buf_puts(p->out, text);
        return;
    }
    const char *s = p->failed ? NULL : at ? text_at(p->by, at) : "(null)";
    p->failed = !s;
    buf_putc(spec, 's');
    if (!s) return;
    size_t n = strlen(s) + 1024;
    char *wide = arena_alloc(p->by.w->block->cluster->arena, n);
    snprintf(wide, n, buf_str(spec), s);
    buf_puts(p->out, wide);
}

/* After the '%'.  What is no conversion is printed as it is.  */
static const char *conversion(Printer *p, const char *s) {
    const char *from = s;
    Buf spec = buf_new(p->by.w->block->cluster->arena);
    buf_putc(&spec, '%');
    for (int n = 0; *s && strchr("-+ #0", *s); s++, n++) {
        if (n < 8) buf_putc(&spec, *s);
    }
    s = number(p, s, &spec);
    if (*s == '.') {
        buf_putc(&spec, '.');
        s = number(p, s + 1, &spec);
    }
    int longs = 0, shorts = 0;
    for (; *s && strchr("hlLjzt", *s); s++) {
        if (*s == 'h') shorts++;
        else longs++;
    }
    if (*s && strchr("diuoxX", *s)) put_number(p, &spec, *s, longs > 0, shorts);
    else if (*s && strchr("eEfFgGaA", *s)) put_number(p, &spec, *s, true, 0);
    else if (*s && strchr("csp", *s)) put_text(p, &spec, *s);
    else {
        buf_putc(p->out, '%');
        if (*from == '%') return from + 1;
        return from;
    }
    p->printed++;
    return s + 1;
}

/* vprintf(format, arguments)  */
static void exec_vprintf(SimWarp *w, const SimInst *i, uint32_t active) {
    const SimBuiltinCall *c = i->extra;
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        Printer p = {.by = by, .at = argument(by, 1, 8), .out = &w->block->printed};
        const char *s = text_at(by, argument(by, 0, 8));
        while (s && *s && !p.failed) {
            if (*s == '%') s = conversion(&p, s + 1);
            else buf_putc(p.out, *s++);
        }
        if (!s || p.failed) return;
        if (c->out >= 0) memcpy(variable(by, c->out), &p.printed, 4);
    }
}

/* __assertfail(message, file, line, function, size of a character)  */
static void exec_assertfail(SimWarp *w, const SimInst *i, uint32_t active) {
    SimLane by = sim_lane(w, i, sim_first_lane(active));
    const char *message = text_at(by, argument(by, 0, 8));
    const char *file = message ? text_at(by, argument(by, 1, 8)) : NULL;
    const char *function = file ? text_at(by, argument(by, 3, 8)) : NULL;
    if (!function) return;
    sim_fault(by, SIM_ASSERT, "%s:%u: %s: `%s`", file, (unsigned)argument(by, 2, 4), function,
              message);
}

/*      name            bytes of its parameters, of its result */
static const struct {
    const char *name;
    int in[SIM_BUILTIN_PARAMS + 1], out;
    SimExec *exec;
} builtins[] = {
    {"vprintf", {8, 8}, 4, exec_vprintf},
    {"__assertfail", {8, 8, 4, 8, 8}, 0, exec_assertfail},
};

SimExec *sim_builtin(const PtxFunc *f) {
    for (size_t k = 0; k < sizeof builtins / sizeof *builtins; k++) {
        if (strcmp(f->name, builtins[k].name)) continue;
        int n = 0;
        while (n < f->n_param && builtins[k].in[n] == f->param[n]->bytes) n++;
        bool out = builtins[k].out ? f->n_result == 1 && f->result[0]->bytes == builtins[k].out
                                   : f->n_result == 0;
        return out && n == f->n_param && !builtins[k].in[n] ? builtins[k].exec : NULL;
    }
    return NULL;
}
