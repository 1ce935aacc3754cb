/* The calling thread's last error of calls that have no context.  */
#include "driver/handle.h"

#include <stdio.h>

typedef struct {
    RollerError error;
    char message[512], hint[256], rendered[832];
} ThreadError;

static _Thread_local ThreadError last;

RollerStatus thread_keep(Status s, const char *message, const char *hint) {
    ThreadError *t = &last;
    t->error = (RollerError){.status = (RollerStatus)s, .tag = ""};
    if (s == ST_OK) return ROLLER_OK;
    snprintf(t->message, sizeof t->message, "%s", message ? message : status_text(s));
    snprintf(t->hint, sizeof t->hint, "%s", hint ? hint : "");
    snprintf(t->rendered, sizeof t->rendered, "roller: error: %.511s\n%s%.255s%s", t->message,
             hint ? "roller: hint: " : "", t->hint, hint ? "\n" : "");
    t->error.message = t->message;
    t->error.hint = hint ? t->hint : NULL;
    t->error.rendered = t->rendered;
    return (RollerStatus)s;
}

const RollerError *thread_error(void) { return last.error.status ? &last.error : NULL; }
