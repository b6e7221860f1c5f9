/* A stand-in for libnvidia-ml.so.1: the calls the kit makes, driven by a text file.
 *
 * The file named by NVML_STUB holds one record a line, fields separated by tabs, as key=value behind
 * the record's kind:
 *
 *   system  driver nvml cuda init          versions; init is the return code of nvmlInit
 *   device  pci uuid name ...              one GPU; the other keys are in DEFAULTS of machine.c
 *   trace   device file epoch_ns           replay a CSV of readings: row t_ns holds from epoch_ns +
 *                                          t_ns of CLOCK_MONOTONIC until the next row
 *   call    name [device after until code sleep_us]
 *                                          from the after-th call of `name` (or of * any) up to the
 *                                          until-th: sleep, then return code
 *   field   id [device after until code value type]
 *                                          one field of nvmlDeviceGetFieldValues: its own return
 *                                          code, its value, or the tag of its value's type
 *   log     file                           setters append a line here
 *
 * Structures and numbers are those of NVML's public header, nvml.h.
 */
#include "machine.h"

#include <stdio.h>
#include <string.h>

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    static int loaded;
    if (!loaded) load_machine();
    loaded = 1;
    int code = number(&machine.system, "init", 0);
    machine.running += !code;
    return code;
}
int nvmlShutdown(void) {
    ENTER(NULL);
    machine.running--;
    return OK;
}
const char *nvmlErrorString(int code) {
    (void)code;
    return "stub";
}
int nvmlSystemGetDriverVersion(char *into, unsigned length) {
    ENTER(NULL);
    const char *text = look_up(&machine.system, "driver");
    return give(into, length, text ? text : "580.159.04");
}
int nvmlSystemGetNVMLVersion(char *into, unsigned length) {
    ENTER(NULL);
    const char *text = look_up(&machine.system, "nvml");
    return give(into, length, text ? text : "13.580.159.04");
}
int nvmlSystemGetCudaDriverVersion(int *version) {
    ENTER(NULL);
    *version = number(&machine.system, "cuda", 13000);
    return OK;
}
int nvmlDeviceGetCount_v2(unsigned *count) {
    ENTER(NULL);
    *count = machine.device_count;
    return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **handle) {
    if (index >= (unsigned)machine.device_count) return INVALID;
    ENTER(&machine.devices[index]);
    *handle = &machine.devices[index];
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
    for (int i = 0; i < machine.device_count; i++)
        if (same_pci(text_of(&machine.devices[i], "pci"), pci)) {
            *handle = &machine.devices[i];
            return OK;
        }
    return NOT_FOUND;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, Device **handle) {
    ENTER(NULL);
    for (int i = 0; i < machine.device_count; i++)
        if (!strcmp(text_of(&machine.devices[i], "uuid"), uuid)) {
            *handle = &machine.devices[i];
            return OK;
        }
    return NOT_FOUND;
}
