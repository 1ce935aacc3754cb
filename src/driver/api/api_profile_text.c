/* roller.h: what a profile says, for people and in short.  */
#include "driver/handle/handle.h"
#include "hal/profile_text.h"

typedef struct {
    const Device *old, *dev;  /* old: NULL: a sheet */
    bool json;
    const char *text;
    size_t len;
} TextCall;

static Status print(RollerCtx *ctx, void *user) {
    TextCall *c = user;
    Buf out = buf_new(ctx->call);
    if (c->old) hal_profile_differences(c->old, c->dev, c->json, &out);
    else hal_profile_sheet(c->dev, &out);
    c->len = out.len;
    c->text = buf_str(&out);
    return ST_OK;
}

static RollerStatus run_print(RollerCtx *ctx, TextCall *c, const char **text, size_t *len) {
    RollerStatus s = call_run(ctx, NULL, print, c);
    *text = s ? NULL : c->text;
    *len = s ? 0 : c->len;
    return s;
}

RollerStatus roller_profile_sheet(RollerCtx *ctx, const RollerProfile *p, const char **text,
                                  size_t *len) {
    return run_print(ctx, &(TextCall){.dev = p->dev}, text, len);
}

RollerStatus roller_profile_differences(RollerCtx *ctx, const RollerProfile *old,
                                        const RollerProfile *now, int json, const char **text,
                                        size_t *len) {
    return run_print(ctx, &(TextCall){.old = old->dev, .dev = now->dev, .json = json != 0}, text,
                     len);
}

typedef struct {
    const Device *dev;
    RollerProfileReport report;
} ReportCall;

static Status report(RollerCtx *ctx, void *user) {
    ReportCall *c = user;
    const Device *dev = c->dev;
    const HalFigure *row;
    int n = hal_figures(ctx->call, dev, false, &row);
    Origin own = dev->simulated ? ORIGIN_SIMULATED : ORIGIN_MEASURED;
    const char **noisy = ARENA_ARRAY(ctx->call, const char *, n + 1);
    const char **name = ARENA_ARRAY(ctx->call, const char *, dev->n_missed + 1);
    const char **why = ARENA_ARRAY(ctx->call, const char *, dev->n_missed + 1);
    RollerProfileReport *r = &c->report;
    *r = (RollerProfileReport){.mode = dev->mode, .simulated = dev->simulated,
                               .noisy_name = noisy, .missed = dev->n_missed, .missed_name = name,
                               .missed_why = why};
    for (int i = 0; i < n; i++) {
        const Figure *f = row[i].figure;
        r->measured += (f ? f->origin : row[i].curve->origin) == own;
        if (f && f->noisy) noisy[r->noisy++] = row[i].name;
    }
    for (int i = 0; i < dev->n_missed; i++) {
        name[i] = dev->missed[i].name;
        why[i] = dev->missed[i].why;
    }
    return ST_OK;
}

RollerStatus roller_profile_report(RollerCtx *ctx, const RollerProfile *p,
                                   RollerProfileReport *out) {
    ReportCall c = {.dev = p->dev};
    RollerStatus s = call_run(ctx, NULL, report, &c);
    api_report(out, &c.report, sizeof c.report);
    return s;
}
