/* The way in and out of a call, and what tests control.  */
#include "simdriver/state.h"

#include "simdriver/graph.h"
#include "simdriver/image.h"
#include "simdriver/work.h"

#include <stdlib.h>
#include <string.h>

static CUresult need_context(Call *c) {
    CUcontext current = context_current();
    if (!current) return CUDA_ERROR_INVALID_CONTEXT;
    c->ctx = GET(c, Context, current, KIND_CONTEXT);
    return c->ctx ? c->ctx->failed : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static CUresult admit(Call *c, const FunctionRow *row) {
    Driver *d = c->driver;
    Injected hit = faults_call(&d->faults, row);
    driver_delay(hit.delay_ms);
    for (uint64_t rules = d->rules; hit.hang && d->rules == rules;) driver_hang(d);
    if (hit.result) return hit.result;
    if (row->since > driver_version(d) || faults_missing(&d->faults, row)) {
        return CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER;
    }
    if (d->forked && (row->needs != NEEDS_NOTHING || row == &simdriver_functions[FN_cuInit])) {
        driver_say(d, "the process was forked from one that had initialised the driver");
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (row->needs == NEEDS_NOTHING) return CUDA_SUCCESS;
    if (!d->initialised) return CUDA_ERROR_NOT_INITIALIZED;
    return row->needs == NEEDS_CONTEXT ? need_context(c) : CUDA_SUCCESS;
}

/* Rules of the environment hold from the first call on, even one before cuInit.  */
static CUresult first_rules(Driver *d) {
    if (d->rules) return CUDA_SUCCESS;
    d->rules = 1;
    if (faults_parse(getenv("ROLLER_SIM_FAULTS"), &d->faults)) return CUDA_SUCCESS;
    d->faults = (Faults){0};
    driver_say(d, "ROLLER_SIM_FAULTS does not parse");
    return CUDA_ERROR_INVALID_VALUE;
}

static _Thread_local FunctionId via = FN_COUNT;

void driver_via(FunctionId f) { via = f; }

bool driver_enter(Call *c, FunctionId f) {
    bool per_thread = via != FN_COUNT;
    if (per_thread) f = via;
    via = FN_COUNT;
    *c = (Call){.driver = &the_driver, .row = &simdriver_functions[f], .per_thread = per_thread};
    pthread_mutex_lock(&the_driver.lock);
    c->result = first_rules(&the_driver);
    if (c->result == CUDA_SUCCESS) c->result = admit(c, c->row);
    if (c->result == CUDA_SUCCESS) return true;
    driver_log(&the_driver, c->row, c->result);
    pthread_mutex_unlock(&the_driver.lock);
    return false;
}

static void end_users(UserObject *u) {
    for (UserObject *next; u; u = next) {
        next = u->next;
        u->destroy(u->pointer);
        free(u);
    }
}

CUresult driver_leave(Call *c, CUresult r) {
    driver_log(c->driver, c->row, r);
    struct UserObject *doomed = c->driver->doomed;
    c->driver->doomed = NULL;
    pthread_mutex_unlock(&c->driver->lock);
    if (doomed) end_users(doomed);
    return r;
}

CUresult roller_sim_driver_control(const char *rules) {
    Driver *d = &the_driver;
    Faults faults;
    if (!faults_parse(rules, &faults)) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&d->lock);
    d->faults = faults;
    d->rules += d->rules ? 1 : 2;
    driver_wake(d);
    pthread_mutex_unlock(&d->lock);
    return CUDA_SUCCESS;
}

size_t roller_sim_driver_message(char *text, size_t len) {
    pthread_mutex_lock(&the_driver.lock);
    size_t whole = strlen(the_driver.message), part = whole;
    if (len > 0) {
        if (part > len - 1) part = len - 1;
        memcpy(text, the_driver.message, part);
        text[part] = 0;
    }
    pthread_mutex_unlock(&the_driver.lock);
    return whole;
}

CUresult roller_sim_driver_ptx(const void *cubin, size_t len, const char *ptx) {
    if (!cubin || !ptx) return CUDA_ERROR_INVALID_VALUE;
    Driver *d = driver_take();
    CUresult r = image_register(d, cubin, len, ptx);
    driver_give(d);
    return r;
}
