#include "workload.h"
#include "base/file.h"
#include "te/te.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CSV = 16 << 20, COLUMNS = 7 };

/* ---- rows ---- */
static char *cut(char **at, char mark) {
    char *s = *at, *end = strchr(s, mark);
    if (end) *end = 0;
    *at = end ? end + 1 : s + strlen(s);
    return s;
}

void workload_params(char *text, Workload *w) {
    while (*text && w->n_key < WORKLOAD_KEYS) {
        char *pair = cut(&text, ';');
        w->key[w->n_key] = cut(&pair, '=');
        w->word[w->n_key] = pair;
        w->value[w->n_key++] = strtoll(pair, NULL, 10);
    }
}

Status workload_read(Arena *a, Diag *d, const char *path, WorkloadSet *out) {
    char *text;
    size_t len;
    Status s = file_read(a, d, path, MAX_CSV, &text, &len);
    if (s) return s;
    int lines = 0;
    for (size_t i = 0; i < len; i++) lines += text[i] == '\n';
    *out = (WorkloadSet){.row = ARENA_ARRAY(a, Workload, lines + 1)};
    cut(&text, '\n');
    while (*text) {
        char *line = cut(&text, '\n'), *field[COLUMNS];
        if (!*line) continue;
        for (int i = 0; i < COLUMNS; i++) field[i] = cut(&line, ',');
        Workload *w = &out->row[out->n++];
        *w = (Workload){.id = field[0], .set = field[1], .op = field[2], .dtype = field[3],
                        .peers = field[6]};
        workload_params(field[4], w);
    }
    return ST_OK;
}

double workload_peer_ms(const Workload *w, const char *name) {
    size_t len = strlen(name);
    for (const char *at = w->peers; at && *at; at = strchr(at, ';')) {
        at += *at == ';';
        if (strncmp(at, name, len) == 0 && at[len] == '=' && at[len + 1] != 'n')
            return strtod(at + len + 1, NULL);
    }
    return INFINITY;
}

static int find(const Workload *w, const char *key) {
    for (int i = 0; i < w->n_key; i++)
        if (strcmp(w->key[i], key) == 0) return i;
    return -1;
}

int64_t workload_get(const Workload *w, const char *key, int64_t otherwise) {
    int i = find(w, key);
    return i < 0 ? otherwise : w->value[i];
}

static const char *word(const Workload *w, const char *key) {
    int i = find(w, key);
    return i < 0 ? "" : w->word[i];
}

static bool is(const Workload *w, const char *op) { return strcmp(w->op, op) == 0; }
static bool flag(const Workload *w, const char *key) { return workload_get(w, key, 0) != 0; }
static bool channels_last(const Workload *w) { return strcmp(word(w, "layout"), "NHWC") == 0; }

bool workload_is_contraction(const Workload *w) {
    static const char *const op[] = {"matmul",       "bmm",          "conv2d",   "dilated_conv",
                                     "grouped_conv", "depthwise",    "conv1d",   "conv3d",
                                     "capsule",      "conv_bn_relu", "transposed_conv",
                                     "gemm_bias_act"};
    for (size_t i = 0; i < sizeof op / sizeof *op; i++)
        if (is(w, op[i])) return true;
    return false;
}

/* ---- expressions ---- */
typedef struct {
    const Workload *w;
    const char *in, *out;     /* dtypes */
    Buf *b;
} Writer;

static const char *result_type(const Workload *w, const char *in) {
    if (strncmp(w->id, "GTC-", 4) == 0) return "f32";
    if (strcmp(in, "f8e4m3") == 0) return "bf16";
    TeDtype t;
    bool integers = te_dtype_parse(in, strlen(in), &t) && te_dtype_class(t) == TE_CLASS_INT;
    return integers ? te_dtype_name(te_dtype_compute(t)) : in;
}

/* param lines for the row's sizes.  */
static void params(Writer *x, const char *const *key) {
    for (; *key; key++)
        if (find(x->w, *key) >= 0)
            buf_printf(x->b, "param %s = %lld;\n", *key, (long long)workload_get(x->w, *key, 0));
}

static void activation(Writer *x, const char *name, const char *v) {
    Buf *b = x->b;
    if (strcmp(name, "relu") == 0) buf_printf(b, "max(%s, 0)", v);
    else if (strcmp(name, "silu") == 0) buf_printf(b, "%s / (1 + exp(-%s))", v, v);
    else if (strcmp(name, "gelu") == 0)
        buf_printf(b, "0.5 * %s * (1 + erf(%s * 0.70710678))", v, v);
    else if (strcmp(name, "softplus") == 0)
        buf_printf(b, "max(%s, 0) + log(1 + exp(-abs(%s)))", v, v);
    else if (strcmp(name, "hardswish") == 0)
        buf_printf(b, "%s * min(max(%s + 3, 0), 6) / 6", v, v);
    else buf_puts(b, v);
}

static void matmul_reads(Writer *x) {
    buf_printf(x->b, "%s * %s", flag(x->w, "ta") ? "A[k,m]" : "A[m,k]",
               flag(x->w, "tb") ? "B[n,k]" : "B[k,n]");
}

static void matmul(Writer *x) {
    params(x, (const char *const[]){"M", "N", "K", NULL});
    buf_printf(x->b, "op matmul(A: %s[%s], B: %s[%s]) -> C: %s[M,N] {\n  C[m,n] += ", x->in,
               flag(x->w, "ta") ? "K,M" : "M,K", x->in, flag(x->w, "tb") ? "N,K" : "K,N", x->out);
    matmul_reads(x);
    buf_puts(x->b, ";\n}\n");
}

static void bmm(Writer *x) {
    bool ta = flag(x->w, "ta"), tb = flag(x->w, "tb");
    params(x, (const char *const[]){"B", "M", "N", "K", NULL});
    buf_printf(x->b,
               "op bmm(X: %s[B,%s], Y: %s[B,%s]) -> Z: %s[B,M,N] {\n"
               "  Z[b,m,n] += X[b,%s] * Y[b,%s];\n}\n",
               x->in, ta ? "K,M" : "M,K", x->in, tb ? "N,K" : "K,N", x->out, ta ? "k,m" : "m,k",
               tb ? "n,k" : "k,n");
}

static void gemm_bias_act(Writer *x) {
    const Workload *w = x->w;
    bool bias = flag(w, "bias"), res = flag(w, "res");
    params(x, (const char *const[]){"M", "N", "K", NULL});
    buf_printf(x->b, "op gemm_bias_act(A: %s[%s], B: %s[%s]", x->in, flag(w, "ta") ? "K,M" : "M,K",
               x->in, flag(w, "tb") ? "N,K" : "K,N");
    if (bias) buf_printf(x->b, ", bias: %s[N]", x->out);
    if (res) buf_printf(x->b, ", R: %s[M,N]", x->out);
    buf_printf(x->b, ") -> Y: %s[M,N] {\n  t[m,n] += ", x->out);
    matmul_reads(x);
    buf_printf(x->b, ";\n  u[m,n] = t[m,n]%s%s;\n  Y[m,n] = ", bias ? " + bias[n]" : "",
               res ? " + R[m,n]" : "");
    activation(x, word(w, "act"), "u[m,n]");
    buf_puts(x->b, ";\n}\n");
}

/* One spatial axis of a convolution.  */
typedef struct {
    const char *in, *filter, *out;        /* sizes */
    const char *i, *f, *o;                /* their indices; i is unused by a forward convolution */
} SpatialAxis;
static const SpatialAxis axis_d = {"D", "T", "O", "d", "t", "o"};
static const SpatialAxis axis_h = {"H", "R", "P", "h", "r", "p"};
static const SpatialAxis axis_w = {"W", "S", "Q", "w", "s", "q"};

typedef struct {
    const SpatialAxis *axis[3];
    int n;
    bool last, grouped, depthwise, transposed, pads;
    Buf x_shape, k_shape, y_shape, x_at, k_at, y_at;
} Conv;

static void put(Buf *shape, Buf *at, const char *size, const char *index) {
    if (shape->len) buf_putc(shape, ',');
    if (at->len) buf_putc(at, ',');
    buf_puts(shape, size);
    buf_puts(at, index);
}

static void input_index(const Conv *c, const SpatialAxis *s, Buf *out) {
    if (c->transposed) buf_printf(out, "(%s+pad-%s*dil)/stride", s->o, s->f);
    else buf_printf(out, "%s*stride+%s*dil%s", s->o, s->f, c->pads ? "-pad" : "");
}

static void spatial(Conv *c, Arena *a) {
    for (int i = 0; i < c->n; i++) {
        Buf at = buf_new(a);
        input_index(c, c->axis[i], &at);
        put(&c->x_shape, &c->x_at, c->axis[i]->in, buf_str(&at));
        put(&c->y_shape, &c->y_at, c->axis[i]->out, c->axis[i]->o);
    }
}

static void channels(Conv *c) {
    if (c->depthwise) {
        put(&c->x_shape, &c->x_at, "C", "c");
        put(&c->y_shape, &c->y_at, "C", "c");
        return;
    }
    if (c->grouped) {
        put(&c->x_shape, &c->x_at, "G", "g");
        put(&c->y_shape, &c->y_at, "G", "g");
    }
    put(&c->x_shape, &c->x_at, c->grouped ? "C/G" : "C", "c");
    put(&c->y_shape, &c->y_at, c->grouped ? "F/G" : "F", "f");
}

static void filter_window(Conv *c) {
    for (int i = 0; i < c->n; i++) put(&c->k_shape, &c->k_at, c->axis[i]->filter, c->axis[i]->f);
}

static void filter(Conv *c) {
    const char *per = c->grouped ? "C/G" : "C", *each = c->grouped ? "F/G" : "F";
    if (c->depthwise) {
        if (c->last) filter_window(c);
        put(&c->k_shape, &c->k_at, "C", "c");
        if (!c->last) filter_window(c);
        return;
    }
    if (c->last) {
        filter_window(c);
        put(&c->k_shape, &c->k_at, per, "c");
    }
    if (c->grouped) put(&c->k_shape, &c->k_at, "G", "g");
    put(&c->k_shape, &c->k_at, each, "f");
    if (!c->last) {
        put(&c->k_shape, &c->k_at, per, "c");
        filter_window(c);
    }
}

static Conv conv_of(Writer *x) {
    const Workload *w = x->w;
    Arena *a = x->b->arena;
    int64_t groups = workload_get(w, "groups", 1);
    Conv c = {.last = channels_last(w),
              .depthwise = is(w, "depthwise"),
              .transposed = is(w, "transposed_conv"),
              .pads = workload_get(w, "pad", 0) > 0};
    c.grouped = groups > 1 && !c.depthwise;
    if (is(w, "conv3d")) c.axis[c.n++] = &axis_d;
    if (!is(w, "conv1d")) c.axis[c.n++] = &axis_h;
    c.axis[c.n++] = &axis_w;
    c.x_shape = c.k_shape = c.y_shape = c.x_at = c.k_at = c.y_at = buf_new(a);
    put(&c.x_shape, &c.x_at, "N", "n");
    put(&c.y_shape, &c.y_at, "N", "n");
    if (!c.last) channels(&c);
    spatial(&c, a);
    if (c.last) channels(&c);
    filter(&c);
    return c;
}

static void conv_sizes(Writer *x, const Conv *c) {
    params(x, (const char *const[]){"N", "C", "D", "H", "W", "F", "T", "R", "S", "stride", "pad",
                                    "dil", "opad", "F1", NULL});
    if (c->grouped)
        buf_printf(x->b, "param G = %lld;\n", (long long)workload_get(x->w, "groups", 1));
    for (int i = 0; i < c->n; i++) {
        const SpatialAxis *s = c->axis[i];
        if (c->transposed)
            buf_printf(x->b, "let %s = (%s - 1) * stride - 2 * pad + dil * (%s - 1) + opad + 1;\n",
                       s->out, s->in, s->filter);
        else
            buf_printf(x->b, "let %s = (%s + 2 * pad - dil * (%s - 1) - 1) / stride + 1;\n",
                       s->out, s->in, s->filter);
    }
}

/* X[...] * K[...] with the padding that the kind of convolution needs.  */
static void conv_body(Writer *x, Conv *c) {
    if (c->transposed) {
        buf_puts(x->b, "(");
        for (int i = 0; i < c->n; i++)
            buf_printf(x->b, "%s(%s+pad-%s*dil) %% stride == 0", i ? " && " : "", c->axis[i]->o,
                       c->axis[i]->f);
        buf_printf(x->b, " ? (X[%s] else 0) : 0)", buf_str(&c->x_at));
    } else {
        buf_printf(x->b, c->pads ? "(X[%s] else 0)" : "X[%s]", buf_str(&c->x_at));
    }
    buf_printf(x->b, " * K[%s]", buf_str(&c->k_at));
}

static void conv(Writer *x) {
    Conv c = conv_of(x);
    conv_sizes(x, &c);
    buf_printf(x->b, "op conv(X: %s[%s], K: %s[%s]) -> Y: %s[%s] {\n  Y[%s] += ", x->in,
               buf_str(&c.x_shape), x->in, buf_str(&c.k_shape), x->out, buf_str(&c.y_shape),
               buf_str(&c.y_at));
    conv_body(x, &c);
    buf_puts(x->b, ";\n}\n");
}

static void conv_bn_relu(Writer *x) {
    Conv c = conv_of(x);
    bool bn = flag(x->w, "bn"), bias = flag(x->w, "bias");
    const char *y = buf_str(&c.y_at);
    conv_sizes(x, &c);
    buf_printf(x->b, "op conv_bn_relu(X: %s[%s], K: %s[%s]", x->in, buf_str(&c.x_shape), x->in,
               buf_str(&c.k_shape));
    if (bn) buf_printf(x->b, ", scale: %s[F], shift: %s[F]", x->out, x->out);
    if (bias) buf_printf(x->b, ", bias: %s[F]", x->out);
    buf_printf(x->b, ") -> Y: %s[%s] {\n  t[%s] += ", x->out, buf_str(&c.y_shape), y);
    conv_body(x, &c);
    buf_printf(x->b, ";\n  Y[%s] = max(t[%s]%s%s, 0);\n}\n", y, y,
               bn ? " * scale[f] + shift[f]" : "", bias ? " + bias[f]" : "");
}

static void capsule(Writer *x) {
    params(x, (const char *const[]){"N", "C", "H", "W", "F", "R", "S", "stride", "pad", "CAP",
                                    NULL});
    buf_printf(x->b,
               "let P = (H + 2 * pad - R) / stride + 1;\nlet Q = (W + 2 * pad - S) / stride + 1;\n"
               "op capsule(X: %s[N,H,W,CAP,CAP,C], K: %s[R,S,CAP,CAP,C,F]) -> "
               "Y: %s[N,P,Q,CAP,CAP,F] {\n"
               "  Y[n,p,q,i,j,f] += (X[n,p*stride+r-pad,q*stride+s-pad,i,k,c] else 0) * "
               "K[r,s,k,j,c,f];\n}\n",
               x->in, x->in, x->out);
}

/* What lies between two products has the operands' type, as in the pairs that Bolt and CUTLASS's
 * example 13 run; i8 saturates.  */
static void narrowed(Writer *x, const char *act, const char *v) {
    bool saturates = strcmp(x->in, "i8") == 0;
    buf_printf(x->b, saturates ? "%s(min(" : "%s(", x->in);
    activation(x, act, v);
    buf_puts(x->b, saturates ? ", 127))" : ")");
}

static void b2b_gemm(Writer *x) {
    const char *act = word(x->w, "act");
    bool bias = flag(x->w, "bias"), is_conv = find(x->w, "R") >= 0;
    const char *y = "m", *last = "z";
    if (is_conv) {
        Conv c = conv_of(x);
        conv_sizes(x, &c);
        buf_printf(x->b, "op conv_pair(X: %s[%s], K: %s[%s], L: %s[F,F1]", x->in,
                   buf_str(&c.x_shape), x->in, buf_str(&c.k_shape), x->in);
        if (bias) buf_printf(x->b, ", bias: %s[F], bias1: %s[F1]", x->out, x->out);
        buf_printf(x->b, ") -> Y: %s[N,P,Q,F1] {\n  t[n,p,q,f] += ", x->out);
        conv_body(x, &c);
        y = "n,p,q";
    } else {
        params(x, (const char *const[]){"M", "N0", "K0", "N1", NULL});
        buf_printf(x->b, "op gemm_pair(A: %s[M,K0], B: %s[K0,N0], L: %s[N0,N1]", x->in, x->in,
                   x->in);
        if (bias) buf_printf(x->b, ", bias: %s[N0], bias1: %s[N1]", x->out, x->out);
        buf_printf(x->b, ") -> Y: %s[M,N1] {\n  t[m,f] += A[m,k] * B[k,f]", x->out);
    }
    buf_printf(x->b, ";\n  u[%s,f] = t[%s,f]%s;\n  v[%s,f] = ", y, y, bias ? " + bias[f]" : "", y);
    narrowed(x, act, arena_printf(x->b->arena, "u[%s,f]", y));
    buf_printf(x->b, ";\n  w[%s,%s] += v[%s,f] * L[f,%s];\n  a[%s,%s] = w[%s,%s]%s;\n  Y[%s,%s] = ",
               y, last, y, last, y, last, y, last, bias ? " + bias1[z]" : "", y, last);
    activation(x, act, arena_printf(x->b->arena, "a[%s,%s]", y, last));
    buf_puts(x->b, ";\n}\n");
}

static void attention_scores(Writer *x) {
    bool softmax = flag(x->w, "softmax");
    params(x, (const char *const[]){"B", "L", "HEADS", "D", NULL});
    buf_printf(x->b,
               "op scores(Q: %s[B,L,HEADS,D], K: %s[B,L,HEADS,D]) -> S: %s[B,HEADS,L,L] {\n"
               "  %s[b,h,i,j] = sum[d](Q[b,i,h,d] * K[b,j,h,d]);\n",
               x->in, x->in, x->out, softmax ? "t" : "S");
    if (softmax)
        buf_puts(x->b, "  u[b,h,i,j] = t[b,h,i,j] / sqrt(f32(D));\n"
                       "  m[b,h,i] = max[j](u[b,h,i,j]);\n"
                       "  z[b,h,i] = sum[j](exp(u[b,h,i,j] - m[b,h,i]));\n"
                       "  S[b,h,i,j] = exp(u[b,h,i,j] - m[b,h,i]) / z[b,h,i];\n");
    buf_puts(x->b, "}\n");
}

static void elementwise(Writer *x) {
    const char *fn = word(x->w, "fn");
    if (strcmp(fn, "rope") == 0) {
        params(x, (const char *const[]){"T", "HEADS", "D", NULL});
        buf_printf(x->b,
                   "op rope(X: %s[T,HEADS,D], c: %s[T,D/2], s: %s[T,D/2]) -> Y: %s[T,HEADS,D] {\n"
                   "  Y[t,h,d] = d < D/2 ? X[t,h,d] * c[t,d] - X[t,h,d+D/2] * s[t,d]\n"
                   "    : X[t,h,d] * c[t,d-D/2] + X[t,h,d-D/2] * s[t,d-D/2];\n}\n",
                   x->in, x->in, x->in, x->in);
        return;
    }
    params(x, (const char *const[]){"SIZE", NULL});
    if (strcmp(fn, "relu") == 0)
        buf_printf(x->b, "op relu(X: %s[SIZE]) -> Y: %s[SIZE] { Y[i] = max(X[i], 0); }\n", x->in,
                   x->in);
    else
        buf_printf(x->b,
                   "op silu_mul(X: %s[SIZE], Z: %s[SIZE]) -> Y: %s[SIZE] {\n"
                   "  Y[i] = X[i] / (1 + exp(-X[i])) * Z[i];\n}\n",
                   x->in, x->in, x->in);
}

static void pool(Writer *x) {
    bool last = channels_last(x->w), maximum = is(x->w, "maxpool");
    params(x, (const char *const[]){"N", "C", "H", "W", "R", "S", "stride", "pad", NULL});
    const char *in = last ? "N,H,W,C" : "N,C,H,W", *out = last ? "N,P,Q,C" : "N,C,P,Q";
    const char *at = last ? "n,p,q,c" : "n,c,p,q";
    const char *read = last ? "X[n,p*stride+r-pad,q*stride+s-pad,c]"
                            : "X[n,c,p*stride+r-pad,q*stride+s-pad]";
    buf_puts(x->b, "let P = (H + 2 * pad - R) / stride + 1;\n"
                   "let Q = (W + 2 * pad - S) / stride + 1;\n");
    buf_printf(x->b, "op %s(X: %s[%s]) -> Y: %s[%s] {\n  ", x->w->op, x->in, in, x->in, out);
    if (maximum)
        buf_printf(x->b, "Y[%s] max= %s else -inf where r in R, s in S;\n}\n", at, read);
    else
        buf_printf(x->b, "Y[%s] = sum[r,s](%s else 0) / f32(R*S) where r in R, s in S;\n}\n", at,
                   read);
}

static void reduce_sum(Writer *x) {
    params(x, (const char *const[]){"OUTER", "RED", "INNER", NULL});
    buf_printf(x->b,
               "op reduce_sum(X: %s[OUTER,RED,INNER]) -> Y: %s[OUTER,INNER] {\n"
               "  Y[o,i] += X[o,r,i];\n}\n",
               x->in, x->out);
}

static void norm(Writer *x) {
    params(x, (const char *const[]){"B", "M", "N", NULL});
    buf_printf(x->b, "op norm(X: %s[B,M,N]) -> Y: %s[B] {\n"
                     "  Y[b] = sqrt(sum[i,j](X[b,i,j] * X[b,i,j]));\n}\n", x->in, x->out);
}

static void softmax(Writer *x) {
    params(x, (const char *const[]){"ROWS", "COLS", NULL});
    buf_printf(x->b,
               "op softmax(X: %s[ROWS,COLS]) -> Y: %s[ROWS,COLS] {\n"
               "  m[n] = max[c](X[n,c]);\n  z[n] = sum[c](exp(X[n,c] - m[n]));\n"
               "  Y[n,c] = exp(X[n,c] - m[n]) / z[n];\n}\n",
               x->in, x->out);
}

static void layernorm(Writer *x) {
    bool affine = flag(x->w, "affine");
    params(x, (const char *const[]){"ROWS", "COLS", NULL});
    buf_printf(x->b, "op layernorm(X: %s[ROWS,COLS]", x->in);
    if (affine) buf_printf(x->b, ", g: %s[COLS], b: %s[COLS]", x->in, x->in);
    buf_printf(x->b,
               ", eps: f32) -> Y: %s[ROWS,COLS] {\n  mu[n] = sum[c](X[n,c]) / COLS;\n"
               "  v[n] = sum[c]((X[n,c] - mu[n]) * (X[n,c] - mu[n])) / COLS;\n"
               "  Y[n,c] = (X[n,c] - mu[n]) * rsqrt(v[n] + eps)%s;\n}\n",
               x->out, affine ? " * g[c] + b[c]" : "");
}

static void rmsnorm(Writer *x) {
    bool res = flag(x->w, "res");
    params(x, (const char *const[]){"ROWS", "COLS", NULL});
    if (res)
        buf_printf(x->b,
                   "op rmsnorm(X: %s[ROWS,COLS], R: %s[ROWS,COLS], g: %s[COLS], eps: f32) -> "
                   "(Z: %s[ROWS,COLS], Y: %s[ROWS,COLS]) {\n  Z[n,c] = X[n,c] + R[n,c];\n"
                   "  v[n] = sum[c](Z[n,c] * Z[n,c]) / COLS;\n"
                   "  Y[n,c] = Z[n,c] * rsqrt(v[n] + eps) * g[c];\n}\n",
                   x->in, x->in, x->in, x->out, x->out);
    else
        buf_printf(x->b,
                   "op rmsnorm(X: %s[ROWS,COLS], g: %s[COLS], eps: f32) -> Y: %s[ROWS,COLS] {\n"
                   "  v[n] = sum[c](X[n,c] * X[n,c]) / COLS;\n"
                   "  Y[n,c] = X[n,c] * rsqrt(v[n] + eps) * g[c];\n}\n",
                   x->in, x->in, x->out);
}

static void transpose(Writer *x) {
    int rank = (int)workload_get(x->w, "RANK", 2);
    Buf in = buf_new(x->b->arena), out = in, from = in, to = in;
    for (int i = 0; i < rank; i++) {
        char key[8] = {'D', (char)('0' + i), 0}, perm[8] = {'P', (char)('0' + i), 0};
        int64_t p = workload_get(x->w, perm, i);
        buf_printf(x->b, "param %s = %lld;\n", key, (long long)workload_get(x->w, key, 1));
        buf_printf(&in, "%sD%d", i ? "," : "", i);
        buf_printf(&from, "%si%d", i ? "," : "", i);
        buf_printf(&out, "%sD%lld", i ? "," : "", (long long)p);
        buf_printf(&to, "%si%lld", i ? "," : "", (long long)p);
    }
    buf_printf(x->b, "op transpose(X: %s[%s]) -> Y: %s[%s] { Y[%s] = X[%s]; }\n", x->in,
               buf_str(&in), x->in, buf_str(&out), buf_str(&to), buf_str(&from));
}

bool workload_te(const Workload *w, const char *dtype, Buf *out) {
    static const struct {
        const char *op;
        void (*write)(Writer *x);
    } rule[] = {{"matmul", matmul},
                {"bmm", bmm},
                {"gemm_bias_act", gemm_bias_act},
                {"conv1d", conv},
                {"conv2d", conv},
                {"conv3d", conv},
                {"dilated_conv", conv},
                {"grouped_conv", conv},
                {"depthwise", conv},
                {"transposed_conv", conv},
                {"conv_bn_relu", conv_bn_relu},
                {"capsule", capsule},
                {"b2b_gemm", b2b_gemm},
                {"attention_scores", attention_scores},
                {"elementwise", elementwise},
                {"avgpool", pool},
                {"maxpool", pool},
                {"reduce_sum", reduce_sum},
                {"norm", norm},
                {"softmax", softmax},
                {"layernorm", layernorm},
                {"rmsnorm", rmsnorm},
                {"transpose", transpose}};
    Writer x = {.w = w, .in = dtype ? dtype : w->dtype, .b = out};
    x.out = result_type(w, x.in);
    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++) {
        if (!is(w, rule[i].op)) continue;
        rule[i].write(&x);
        return true;
    }
    return false;
}
