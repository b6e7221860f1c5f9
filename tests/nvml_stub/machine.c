/* How the stub's machine is read from its state file, and how its values change with time. */
#define _GNU_SOURCE
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What one idle NVIDIA H200 answered, driver 580. */
static const Pair DEFAULTS[] = {
    {"memory_total", "150754820096"}, {"memory_free", "150109880320"}, {"bus_width", "6016"},
    {"power_enforced_mw", "700000"}, {"power_default_mw", "700000"},
    {"power_minimum_mw", "200000"}, {"power_maximum_mw", "700000"}, {"ecc_errors", "0"},
    {"vbios", "96.00.A5.00.1A"}, {"inforom", "G520.0282.02.02"}, {"gsp", "580.159.04"},
    {"ecc", "1"}, {"mig", "0"}, {"persistence", "1"}, {"compute_mode", "0"},
    {"virtualization", "1"}, {"pcie_generation", "5"}, {"pcie_width", "16"},
    {"maximum_graphics_mhz", "1980"}, {"maximum_memory_mhz", "3201"}, {"processes", ""},
    {"graphics_mhz", "345"}, {"sm_mhz", "345"}, {"memory_mhz", "3201"}, {"event_reasons", "1"},
    {"power_instant_mw", "79650"}, {"power_average_mw", "79563"}, {"gpu_c", "34"},
    {"memory_c", "37"}, {"energy_mj", "2815476"}, {"sw_power_cap_ns", "0"},
    {"sync_boost_ns", "0"}, {"sw_thermal_ns", "0"}, {"hw_thermal_ns", "0"},
    {"hw_power_brake_ns", "0"},
};

Machine machine;

const char *look_up(const Record *record, const char *key) {
    for (int i = 0; i < record->count; i++)
        if (!strcmp(record->pairs[i].key, key)) return record->pairs[i].value;
    return NULL;
}

long long number(const Record *record, const char *key, long long otherwise) {
    const char *value = look_up(record, key);
    return value ? strtoll(value, NULL, 0) : otherwise;
}

static int64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void load_trace(Trace *trace, const Record *record) {
    FILE *file = fopen(look_up(record, "file"), "r");
    char *line = NULL;
    size_t size = 0;
    long room = 0;
    if (!file || getline(&line, &size, file) < 0) { perror("nvml_stub: trace"); exit(70); }
    for (char *rest = line, *name; (name = strsep(&rest, ",\r\n")) && trace->columns < MAX_COLUMNS;)
        if (*name)
            trace->names[trace->columns++] =
                strdup(strcmp(name, "sw_power_cap_counter") ? name : "sw_power_cap_ns");
    while (getline(&line, &size, file) > 0) {
        if (trace->rows == room) {
            room = room ? 2 * room : 1024;
            trace->cells = realloc(trace->cells, room * trace->columns * sizeof(int64_t));
        }
        char *rest = line;
        for (int i = 0; i < trace->columns; i++)
            trace->cells[trace->rows * trace->columns + i] = strtoll(strsep(&rest, ","), NULL, 10);
        trace->rows++;
    }
    free(line);
    fclose(file);
    trace->epoch_ns = number(record, "epoch_ns", 0);
}

void load_machine(void) {
    const char *path = getenv("NVML_STUB");
    FILE *file = path ? fopen(path, "r") : NULL;
    char *line = NULL;
    size_t size = 0;
    if (!file) { fprintf(stderr, "nvml_stub: NVML_STUB names no readable file\n"); exit(70); }
    while (getline(&line, &size, file) > 0) {
        Record record = {.count = 0};
        char *rest = strdup(line), *kind = strsep(&rest, "\t\n"), *field;
        while (rest && (field = strsep(&rest, "\t\n")) && record.count < MAX_PAIRS) {
            char *equals = strchr(field, '=');
            if (!equals) continue;
            *equals = 0;
            record.pairs[record.count++] = (Pair){field, equals + 1};
        }
        if (!strcmp(kind, "system")) machine.system = record;
        if (!strcmp(kind, "log")) machine.log = record;
        if (!strcmp(kind, "call")) machine.calls[machine.call_count++].record = record;
        if (!strcmp(kind, "field")) machine.fields[machine.field_count++].record = record;
        if (!strcmp(kind, "device")) {
            machine.devices[machine.device_count].index = machine.device_count;
            machine.devices[machine.device_count++].record = record;
        }
        if (!strcmp(kind, "trace")) 
            load_trace(&machine.devices[number(&record, "device", 0)].trace, &record);
    }
    free(line);
    fclose(file);
}

const char *text_of(const Device *device, const char *key) {
    const char *value = look_up(&device->record, key);
    for (size_t i = 0; !value && i < sizeof DEFAULTS / sizeof *DEFAULTS; i++)
        if (!strcmp(DEFAULTS[i].key, key)) value = DEFAULTS[i].value;
    return value ? value : "";
}

long long value_of(const Device *device, const char *key) {
    const Trace *trace = &device->trace;
    for (int column = 0; column < trace->columns; column++) {
        if (strcmp(trace->names[column], key)) continue;
        int64_t t = monotonic_ns() - trace->epoch_ns;
        long low = 0, high = trace->rows - 1;
        while (low < high) {
            long middle = (low + high + 1) / 2;
            if (trace->cells[middle * trace->columns] <= t) low = middle; else high = middle - 1;
        }
        return trace->cells[low * trace->columns + column];
    }
    return strtoll(text_of(device, key), NULL, 0);
}

int applies(Rule *rule, int device) {
    long long wanted = number(&rule->record, "device", -1);
    if (wanted >= 0 && wanted != device) return 0;
    long call = __atomic_fetch_add(&rule->calls, 1, __ATOMIC_RELAXED);
    return call >= number(&rule->record, "after", 0)
           && call < number(&rule->record, "until", INT64_MAX);
}

int enter(const char *name, const Device *device) {
    int code = machine.running ? OK : UNINITIALIZED;
    for (int i = 0; machine.running && i < machine.call_count; i++) {
        Rule *rule = &machine.calls[i];
        const char *wanted = look_up(&rule->record, "name");
        if (strcmp(wanted, name) && (strcmp(wanted, "*") || !device)) continue;
        if (!applies(rule, device ? device->index : -1)) continue;
        usleep(number(&rule->record, "sleep_us", 0));
        code = number(&rule->record, "code", code);
    }
    return code;
}

int give(char *into, unsigned length, const char *text) {
    if (strlen(text) >= length) return TOO_SMALL;
    strcpy(into, text);
    return OK;
}
