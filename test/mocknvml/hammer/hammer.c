// SPDX-License-Identifier: Apache-2.0

/*
 * Calls everything the mock implements, from several threads, while another
 * thread rewrites the state file. Run under a sanitizer it proves that the
 * library is thread-safe, keeps to its buffers and gives its memory back.
 *
 *	hammer STATE_FILE SECONDS
 *
 * Exits with 1 when an answer breaks a rule that holds in every state.
 */

#include "hammer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORKERS = 4 };

static atomic_bool stop;
static atomic_ulong calls;

void check(const char *call, nvmlReturn_t rc)
{
    atomic_fetch_add(&calls, 1);
    if (rc > NVML_ERROR_RESET_TYPE_NOT_SUPPORTED && rc != NVML_ERROR_UNKNOWN) {
        fprintf(stderr, "hammer: %s returned %d\n", call, (int)rc);
        exit(1);
    }
}

void require(bool ok, const char *rule)
{
    if (ok)
        return;
    fprintf(stderr, "hammer: broken rule: %s\n", rule);
    exit(1);
}

static void call_system(void)
{
    char text[96];
    unsigned n;
    int version;

    CALL(nvmlSystemGetDriverVersion, text, sizeof text);
    CALL(nvmlSystemGetDriverVersion, text, 2);
    CALL(nvmlSystemGetNVMLVersion, text, sizeof text);
    CALL(nvmlSystemGetCudaDriverVersion, &version);
    CALL(nvmlSystemGetCudaDriverVersion_v2, &version);
    CALL(nvmlSystemGetProcessName, 1, text, 8);
    CALL(nvmlDeviceGetCount, &n);
    CALL(nvmlDeviceGetCount_v2, &n);
    for (int rc = -1; rc < 40; rc++)
        require(nvmlErrorString((nvmlReturn_t)rc) != NULL, "every code has a text");
}

/* Every way to a handle; the last that worked is kept. */
static void find_devices(struct handles *h, unsigned index)
{
    nvmlUUID_t uuid = {.version = nvmlUUID_v1, .type = NVML_UUID_TYPE_ASCII};

    CALL(nvmlDeviceGetHandleByUUID, "MIG-1", &h->mig);
    strcpy(uuid.value.str, "GPU-0");
    CALL(nvmlDeviceGetHandleByUUIDV, &uuid, &h->gpu);
    CALL(nvmlDeviceGetHandleBySerial, "1320000000001", &h->gpu);
    CALL(nvmlDeviceGetHandleByPciBusId, "0000:0f:00.0", &h->gpu);
    CALL(nvmlDeviceGetHandleByPciBusId_v2, "00000000:07:00.0", &h->gpu);
    CALL(nvmlDeviceGetHandleByIndex, index, &h->gpu);
    CALL(nvmlDeviceGetHandleByIndex_v2, index, &h->gpu);
}

/* A client of its own: starts the library, calls everything, stops it. */
static void *work(void *arg)
{
    struct handles h = {.gpu = {NULL}};
    unsigned round = (unsigned)(size_t)arg;

    while (!atomic_load(&stop)) {
        nvmlReturn_t rc = round % 3 == 0   ? nvmlInit_v2()
                          : round % 3 == 1 ? nvmlInit()
                                           : nvmlInitWithFlags(0);
        check("nvmlInit", rc);
        call_system();
        find_devices(&h, round++ % 3);
        nvmlDevice_t devices[] = {h.gpu, h.mig, {NULL}, {(struct nvmlDevice_st *)&h}};
        for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
            call_device(devices[i]);
            call_lists(devices[i]);
        }
        call_mig(&h);
        call_gpm(&h);
        call_events(&h);
        if (rc == NVML_SUCCESS)
            CALL(nvmlShutdown);
    }
    return NULL;
}

static void *write_states(void *arg)
{
    while (!atomic_load(&stop)) {
        write_state(arg);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    write_sound_state(arg);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t writer, workers[WORKERS];

    if (argc != 3) {
        fprintf(stderr, "usage: hammer STATE_FILE SECONDS\n");
        return 2;
    }
    setenv("MOCK_NVML_STATE", argv[1], 1);
    fuzz_parser(argv[1], 20000);
    write_state(argv[1]);
    check_uninitialised();
    pthread_create(&writer, NULL, write_states, argv[1]);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, (void *)i);
    sleep_seconds(atoi(argv[2]));
    atomic_store(&stop, true);
    pthread_join(writer, NULL);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    printf("hammer: %lu calls\n", atomic_load(&calls));
    return atomic_load(&calls) > 1000 ? 0 : 1;
}
