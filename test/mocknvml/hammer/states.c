// SPDX-License-Identifier: Apache-2.0

/* The state files the hammer goes through: plain, MIG, faults, mistakes, another driver. */

#include "hammer.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *const states[] = {
    "driver 570.172.08\n"
    "gpu uuid=GPU-0 profile=h100 extra=1GiB accounting=1 accounting_size=2\n"
    "gpu uuid=GPU-1 profile=t4\n"
    "proc 0 pid=1 mem=6GiB sm=30 kind=compute+mps\n"
    "proc 0 pid=2 mem=unknown sm=300 managed=2GiB kind=graphics\n"
    "sample 0 pid=99 sm=4\nacct 0 pid=77 maxmem=1GiB time=900\n"
    "gpm 0 sm=37.5 m166=3\nfield 0 id=500 value=7\n"
    "limit 0 cgroup=/sys/fs/cgroup/pod soft=1GiB hard=2GiB used=5MiB\n"
    "event 0 xid=79 seq=1\nevent 0 xid=31 seq=2\n",

    "driver 570.172.08\noption reap=1\n"
    "gpu uuid=GPU-0 profile=h100 mig=1 accounting=1 accounting_size=2\n"
    "gpu uuid=GPU-1 profile=gb10\n"
    "mig 0 uuid=MIG-1 gi=1 ci=0 profile=1c.3g.40gb\n"
    "mig 0 uuid=MIG-2 gi=1 ci=1 profile=2c.3g.40gb\n"
    "gi 0 gi=2 profile=2g.20gb extra=1MiB\n"
    "proc 0 pid=1 mem=6GiB gi=1 ci=0\nproc 0 pid=4000000 mem=1GiB gi=1 ci=1\n"
    "proc 0 pid=4000001 mem=1GiB gi=1 ci=1 zombie=1\n"
    "gpm 0 gi=1 tensor=12.5\nevent 0 type=recovery seq=3 past=1\n",

    "driver 570.172.08\n"
    "gpu uuid=GPU-0 profile=a100-40gb mig=1\n"
    "mig 0 uuid=MIG-1 gi=1 ci=0 profile=1g.5gb start=6\n"
    "fault gpu=0 kind=slow:1 call=nvmlDeviceGetUUID\n"
    "fault gpu=0 kind=hang call=nvmlDeviceGetName\n"
    "fault gpu=0 kind=lost call=nvmlDeviceGetPower*\n"
    "fault kind=grow:3 call=*RunningProcesses*\n",

    "driver 570.172.08\ngpu uuid=GPU-0 profile=h100 memory=5\n", /* a mistake: kept out */

    "driver 570.200.01\ngpu uuid=GPU-1 profile=h200\n", /* GPU-0 is gone, the driver is new */

    "driver none\n",
};

const char *state_text(unsigned i)
{
    return states[i % (sizeof states / sizeof states[0])];
}

static void replace(const char *path, const char *text)
{
    char temporary[4096];

    snprintf(temporary, sizeof temporary, "%s.new", path);
    FILE *out = fopen(temporary, "w");
    require(out != NULL, "the state file can be written");
    fputs(text, out);
    require(fclose(out) == 0 && rename(temporary, path) == 0, "the state file can be replaced");
}

void write_state(const char *path)
{
    static unsigned next;

    replace(path, state_text(next++));
}

void write_sound_state(const char *path)
{
    replace(path, states[0]);
}

void sleep_seconds(int seconds)
{
    nanosleep(&(struct timespec){.tv_sec = seconds}, NULL);
}
