/* The calling thread's last error of calls that have no context.  */
#include "driver/handle/handle.h"

#include <stdio.h>

typedef struct {
    RollerError error;
    char message[512], hint[256], rendered[832], code[64];
} ThreadError;

static _Thread_local ThreadError last;

RollerStatus thread_keep(Status s, const char *message, const char *hint, const DiagCode *code) {
    ThreadError *t = &last;
    t->error = (RollerError){.struct_size = sizeof t->error, .status = (RollerStatus)s, .tag = "",
                             .code_name = t->code};
    *t->code = 0;
    if (s == ST_OK) return ROLLER_OK;
    snprintf(t->message, sizeof t->message, "%s", message ? message : status_text(s));
    snprintf(t->hint, sizeof t->hint, "%s", hint ? hint : "");
    snprintf(t->rendered, sizeof t->rendered, "roller: error: %.511s\n%s%.255s%s", t->message,
             hint ? "roller: hint: " : "", t->hint, hint ? "\n" : "");
    t->error.message = t->message;
    t->error.hint = hint ? t->hint : NULL;
    t->error.rendered = t->rendered;
    if (!code || !code->number) return (RollerStatus)s;
    *(code->of == DIAG_CUDA ? &t->error.cuda : &t->error.nvrtc) = code->number;
    snprintf(t->code, sizeof t->code, "%s", code->name);
    return (RollerStatus)s;
}

const RollerError *thread_error(void) { return last.error.status ? &last.error : NULL; }
