#include "hal/reader.h"

#include <string.h>

static void range(Reader *r, const Node *n, const Field *f, SizeRange *out) {
    static const char *const keys[] = {"from", "to", "step", NULL};
    if (json_is_number(n->json)) {
        int v;
        if (reader_whole(r, n, f->min, f->max, &v))
            *out = (SizeRange){v, v, 1};
        return;
    }
    if (!json_is_object(n->json)) {
        reader_fault(r, n, "type", "a number or {\"from\", \"to\", \"step\"} is expected");
        return;
    }
    reader_known(r, n, NULL, keys);
    SizeRange g = {0};
    int *part[] = {&g.from, &g.to, &g.step};
    bool good = true;
    for (int i = 0; i < 3; i++) {
        const Node *at = reader_need(r, n, keys[i], "as {\"from\": 8, \"to\": 256, \"step\": 8}");
        good &= at && reader_whole(r, at, f->min, f->max, part[i]);
    }
    if (good && (g.from >= g.to || (g.to - g.from) % g.step))
        reader_fault(r, n, "bounds", "from %d to %d is no positive number of steps of %d", g.from,
                     g.to, g.step);
    *out = g;
}

static void hint_types(Reader *r) {
    Buf b = buf_new(r->arena);
    for (int t = 0; t < TE_DTYPE_COUNT; t++) buf_printf(&b, " %s", te_dtype_name((TeDtype)t));
    diag_hint(r->diag, "types are%s", buf_str(&b));
}

static void dtype(Reader *r, const Node *n, const Field *f, TeDtype *out) {
    const char *s = reader_text(r, n, 1, 16);
    if (!s)
        return;
    if (f->max > 0 && !strcmp(s, "none"))
        *out = HAL_NO_DTYPE;
    else if (!te_dtype_parse(s, strlen(s), out) || strcmp(te_dtype_name(*out), s)) {
        reader_fault(r, n, "choice", "\"%s\" is no type", s);
        hint_types(r);
    }
}

static void spans(Reader *r, const Node *n, const Field *f, uint32_t *out) {
    if (!reader_array(r, n, 32))
        return;
    int before = 0;
    for (int i = 0; i < n->n_child; i++) {
        int bytes, bit = 0;
        if (!reader_whole(r, &n->child[i], f->min, f->max, &bytes))
            continue;
        while (16 << bit < bytes)
            bit++;
        if (16 << bit != bytes || bytes <= before)
            reader_fault(r, &n->child[i], "bounds", "spans are 16, 32, 64 or 128 and ascend");
        before = bytes;
        *out |= 1u << bit;
    }
    if (!n->n_child)
        reader_fault(r, n, "bounds", "the list is empty; [16] says that there is no swizzle");
}

static void field(Reader *r, const Node *n, const Field *f, void *at) {
    int choice;
    switch (f->kind) {
    case FIELD_TEXT:
        *(const char **)at = reader_text(r, n, (size_t)f->min, (size_t)f->max);
        break;
    case FIELD_SCOPE:
        choice = reader_choice(r, n, hal_scope_names, SCOPE_COUNT);
        *(UnitScope *)at = choice < 0 ? SCOPE_THREAD : (UnitScope)choice;
        break;
    case FIELD_PLACE:
        choice = reader_choice(r, n, hal_place_names, PLACE_COUNT);
        *(Place *)at = choice < 0 ? PLACE_GLOBAL : (Place)choice;
        break;
    case FIELD_RANGE:
        range(r, n, f, at);
        break;
    case FIELD_DTYPE:
        dtype(r, n, f, at);
        break;
    case FIELD_FLAG:
        if (!json_is_boolean(n->json))
            reader_fault(r, n, "type", "true or false is expected");
        *(bool *)at = json_is_true(n->json);
        break;
    case FIELD_SPANS:
        spans(r, n, f, at);
        break;
    case FIELD_COUNT:
        reader_whole(r, n, f->min, f->max, at);
        break;
    case FIELD_NUMBER:
        reader_number(r, n, f->min, f->max, at);
        break;
    case FIELD_FIGURE:
        reader_figure(r, n, f, at);
        break;
    case FIELD_CURVE:
        reader_curve(r, n, LEVEL_COUNT, hal_member_curve(f->name), at);
        break;
    }
}

void reader_fields(Reader *r, const Node *object, const FieldTable *t, const char *const *also,
                   void *base) {
    reader_known(r, object, t, also);
    for (int i = 0; i < t->n; i++) {
        const Field *f = &t->field[i];
        const Node *n = located_member(object, f->name);
        char *at = (char *)base + f->offset;
        if (n)
            field(r, n, f, at);
        else if (f->required)
            reader_need(r, object, f->name, reader_about(r, f));
        else if (f->kind == FIELD_DTYPE)
            *(TeDtype *)at = HAL_NO_DTYPE;
        if (f->kind == FIELD_TEXT && !*(const char **)at)
            *(const char **)at = "";
    }
}
