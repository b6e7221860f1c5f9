/* The stub's functions on one GPU: facts, readings, field values and the setters' log. */
#include "machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
int nvmlDeviceGetSupportedMemoryClocks(Device *device, unsigned *count, unsigned *into) {
    ENTER(device);
    unsigned room = *count;
    *count = 1;
    if (!into || room < 1) return TOO_SMALL;
    into[0] = value_of(device, "maximum_memory_mhz");
    return OK;
}
int nvmlDeviceGetSupportedGraphicsClocks(Device *device, unsigned memory, unsigned *count,
                                         unsigned *into) {
    ENTER(device);
    if (memory != value_of(device, "maximum_memory_mhz")) return NOT_FOUND;
    /* Steps of 15 MHz from the maximum down to 345, as an H200 lists them. */
    unsigned room = *count, top = value_of(device, "maximum_graphics_mhz");
    *count = (top - 345) / 15 + 1;
    if (!into || room < *count) return TOO_SMALL;
    for (unsigned i = 0; i < *count; i++) into[i] = top - 15 * i;
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
        for (int k = 0; k < machine.field_count; k++) {
            Rule *rule = &machine.fields[k];
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
    const char *path = look_up(&machine.log, "file");
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
