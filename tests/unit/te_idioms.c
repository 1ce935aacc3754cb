/* links: base */
#include "te_idioms.h"

#include <ctype.h>
#include <string.h>

/* {a~b~c} is one of them; $x, for a small letter, one that is the same wherever it stands; $X is a
 * sentence of its own, chosen anew each time.  */
static const struct {
    char name;
    const char *text;
} one_each[] = {
    {'t', "{f32~i32~f16~f64~i8~bf16~i64~u8~f8e5m2}"},
    {'o', "{f32~f64~f16~bf16~f32~i64}"},
    {'s', "{2~3~4}"},
    {'c', "{0~1~2~3}"},
    {'r', "{sum~max~min~prod}"},
    {'p', "{~ @tf32~ @fast~ @accum(f64)~ @accum(f16)}"},
    {'n', "{15~15.0~f32(15)~14~f16(15)}"},
    {'e', "{0~7~6~1}"},
    {'h', "{f32~bf16~f16~f64}"},
    {'b', "{~ @type(bf16)~ @type(f16)~ @type(f8e4m3)~ @type(f32)}"},
    {'f', "{exp~exp2~exp}"},
    {'g', "{log~log2~log}"},
    {'y', "{s[b,i,j]~j <= i ? s[b,i,j] : -inf~j < N[b] && j >= i - 1 ? s[b,i,j] : -inf~"
          "j > i ? -inf : s[b,i,j] * 0.5~s[b,i,j] + W[b,i] * (j - i)~tanh(s[b,i,j])~"
          "s[b,i,j] + (j <= i ? 0 : -1e9)~N[j%2] > 0 ? s[b,i,j] : -inf}"},
    {'x', "{X[n,c,d]~X[n,c,d]~X[n,c,d] * X[n,c,d]~abs(X[n,c,d])~X[n,c,d] / 3~i64(X[n,c,d])}"},
};
static const struct {
    char name;
    const char *text;
} anew[] = {
    {'Z', "{0~0.0~-0.0~1~-inf~inf}"},
    {'D', "{Z[n,r] > 0~X[n,r] < Z[n,r]~Z[n,0] == 0}"},
    {'I', "{r % 2 == 0~r > 1~i < 5~r + n < 7}"},
    {'O', "{r <= i~r < i~i <= r~r > i~i - r >= 0~r - 1 < i~!(i < r)~r < i + 2~"
          "r <= i - 2~r + 3 > i}"},
    {'M', "{$O~$O && $I~$O && $D~$D && $O~$O || $D~$I && ($D && $O)}"},
    {'F', "{1~0~X[n,r]~Z[n,r]~2.5~-1}"},
    {'T', "{($M ? $F : $Z) * X[n,r]~X[n,r] * ($M ? $Z : $F)~$M ? X[n,r] : $Z~"
          "($D ? ($O ? $F : 0) : 0) * X[n,r]~($O ? ($D ? $F : 0) : 0) * X[n,r]~"
          "$D ? ($M ? X[n,r] : $Z) : $Z~(X[n,i-r] else $Z)~(X[n,i-r-1] else $Z) * Z[n,r]~"
          "(X[n,i+r] else $Z)~-(($O ? 1 : 0) * X[n,r])~Z[n,r] * (($M ? 1 : 0) * X[n,r])~"
          "f32($O) * X[n,r]~($O ? 1 : 0) * (X[n,r] + Z[n,r])}"},
    {'U', "{X[i]~Z[i]~(-X[i])~X[i] + $Z~X[i] - $Z~$Z - X[i]~X[i] * $W~X[i] / $W~-1 * X[i]~"
          "(X[i] - -Z[i])~(X[i] + -Z[i])~(-X[i] + Z[i])~-(-X[i])~pow(X[i], {2~1~0.5~3})~"
          "pow(2, X[i])~$t(X[i])~(X[i] > $Z ? X[i] : Z[i])~(1 < 2 ? X[i] : 3)~abs(X[i] + 0.0)~"
          "max(X[i] + 0.0, Z[i])~(1 / 3) * X[i]~i + X[i]~(i < 9 ? X[i] : 0) * Z[i]~"
          "({J[i]~1} + 2147483647)~J[i] * (1 - 1)~(5 / 2) * X[i]}"},
    {'W', "{1~1.0~-1~2~0.0~-0.0~(0.5 * 2)~(1 - 1)~0.1}"},
    {'V', "{$U~$U + 0.0~1 / ($U + 0.0)~exp($U + 0.0)~max($U + 0.0, $U)~rsqrt(0.0 + $U)~"
          "abs($U) + 0~($U + 0.0) * $U~cos($U + 0.0)~erf($U)~$U == $U + 0.0 ? 1 : 2~"
          "sqrt($U + 0.0) + 0.0~tanh($U + 0.0)~exp(1 / ($U + 0.0))~max(1 / (0.0 + $U), $U)~"
          "exp(rsqrt(X[i] + 0.0))~exp2(pow(X[i] + 0.0, -1))~max($U, -0.0 + $U)}"},
    {'Q', "{(p + $c - r) % $s == 0~(p + $c - r) % $s == 1~0 == (p - r + $c) % $s~"
          "(p + $c - $s * r) % $s == 0}"},
    {'C', "{~~ && K[r] > 0~ && X[0] < 1~ && r > 0~ && p < 5}"},
    {'X', "{(X[(p+$c-r)/$s] else $Z)~(X[(p+$c-r)/$s] else 0)~1~K[r]~X[0]}"},
    {'P', "{($Q$C ? $X : {0~0~-0.0}) * K[r]~K[r] * ($Q$C ? $X : 0)~$Q$C ? $X * K[r] : $Z~"
          "-($Q$C ? $X : 0) * K[r]~(K[r] > 0 ? ($Q ? $X : 0) : 0) * K[r]~"
          "($Q ? (K[r] > 0 ? $X : 0) : 0) * K[r]~f16($Q ? 1 : 0) * K[r]}"},
    {'G', "{i < 1 ? $Z : t[i-1]~t[i-1] else $Z~i == 0 ? $Z : t[i-1]~i == 4 ? $Z : t[i+1]~"
          "t[i+1] else $Z~t[4-i]~t[i]}"},
    {'E', "{O[b,i,e] = sum[j]($f(t[b,i,j] - m[b,i]) * V[b,j,e])$p / z[b,i];~"
          "p[b,i,j] = {$f(t[b,i,j] - m[b,i])~(j < N[b] ? $f(t[b,i,j] - m[b,i]) : 0)} / {z[b,i]~"
          "y[b,i]}$b; O[b,i,e] = sum[j](p[b,i,j] * V[b,j,e]);~"
          "p[b,i,j] = $f(t[b,i,j] - l[b,i])$b; O[b,i,e] = sum[j](V[b,j,e] * p[b,i,j]);~"
          "O[b,i,e] = sum[j](f16($f(t[b,i,j] - m[b,i] - $g(z[b,i]))) * V[b,j,e]);~"
          "p[b,i,j] = $f(t[b,i,j] - m[b,i])$b; O[b,i,e] = sum[j](p[b,i,j] * V[b,j,e]) / z[b,i];~"
          "p[b,i,j] = $f(t[b,i,j] - m[b,i]) {* r[b,i]~* (1 / z[b,i])~* W[b,i]~/ W[b,i]}$b;"
          " O[b,i,e] = sum[j](p[b,i,j] * V[b,j,e]);~"
          "O[b,i,e] = sum[j]((N[b] > j ? $f(t[b,i,j] - m[b,i]) / z[b,i] : 0) * V[b,j,e]);}"},
    {'A', "{r <= i ? X[r] : $Z~r >= i ? X[r] : $Z~(r <= i ? 1 : 0) * X[r]~r <= i ? X[4-r] : 0}"},
};

/* The arguments, the results, the statements.  */
static const char *const sentence[][3] = {
    /* maps */
    {"X: $t[9], Z: $t[9], J: i32[9]", "Y: $o[9]", "Y[i] = $V;"},
    {"X: $t[9], Z: $t[9], J: i32[9]", "Y: $o[9]", "Y[i] = $r[k]($V) where k in {3~1~0};"},
    {"X: $t[9], Z: $t[9], J: i32[9]", "(Y: $o[9], A: $o[9])",
     "t[i] = $V {~@type(f16)}; A[i] = t[i] + $U; Y[i] = $V + t[i];"},
    /* reductions in expressions, nested, equal, over nothing or one */
    {"X: $t[4,$e], Z: $t[4,$e]", "Y: $o[4]",
     "Y[i] = $r[k](X[i,k]) {+~*~-} $r[k](X[i,k]) / sum[k](Z[i,k]);"},
    {"X: $t[4,$e], Z: $t[4,$e]", "Y: $o[4]", "Y[i] = $r[k](X[i,k] * Z[i,k])$p;"},
    {"X: $t[4,$e], Z: $t[4,$e]", "(Y: $o[4], A: $o[4])",
     "Y[i] = sum[k](X[i,k])$p; A[i] = sum[k](X[i,k])$p;"},
    {"X: $t[3,4,5]", "Y: $o[3]", "Y[i] = $r[j]($r[k](X[i,j,k]));"},
    {"X: $t[6,5]", "Y: $o[6]", "Y[i] = $r[k](X[i,k] {* 2~- 1~}) where k in 1:4;"},
    /* scans */
    {"X: $t[2,7], Z: $t[2,7]", "Y: $o[2,7]", "Y[n,i] = $r[r]($T) where r in 7;"},
    {"X: $t[2,7], Z: $t[2,7]", "Y: $o[2,7]", "Y[n,i] = sum[r]($T) where r in 7;"},
    {"X: $t[2,7], Z: $t[2,7]", "Y: bool[2,7]",
     "Y[n,i] = {any[r]($M && X[n,r] > 0)~all[r](!($O) || $D)~any[r]($D && $O)} where r in 7;"},
    {"X: $t[2,7], Z: $t[2,7]", "Y: i32[2,7]",
     "Y[n,i] = {argmax~argmin}[r]($O ? X[n,r] : $Z) where r in 7;"},
    {"X: $t[2,7], Z: $t[2,7]", "Y: $o[2,7]",
     "Y[n,i] = Z[n,i] * (Y[n,i{-~+}1] else {0~2~X[n,0]}) + X[n,i];"},
    {"X: $t[2,1], Z: $t[2,7]", "Y: $o[2,7]",
     "t[n,i] = X[n,i] * (t[n,i-1] else 2) - X[n,i]; Y[n,i] = t[n,0] * Z[n,i];"},
    {"X: $t[5]", "Y: $o[5]", "t[i] = $r[r]($A) where i in 5, r in 5; Y[i] = $G;"},
    {"X: $t[5]", "Y: $o[5]", "t[i] = sum[r]($A) where i in 5, r in 5; Y[i] = t[4-i];"},
    {"X: $t[5]", "Y: $o[5]", "t[i] = $r[r]($A) where i in 5, r in 5; Y[i] = 1 / ($G);"},
    {"X: $t[5]", "Y: $o[6]", "t[i] = $r[r]($A) where i in 5, r in 5; Y[i] = $G;"},
    /* sums of which some terms count */
    {"X: $t[5], K: $t[6]", "Y: $o[9]", "Y[p] = sum[r]($P) where r in {6~4};"},
    {"X: $t[5], K: $t[6]", "Y: $o[10]",
     "t[p] = sum[r]($P) where p in 10, r in 6; Y[p] = t[p] * 2;"},
    {"X: $t[5], K: $t[4]", "Y: $o[8]",
     "t[p] = sum[r]($P) where p in 8, r in 4; Y[p] = t[p] + (t[p-1] else 1);"},
    /* statistics */
    {"X: $t[3,4,5]", "(M: $o[4], V: $o[4])",
     "M[c] = sum[n,d]($x) / $n; V[c] = sum[n,d](($x - M[c]) * ($x - M[c]));"},
    {"X: $t[3,4,5]", "(M: $o[4], V: $o[4])",
     "s[c] = sum[n,d](X[n,c,d])$p; M[c] = s[c] / $n;"
     " V[c] = sum[n,d]((X[n,c,d] - M[c]) * (X[n,c,d] - M[c]))$p;"},
    {"X: $t[3,4,5]", "(M: $o[4], V: $o[4])",
     "M[c] = sum[n,d](X[n,c,d]) * {0.06666667~0.5}; V[c] = $r[n,d](X[n,c,d] * M[c]);"},
    {"X: {i32~i8~i16~i64}[3,4,5]", "(M: i64[4], V: {i64~f32}[4])",
     "M[c] = sum[n,d]({X[n,c,d]~i64(X[n,c,d])}) / 15;"
     " V[c] = sum[n,d]((X[n,c,d] - M[c]) * (X[n,c,d] - M[c])) / {1~15.0~4};"},
    {"X: $t[3,4,5]", "Y: i32[4]", "Y[c] = {argmax~argmin}[n,d](X[n,c,d]);"},
    /* axes */
    {"X: $t[2,5], W: $t[6]", "Y: $o[6]", "Y[o] = $r[k](X[o/3,k]) * W[o];"},
    {"X: $t[2,3,5], W: $t[6]", "Y: $o[2,3]",
     "m[g] = $r[k](X[g/3,g%3,k]) where g in 6; Y[a,b] = m[a*3+b] - W[a*3+b];"},
    {"X: $t[4,3], W: $t[12]", "Y: $o[12]", "Y[i] = X[i/3,i%3] {+~*~/} W[{i~11-i}];"},
    {"X: $t[8]", "Y: $o[8]", "Y[i] = X[(2*i+{0~1})/{4~2}] + X[(4*i)/8];"},
    {"X: $t[3,8], W: $t[3,4]", "Y: $o[3,3]",
     "Y[m,n] = $r[j,e](X[m,2*j+e] {*~-} W[n,j]) where j in 4, e in 2;"},
    {"X: $t[4,4], W: $t[9]", "Y: $o[4,6]",
     "Y[i,j] = {X[i,j]~X[i,j] * W[i+j]} where j in $s; Y[i,$s+k] = $r[j](X[i,j] * "
     "{W[j+k]~X[i,3-j]}); Y[i,5] = {W[i]~$r[k](X[i,k])};"},
    {"X: $t[4,2,2], Z: $t[4,2,$s]", "Y: $o[4,2,$s]",
     "Y[b,i,j] = {0 +~1 +~X[b,i,0] +~1 /~-0.0 -~X[b,i,0] *} sum[k]({X[b,i,k] * Z[b,k,j]~"
     "X[b,k,i] - Z[b,k,j]~-0.0 * abs(X[b,k,i])})$p;"},
    {"X: $t[3,1,4]", "Y: $o[1,3]",
     "m[n,o] = $r[c](X[n,o,c]) where o in 1; Y[b,n] = m[n,b] {/~*~-} X[n,b,0];"},
    {"X: $t[4,1]", "Y: $o[4]", "Y[i] = {sum~max~prod~argmax}[k](X[i,k]) {+~*} {1~2.0};"},
    {"X: $t[4,1]", "Y: $o[4,3]", "Y[i,j] = (X[i,j-1] else $Z) + X[i,0];"},
    {"X: $t[4,6]", "Y: $o[4,6]",
     "t[i,j] = X[i,j] * 3 {~@type(f16)}; u[j,i] = {t[i,j]~t[i,5-j]~-t[i,j]}; Y[i,j] = u[j,i] + 1;"},
    {"X: $t[4,6]", "(Y: $o[6,4], A: $o[4,6])",
     "t[i,j] = $r[k](X[i,j] * (k + 1)) where k in 2; Y[j,i] = t[i,j]; A[i,j] = {t[i,j]~X[i,j]};"},
    {"X: $t[4,6]", "(Y: $o[4,6], A: $o[4,6])",
     "A[i,j] = X[i,j] * {2~0.1}; s[i] = $r[j](A[i,j]); Y[i,j] = A[i,j] - s[i];"},
    {"X: {f64~f32~f16}[9]", "(Y: {f16~bf16~f8e4m3~f8e5m2~f32}[9], A: $o[9])",
     "t[i] = {X[i]~-X[i]~X[i] * 2} {@type(f32)~@type(f16)~@type(bf16)~@type(f8e5m2)~};"
     " Y[i] = t[{i~8-i}]; A[i] = {t[i]~X[i]} + 1;"},
    {"X: {f64~f32~f16}[9]", "Y: {f16~bf16~f8e4m3~f8e5m2~f32}[9]",
     "t[i] = {X[i]~-X[i]~X[i] * 2} {@type(f32)~@type(f16)~@type(bf16)~@type(f8e5m2)~};"
     " Y[i] = t[{i~8-i}];"},
    /* bits */
    {"J: {i32~i8~u8~i64~i16}[9], K: {i32~i64}[9]", "Y: i64[9]",
     "Y[i] = ((J[i] {>>~<<~&} {3~0~15~31~32~63~7~1}) {+~^~|} (K[i] {&~>>~<<~|} {255~-1~4~J[i]}))"
     "{~ * (i & {3~8})~ + (i << 2 >> {1~3})};"},
    /* softmax between products */
    {"Q: $h[2,3,4], K: $h[2,5,4], V: $h[2,5,3], N: i32[2], W: {f32~f32~f64}[2,3]",
     "(O: $o[2,3,3], L: f32[2,3])",
     "s[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]){~ * 0.125~ * W[b,i]}; t[b,i,j] = $y;"
     " m[b,i] = max[j](t[b,i,j]); z[b,i] = sum[j]($f(t[b,i,j] - m[b,i]));"
     " l[b,i] = m[b,i] + $g(z[b,i]); r[b,i] = 1 / z[b,i];"
     " y[b,i] = {z[b,i] + 0.5~z[b,i] + N[b]~max(z[b,i], 1e-9)~W[b,i]};"
     " L[b,i] = {l~z~y}[b,i] + r[b,i] * y[b,i] * 0; $E"},
    {"Q: $h[2,3,4], K: $h[2,5,4], V: $h[2,5,3], N: i32[2], W: f32[2,3]", "O: {f32~f16~bf16}[2,3,3]",
     "s[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]){~ * 0.125}; t[b,i,j] = $y;"
     " m[b,i] = max[j](t[b,i,j]); z[b,i] = sum[j]($f(t[b,i,j] - m[b,i]));"
     " l[b,i] = m[b,i] + $g(z[b,i]); r[b,i] = 1 / z[b,i]; y[b,i] = z[b,i] + 0.5; $E"},
    /* products */
    {"A: $t[8,6], B: $t[8,10]", "Y: $o[6,10]", "Y[m,n] = sum[k](A[k,m] * B[k,n])$p;"},
    {"A: $t[6,7], B: $t[7,10]", "Y: $o[6,10]",
     "Y[m,n] = sum[k]((A[m,k+{0~1~-1}] else {0~$Z}) * B[k,n])$p;"},
    {"A: $t[2,5,5,3], B: $t[4,2,2,3]", "Y: $o[2,4,4,4]",
     "Y[n,f,p,q] = sum[r,s,c]((A[n,p+r,q+s,c] else 0) * B[f,r,s,c])$p;"},
    {"A: $t[17,17,2], B: $t[2,2,2,2]", "Y: $o[16,16,2]",
     "t[p,q,f] = sum[r,s,c]((A[p+r{~-1},q+s,c] else {0~$Z}) * B[r,s,c,f])$p;"
     " Y[p,q,f] = {t[p,q,f]~max(t[p,q,f], 0)~t[p,q,f] + (t[p,q-1,f] else $Z)~t[q,p,f]};"},
    {"A: $t[2,3,5,5], B: $t[4,3,2,2]", "Y: $o[2,4,4,4]",
     "Y[n,f,p,q] = sum[r,s,c]((A[n,c,p+r,q+s-1] else {0~$Z}) * B[f,c,r,s])$p;"},
};
const int te_idioms = (int)(sizeof sentence / sizeof *sentence);

typedef struct {
    Arena *a;
    Choices *c;
    const char *chosen[128];  /* of the small letters */
} Writer;

static void write(Writer *w, const char *from, const char *end, Buf *out);

/* The end of the alternative or of the braces that `at` is in.  */
static const char *part_end(const char *at, bool whole) {
    for (int depth = 0;; at++) {
        if (depth == 0 && (*at == '}' || (*at == '~' && !whole))) return at;
        depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
    }
}

static const char *choose(Writer *w, const char *at, Buf *out) {
    const char *end = part_end(at, true);
    uint32_t n = 1;
    for (const char *p = part_end(at, false); *p == '~'; p = part_end(p + 1, false)) n++;
    for (uint32_t i = choices_below(w->c, n); i > 0; i--) at = part_end(at, false) + 1;
    write(w, at, part_end(at, false), out);
    return end + 1;
}

static void write_named(Writer *w, char name, Buf *out) {
    for (size_t i = 0; i < sizeof anew / sizeof *anew; i++) {
        const char *text = anew[i].text;
        if (anew[i].name == name) write(w, text, text + strlen(text), out);
    }
    for (size_t i = 0; i < sizeof one_each / sizeof *one_each; i++) {
        const char *text = one_each[i].text;
        if (one_each[i].name != name) continue;
        if (!w->chosen[(int)name]) {
            Buf b = buf_new(w->a);
            write(w, text, text + strlen(text), &b);
            w->chosen[(int)name] = buf_str(&b);
        }
        buf_puts(out, w->chosen[(int)name]);
    }
}

static void write(Writer *w, const char *from, const char *end, Buf *out) {
    while (from < end) {
        if (*from == '{') {
            from = choose(w, from + 1, out);
        } else if (*from == '$') {
            write_named(w, from[1], out);
            from += 2;
        } else {
            buf_putc(out, *from++);
        }
    }
}

const char *te_idiom(Arena *a, Choices *c, int i) {
    static const char *const around[] = {"op f(", ") -> ", " { ", " }\n"};
    Writer w = {.a = a, .c = c};
    Buf out = buf_new(a);
    for (int k = 0; k < 3; k++) {
        const char *text = sentence[i][k];
        buf_puts(&out, around[k]);
        write(&w, text, text + strlen(text), &out);
    }
    buf_puts(&out, around[3]);
    return buf_str(&out);
}
