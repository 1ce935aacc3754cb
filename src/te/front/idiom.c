/* What other languages write and this one has in another form: how it is said here.  */
#include "te/front/front.h"
#include <string.h>

typedef struct {
    const char *name, *form;
} Idiom;

/* Functions of one element.  */
static const Idiom function_idioms[] = {
    {"relu", "max(x, 0)"},
    {"sigmoid", "1 / (1 + exp(-x))"},
    {"silu", "x / (1 + exp(-x))"},
    {"swish", "x / (1 + exp(-x))"},
    {"gelu", "0.5 * x * (1 + erf(x * 0.70710678))"},
    {"softplus", "max(x, 0) + log(1 + exp(-abs(x)))"},
    {"sinh", "(exp(x) - exp(-x)) / 2"},
    {"cosh", "(exp(x) + exp(-x)) / 2"},
    {"tan", "sin(x) / cos(x)"},
    {"log10", "log2(x) * 0.30103"},
    {"log1p", "log(1 + x)"},
    {"expm1", "exp(x) - 1"},
    {"reciprocal", "1 / x"},
    {"square", "x * x"},
    {"fabs", "abs(x)"},
    {"where", "x > 0 ? x : y"},
    {"not", "!(x > 0)"},
    {"clamp", "min(max(x, low), high)"},
    {"clip", "min(max(x, low), high)"},
};

#define LARGEST                                                                                    \
    "the largest one by one, if they are few: a[i] = argmax[j](X[i,j]); "                          \
    "b[i] = argmax[j](j == a[i] ? -inf : X[i,j]);"

/* What goes over an axis; index names are examples.  */
static const Idiom axis_idioms[] = {
    {"mean", "sum[j](X[i,j]) / N, N being the extent of j"},
    {"avg", "sum[j](X[i,j]) / N, N being the extent of j"},
    {"softmax", "three statements: m[i] = max[j](X[i,j]); z[i] = sum[j](exp(X[i,j] - m[i])); "
                "Y[i,j] = exp(X[i,j] - m[i]) / z[i];"},
    {"var", "two statements: a[i] = sum[j](X[i,j]) / N; "
            "v[i] = sum[j]((X[i,j] - a[i]) * (X[i,j] - a[i])) / N;"},
    {"norm", "sqrt(sum[j](X[i,j] * X[i,j]))"},
    {"sort", LARGEST},
    {"argsort", LARGEST},
    {"topk", LARGEST},
    {"cumsum", "sum[r](r <= j ? X[i,r] : 0) where r in N"},
};

static const Idiom operator_idioms[] = {
    {"and", "&&"},
    {"or", "||"},
    {"if", "condition ? x : y"},
    {"**", "pow(x, y), or x * x"},
    {"//", "x / y, which rounds down where both are integers, and comments behind #"},
    {"-=", "+= -(...)"},
    {"/=", "*= 1 / (...), if it is real"},
};

static const char *find(const Idiom *row, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(row[i].name, name) == 0) return row[i].form;
    }
    return NULL;
}

static const char *axis_form(const char *name) {
    return find(axis_idioms, sizeof axis_idioms / sizeof axis_idioms[0], name);
}

const char *idiom_operator(const char *name) {
    return find(operator_idioms, sizeof operator_idioms / sizeof operator_idioms[0], name);
}

bool hint_idiom(Front *f, const char *name) {
    const char *form =
        find(function_idioms, sizeof function_idioms / sizeof function_idioms[0], name);
    if (!form) form = axis_form(name);
    if (form) hint(f, "write %s", form);
    return form;
}
