/* A stand-in for libnvidia-ml.so.1: the calls the kit makes, driven by a text file.
 *
 * The file named by NVML_STUB holds one record a line, fields separated by tabs, as key=value behind
 * the record's kind:
 *
 *   system  driver nvml cuda init          versions; init is the return code of nvmlInit
 *   device  pci uuid name ...              one GPU; the other keys are in DEFAULTS below
 *   trace   device file epoch_ns           replay a CSV of readings: row t_ns holds from epoch_ns +
 *                                          t_ns of CLOCK_MONOTONIC until the next row
 *   call    name [device after until code sleep_us]
 *                                          from the after-th call of `name` (or of * any) up to the
 *                                          until-th: sleep, then return code
 *   field   id [device code value type]    one field of nvmlDeviceGetFieldValues: its own return
 *                                          code, its value, or the tag of its value's type
 *   log     file                           setters append a line here
 *
 * Structures and numbers are those of NVML's public header, nvml.h.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7 };
enum { MAX_DEVICES = 8, MAX_RULES = 32, MAX_PAIRS = 48, MAX_COLUMNS = 24 };

typedef struct { char *key, *value; } Pair;
typedef struct { Pair pairs[MAX_PAIRS]; int count; } Record;
typedef struct { char *names[MAX_COLUMNS]; int columns; long rows; int64_t *cells, epoch_ns; } Trace;
typedef struct { Record record; Trace trace; int index; } Device;
typedef struct { Record record; long calls; } Rule;

typedef struct {
    uint32_t fieldId, scopeId;
    int64_t timestamp, latencyUsec;
    uint32_t valueType, nvmlReturn;
    union { double d; uint32_t ui; uint64_t ull; } value;
} FieldValue;
typedef struct {
    char busIdLegacy[16];
    uint32_t domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} PciInfo;
typedef struct { uint64_t total, free, used; } Memory;
typedef struct { uint32_t version; uint64_t total, reserved, free, used; } MemoryV2;
typedef struct { uint32_t pid; uint64_t memory; uint32_t gpuInstance, computeInstance; } Process;
typedef struct { uint32_t version, sensor; int32_t temperature; } Temperature;

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

static Device devices[MAX_DEVICES];
static int device_count;
static Rule call_rules[MAX_RULES], field_rules[MAX_RULES];
static int call_rule_count, field_rule_count;
static Record system_record, log_record;
static int running;

static const char *look_up(const Record *record, const char *key) {
    for (int i = 0; i < record->count; i++)
        if (!strcmp(record->pairs[i].key, key)) return record->pairs[i].value;
    return NULL;
}

static long long number(const Record *record, const char *key, long long otherwise) {
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

static void load_state(void) {
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
        if (!strcmp(kind, "system")) system_record = record;
        if (!strcmp(kind, "log")) log_record = record;
        if (!strcmp(kind, "call")) call_rules[call_rule_count++].record = record;
        if (!strcmp(kind, "field")) field_rules[field_rule_count++].record = record;
        if (!strcmp(kind, "device")) {
            devices[device_count].index = device_count;
            devices[device_count++].record = record;
        }
        if (!strcmp(kind, "trace")) load_trace(&devices[number(&record, "device", 0)].trace, &record);
    }
    free(line);
    fclose(file);
}

static const char *text_of(const Device *device, const char *key) {
    const char *value = look_up(&device->record, key);
    for (size_t i = 0; !value && i < sizeof DEFAULTS / sizeof *DEFAULTS; i++)
        if (!strcmp(DEFAULTS[i].key, key)) value = DEFAULTS[i].value;
    return value ? value : "";
}

static long long value_of(const Device *device, const char *key) {
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

/* Whether a rule is for this device (-1: a call without a device) and this one of its calls. */
static int applies(Rule *rule, int device) {
    long long wanted = number(&rule->record, "device", -1);
    if (wanted >= 0 && wanted != device) return 0;
    long call = __atomic_fetch_add(&rule->calls, 1, __ATOMIC_RELAXED);
    return call >= number(&rule->record, "after", 0)
           && call < number(&rule->record, "until", INT64_MAX);
}

static int enter(const char *name, const Device *device) {
    int code = running ? OK : UNINITIALIZED;
    for (int i = 0; running && i < call_rule_count; i++) {
        const char *wanted = look_up(&call_rules[i].record, "name");
        if (strcmp(wanted, name) && (strcmp(wanted, "*") || !device)) continue;
        if (!applies(&call_rules[i], device ? device->index : -1)) continue;
        usleep(number(&call_rules[i].record, "sleep_us", 0));
        if (number(&call_rules[i].record, "code", 0)) code = number(&call_rules[i].record, "code", 0);
    }
    return code;
}

#define ENTER(device)                              \
    do {                                           \
        int code_ = enter(__func__, device);       \
        if (code_) return code_;                   \
    } while (0)

static int give(char *into, unsigned length, const char *text) {
    if (strlen(text) >= length) return TOO_SMALL;
    strcpy(into, text);
    return OK;
}

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    if (!running) load_state();
    int code = number(&system_record, "init", 0);
    running = !code;
    return code;
}
int nvmlShutdown(void) {
    ENTER(NULL);
    return OK;
}
const char *nvmlErrorString(int code) {
    (void)code;
    return "stub";
}
int nvmlSystemGetDriverVersion(char *into, unsigned length) {
    ENTER(NULL);
    const char *text = look_up(&system_record, "driver");
    return give(into, length, text ? text : "580.159.04");
}
int nvmlSystemGetNVMLVersion(char *into, unsigned length) {
    ENTER(NULL);
    const char *text = look_up(&system_record, "nvml");
    return give(into, length, text ? text : "13.580.159.04");
}
int nvmlSystemGetCudaDriverVersion(int *version) {
    ENTER(NULL);
    *version = number(&system_record, "cuda", 13000);
    return OK;
}
int nvmlDeviceGetCount_v2(unsigned *count) {
    ENTER(NULL);
    *count = device_count;
    return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **handle) {
    if (index >= (unsigned)device_count) return INVALID;
    ENTER(&devices[index]);
    *handle = &devices[index];
    return OK;
}
static int same_pci(const char *one, const char *other) {
    unsigned a[4], b[4];
    return sscanf(one, "%x:%x:%x.%x", a, a + 1, a + 2, a + 3) == 4
           && sscanf(other, "%x:%x:%x.%x", b, b + 1, b + 2, b + 3) == 4
           && !memcmp(a, b, sizeof a);
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, Device **handle) {
    ENTER(NULL);
    for (int i = 0; i < device_count; i++)
        if (same_pci(text_of(&devices[i], "pci"), pci)) { *handle = &devices[i]; return OK; }
    return NOT_FOUND;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, Device **handle) {
    ENTER(NULL);
    for (int i = 0; i < device_count; i++)
        if (!strcmp(text_of(&devices[i], "uuid"), uuid)) { *handle = &devices[i]; return OK; }
    return NOT_FOUND;
}
int nvmlDeviceGetPciInfo_v3(Device *device, PciInfo *info) {
    ENTER(device);
    memset(info, 0, sizeof *info);
    sscanf(text_of(device, "pci"), "%x:%x:%x", &info->domain, &info->bus, &info->device);
    snprintf(info->busId, sizeof info->busId, "%08X:%02X:%02X.0", info->domain, info->bus,
             info->device);
    snprintf(info->busIdLegacy, sizeof info->busIdLegacy, "%04X:%02X:%02X.0",
             info->domain & 0xffff, info->bus & 0xff, info->device & 0xff);
    return OK;
}
int nvmlDeviceGetMemoryInfo(Device *device, Memory *memory) {
    ENTER(device);
    memory->total = value_of(device, "memory_total");
    memory->free = value_of(device, "memory_free");
    memory->used = memory->total - memory->free;
    return OK;
}
int nvmlDeviceGetMemoryInfo_v2(Device *device, MemoryV2 *memory) {
    ENTER(device);
    memory->total = value_of(device, "memory_total");
    memory->free = value_of(device, "memory_free");
    memory->reserved = 0;
    memory->used = memory->total - memory->free;
    return OK;
}
int nvmlDeviceGetClockInfo(Device *device, unsigned domain, unsigned *mhz) {
    static const char *const keys[] = {"graphics_mhz", "sm_mhz", "memory_mhz"};
    ENTER(device);
    if (domain > 2) return INVALID;
    *mhz = value_of(device, keys[domain]);
    return OK;
}
int nvmlDeviceGetMaxClockInfo(Device *device, unsigned domain, unsigned *mhz) {
    ENTER(device);
    *mhz = value_of(device, domain == 2 ? "maximum_memory_mhz" : "maximum_graphics_mhz");
    return OK;
}
int nvmlDeviceGetTemperatureV(Device *device, Temperature *reading) {
    ENTER(device);
    reading->temperature = value_of(device, "gpu_c");
    return OK;
}

#define GET_TEXT(name, key)                                          \
    int name(Device *device, char *into, unsigned length) {          \
        ENTER(device);                                               \
        return give(into, length, text_of(device, key));             \
    }
#define GET_NUMBER(name, type, key)                                  \
    int name(Device *device, type *value) {                          \
        ENTER(device);                                               \
        *value = value_of(device, key);                              \
        return OK;                                                   \
    }
#define GET_PAIR(name, first, second)                                \
    int name(Device *device, unsigned *one, unsigned *other) {       \
        ENTER(device);                                               \
        *one = value_of(device, first);                              \
        *other = value_of(device, second);                           \
        return OK;                                                   \
    }
GET_TEXT(nvmlDeviceGetName, "name")
GET_TEXT(nvmlDeviceGetUUID, "uuid")
GET_TEXT(nvmlDeviceGetVbiosVersion, "vbios")
GET_TEXT(nvmlDeviceGetInforomImageVersion, "inforom")
GET_NUMBER(nvmlDeviceGetMemoryBusWidth, unsigned, "bus_width")
GET_NUMBER(nvmlDeviceGetComputeMode, unsigned, "compute_mode")
GET_NUMBER(nvmlDeviceGetPersistenceMode, unsigned, "persistence")
GET_NUMBER(nvmlDeviceGetVirtualizationMode, unsigned, "virtualization")
GET_NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, "pcie_generation")
GET_NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned, "pcie_width")
GET_NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, "power_enforced_mw")
GET_NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, "power_default_mw")
GET_NUMBER(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, "energy_mj")
GET_NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, "event_reasons")
GET_NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, "event_reasons")
GET_PAIR(nvmlDeviceGetEccMode, "ecc", "ecc")
GET_PAIR(nvmlDeviceGetMigMode, "mig", "mig")
GET_PAIR(nvmlDeviceGetPowerManagementLimitConstraints, "power_minimum_mw", "power_maximum_mw")

int nvmlDeviceGetGspFirmwareVersion(Device *device, char *into) {
    ENTER(device);
    return give(into, 64, text_of(device, "gsp"));
}
int nvmlDeviceGetTemperature(Device *device, unsigned sensor, unsigned *celsius) {
    ENTER(device);
    (void)sensor;
    *celsius = value_of(device, "gpu_c");
    return OK;
}
int nvmlDeviceGetTotalEccErrors(Device *device, unsigned type, unsigned counter,
                                unsigned long long *count) {
    ENTER(device);
    if (type != 1 || counter != 0) return INVALID;
    *count = value_of(device, "ecc_errors");
    return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device *device, unsigned *count, Process *into) {
    ENTER(device);
    unsigned room = *count;
    char *list = strdup(text_of(device, "processes")), *rest = list, *pid;
    for (*count = 0; (pid = strsep(&rest, ","));) {
        if (!*pid) continue;
        if (into && *count < room) into[*count] = (Process){.pid = strtoul(pid, NULL, 10)};
        ++*count;
    }
    free(list);
    return *count > room ? TOO_SMALL : OK;
}

static const char *field_key(unsigned id) {
    switch (id) {
    case 74: return "sw_power_cap_ns";
    case 76: return "sync_boost_ns";
    case 82: return "memory_c";
    case 185: return "power_average_mw";
    case 186: return "power_instant_mw";
    case 269: return "sw_thermal_ns";
    case 270: return "hw_thermal_ns";
    case 271: return "hw_power_brake_ns";
    default: return NULL;
    }
}
int nvmlDeviceGetFieldValues(Device *device, int count, FieldValue *values) {
    ENTER(device);
    for (int i = 0; i < count; i++) {
        FieldValue *field = &values[i];
        const char *key = field->scopeId ? NULL : field_key(field->fieldId);
        field->nvmlReturn = key ? OK : NOT_SUPPORTED;
        field->valueType = 3;
        field->value.ull = key ? value_of(device, key) : 0;
        for (int k = 0; k < field_rule_count; k++) {
            Rule *rule = &field_rules[k];
            if (number(&rule->record, "id", -1) != field->fieldId) continue;
            if (!applies(rule, device->index)) continue;
            field->nvmlReturn = number(&rule->record, "code", field->nvmlReturn);
            field->valueType = number(&rule->record, "type", field->valueType);
            field->value.ull = number(&rule->record, "value", field->value.ull);
        }
    }
    return OK;
}

static int record_call(const char *text) {
    const char *path = look_up(&log_record, "file");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (file < 0) return OK;
    int written = write(file, text, strlen(text)) == (ssize_t)strlen(text);
    close(file);
    return written ? OK : INVALID;
}
int nvmlDeviceSetGpuLockedClocks(Device *device, unsigned low, unsigned high) {
    char line[160];
    ENTER(device);
    snprintf(line, sizeof line, "%s %s %u %u\n", __func__, text_of(device, "pci"), low, high);
    return record_call(line);
}
int nvmlDeviceResetGpuLockedClocks(Device *device) {
    char line[160];
    ENTER(device);
    snprintf(line, sizeof line, "%s %s\n", __func__, text_of(device, "pci"));
    return record_call(line);
}
