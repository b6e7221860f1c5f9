/* The machine that the stub shows: its GPUs, and the rules that make single calls fail. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7 };
enum { MAX_DEVICES = 8, MAX_RULES = 32, MAX_PAIRS = 48, MAX_COLUMNS = 24 };

typedef struct { char *key, *value; } Pair;
typedef struct { Pair pairs[MAX_PAIRS]; int count; } Record;
typedef struct { char *names[MAX_COLUMNS]; int columns; long rows; int64_t *cells, epoch_ns; } Trace;
typedef struct { Record record; Trace trace; int index; } Device;
typedef struct { Record record; long calls; } Rule;

typedef struct {
    Record system, log;
    Device devices[MAX_DEVICES];
    Rule calls[MAX_RULES], fields[MAX_RULES];
    int device_count, call_count, field_count;
    int running; /* successful nvmlInit calls less nvmlShutdown calls */
} Machine;

extern Machine machine;

/* Fill `machine` from the file that NVML_STUB names; the process ends if there is none. */
void load_machine(void);

/* Value of a record's key, or what stands for it where the key is absent. */
const char *look_up(const Record *record, const char *key);
long long number(const Record *record, const char *key, long long otherwise);

/* Text or number that a GPU shows now: from its trace, its record, or an idle H200's answer. */
const char *text_of(const Device *device, const char *key);
long long value_of(const Device *device, const char *key);

/* Count a call against a rule; true if the rule is for this device and this one of its calls. */
int applies(Rule *rule, int device);

/* Sleep and fail as the rules for function `name` say. Every function begins with this. */
int enter(const char *name, const Device *device);

#define ENTER(device)                              \
    do {                                           \
        int code_ = enter(__func__, device);       \
        if (code_) return code_;                   \
    } while (0)

/* Copy a text out as NVML does: not at all if it does not fit. */
int give(char *into, unsigned length, const char *text);

#endif
